"""Real models on every bare-metal core, from the library, portable C and assembly: the bytes of
the host, golden answers.

Every core runs every form, and every model, INT8 and float32, is run in every form; which core
takes which model turns from form to form.
"""

import shutil

import numpy as np
import pytest
from shared_data import shared

from edgecc import model, pipeline
from edgecc.bundle.forms import FORMS, in_form
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.quantize.calibration import ports
from edgecc.rpc.golden import agrees
from edgecc.targets import get_target

pytestmark = [pytest.mark.emulated, pytest.mark.slow]
CORES = ("cortex-m4f", "cortex-m55", "rv32imafc", "cortex-m0plus", "cortex-m7", "cortex-m3",
         "cortex-m33", "rv32imc", "cortex-m85")
FILES = ("ad_autoencoder", "strww", "kws_dscnn", "vww_mobilenetv1", "resnet8_cifar10")
MODELS = [(name, quantization) for quantization in ("int8", "none")
          for name in (*FILES, "torch net")]
APART = 3  # cores that a model moves on by with the form
VECTORS = 2


def cores_of(number):
    """(form, core) of the model with that number."""
    return [(form, CORES[(number + APART * turn) % len(CORES)])
            for turn, form in enumerate(FORMS)]


def test_every_core_runs_every_form():
    found = {cell for number in range(len(MODELS)) for cell in cores_of(number)}
    assert found == {(form, core) for form in FORMS for core in CORES}


def source(name):
    if name != "torch net":
        return shared(f"models/onnx_fp32/mlperf_tiny_{name}_fp32.onnx")
    torch = pytest.importorskip("torch", reason="needs torch (pip install 'edgecc[torch]')")
    nn = torch.nn
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(),
        nn.Conv2d(8, 8, 3, 2, 1, groups=8), nn.ReLU6(), nn.Conv2d(8, 12, 1), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5), nn.Softmax(1))
    return model.imported(net.eval(), shapes={"input": (1, 1, 9, 10)})


def prepared(name, quantization):
    found, generator = source(name), np.random.default_rng(0)
    samples = [{port.name: generator.standard_normal(port.shape).astype(port.dtype)
                for port in ports(model.load(found))} for _ in range(VECTORS)]
    return pipeline.prepare(found, config=CompileConfig(quantization=quantization, name="net"),
                            calibration=samples, context=Context())


def run(ready, core, quantization, form="library", **knobs):
    """Bundle, golden vectors, and what the core answers to them."""
    config = CompileConfig(target=core, quantization=quantization, name="net", **knobs)
    bundle = in_form(pipeline.build(ready, config=config, context=Context()), form)
    vectors = bundle.vectors()[:VECTORS]
    return bundle, vectors, bundle.run_many([given for given, _ in vectors], native=True)


@pytest.mark.parametrize("number", range(len(MODELS)), ids=[" ".join(m) for m in MODELS])
def test_golden_answers_from_every_form(number):
    name, quantization = MODELS[number]
    ready = prepared(name, quantization)
    host = run(ready, "host", quantization, contraction="off")[2]
    for form, core in cores_of(number):
        if not shutil.which(get_target(core).emulator[0]):
            pytest.skip(f"needs {get_target(core).emulator[0]}")
        bundle, vectors, answers = run(ready, core, quantization, form)
        for (_, wanted), found, same in zip(vectors, answers, host, strict=True):
            for port in bundle.manifest["outputs"]:
                want, got, known = (values[port["name"]].tobytes()
                                    for values in (wanted, found, same))
                assert agrees(port["dtype"], want, got), (name, quantization, form, core)
                assert got == known, (name, quantization, form, core)
