"""int8 kernels of microcontrollers against their reference, on QEMU's boards: every byte equal."""

import sys
from pathlib import Path

import pytest
from bare_metal import run_bare_metal

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
