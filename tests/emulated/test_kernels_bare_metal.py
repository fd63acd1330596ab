"""int8 kernels of microcontrollers against their reference, on QEMU's boards: every byte equal."""

import sys
from pathlib import Path

import math_problems
import pytest
from bare_metal import run_bare_metal
from kernel_harness import Case

from edgecc.kernels.reference import reference
from edgecc.kernels.registry import all_kernels
from edgecc.targets import get_target

sys.path.insert(0, str(Path(__file__).parents[1] / "host"))
from test_kernels_int8 import CONVS, DEPTHWISE, FULLY, case  # noqa: E402

pytestmark = pytest.mark.emulated
EVERY, SOME = CONVS + FULLY + DEPTHWISE, CONVS[1::2] + FULLY[1:4] + DEPTHWISE[1::3]
BUILT_FOR = {"cortex-m4f": ("dsp", EVERY), "cortex-m55": ("mve", EVERY),
             "cortex-m3": ("scalar_soft", SOME), "rv32imc": ("scalar_soft", SOME),
             "rv32imafc": ("scalar", SOME)}


@pytest.mark.parametrize("name", BUILT_FOR)
def test_int8_kernels_equal_their_reference(name):
    isa, specs = BUILT_FOR[name]
    features = get_target(name).features
    cases = [case(record, spec, seed) for record in all_kernels()
             if record.requires <= features and record.name.endswith(f"__{isa}")
             for seed, spec in enumerate(specs)
             if (record.op, record.dtype) == (spec.op, "int8") and record.accepts(spec) is None]
    assert cases
    outputs, _ = run_bare_metal(cases, name)
    for made, (found,) in zip(cases, outputs, strict=True):
        (expected,) = reference(made.spec, made.inputs, made.constants)
        wrong = int((found != expected).sum())
        assert wrong == 0, f"{made.record.name} {made.spec.text()}: {wrong} differ"


@pytest.mark.parametrize("name", ["cortex-m4f", "cortex-m55", "cortex-m3"])
def test_products_of_computed_matrices_equal_their_reference(name):
    isa, _ = BUILT_FOR[name]
    cases = [Case(record, *problem, [(reference(*problem)[0].shape, "int8")])
             for problem in list(math_problems.matmul_int8())[:: 1 if isa == "mve" else 2]
             for record in all_kernels()
             if record.op == "matmul" and record.name.endswith((f"__{isa}", "unpacked_4x2__scalar"))
             and record.dtype == "int8" and record.accepts(problem[0]) is None]
    outputs, _ = run_bare_metal(cases, name)
    assert len({made.record.name for made in cases}) > 1
    for made, (found,) in zip(cases, outputs, strict=True):
        (expected,) = reference(made.spec, made.inputs, made.constants)
        wrong = int((found != expected).sum())
        assert wrong == 0, f"{made.record.name} {made.spec.text()}: {wrong} differ"
