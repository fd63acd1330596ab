"""4-bit weights on other cores: kernels against their reference, and whole models on a Cortex-A76
and a Cortex-M4."""

import shutil

import four_bit_models as models
import grouped_problems as problems
import numpy as np
import pytest
from bare_metal import run_bare_metal
from kernel_checks import EMULATED, cases, check, compare

import edgecc
from edgecc.kernels import grouped_product, grouped_rounded
from edgecc.kernels.reference import reference
from edgecc.targets import get_target

pytestmark = pytest.mark.emulated


@pytest.mark.parametrize("target", EMULATED)
def test_kernels_equal_reference(target):
    """A quarter of them on each."""
    check(list(problems.products())[EMULATED.index(target)::4], target, [grouped_product])
    check(list(problems.rounded())[EMULATED.index(target)::4], target, [grouped_rounded],
          tolerance=0.0)


@pytest.mark.parametrize("name", ["cortex-m4f", "cortex-m55", "cortex-m3", "rv32imc"])
def test_kernels_of_microcontrollers_equal_reference(name):
    given = [*list(problems.products())[len(name) % 3::3], *list(problems.rounded())[len(name)::3]]
    made = cases(given, name, [grouped_product, grouped_rounded])
    outputs, _ = run_bare_metal(made, name)
    for case, (found,) in zip(made, outputs, strict=True):
        (expected,) = reference(case.spec, case.inputs, case.constants)
        tolerance = 0.0 if case.spec.rounded else 1e-5
        compare(found, expected, tolerance, f"{case.record.name} {case.spec.text()}")


@pytest.mark.parametrize("name, activations", [
    ("raspberry-pi-5", "float32"), ("raspberry-pi-5", "int8"), ("cortex-m4f", "float32"),
    ("cortex-m4f", "int8")])
def test_a_quantized_model(name, activations):
    """Half the flash of int8 and less, the same answers as ONNX Runtime's."""
    if shutil.which(get_target(name).emulator[0]) is None:
        pytest.skip(f"needs {get_target(name).emulator[0]}")
    proto = models.perceptron((256, 128, 96, 5))
    bundle = edgecc.compile(proto, target=name, name="net", quantization="int4", int4_group=128,
                            int4_activations=activations, check="full")
    assert bundle.manifest["weights_bytes"] < 0.55 * (256 * 128 + 128 * 96) + 5000
    assert "int4, symmetric" in bundle.manifest["quantization"]["text"]
    assert [step["op"] for step in bundle.manifest["steps"]] == [
        "grouped_product", "grouped_product", "fully_connected"]
    assert bundle.bench(f"emulated-{name}").to_json()["golden"] == "pass"
    x = np.random.default_rng(1).normal(size=(2, 256)).astype(np.float32)
    found = bundle.run({"x": x}, board=f"emulated-{name}")["y"]
    assert found.shape == (2, 5) and np.isfinite(found).all()
