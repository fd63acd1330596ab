"""Outputs may overwrite what a window slides over, at the distance that a kernel names: every
kernel of the catalogue that names one, so that a new one is held to it too."""

import kernel_problems as problems
import numpy as np
import pytest
from bare_metal import run_bare_metal
from halved import half_problems
from kernel_checks import named
from kernel_harness import Case, run_cases
from test_kernels_int8 import CONVS, DEPTHWISE, case, depthwise

from edgecc.kernels import overlap
from edgecc.kernels.reference import reference
from edgecc.kernels.registry import all_kernels
from edgecc.kernels.spec import Conv2d

pytestmark = pytest.mark.host
LINUX = ("host-avx2", "generic-aarch64-i8mm", "raspberry-pi-3", "spacemit-k1", "riscv64-generic",
         "armv7-neon")
BARE = ("cortex-m4f", "cortex-m55", "cortex-m3", "rv32imc")
UNEVEN = depthwise(6, 6, 39, 3, 3, pads=(1, 1, 1, 1))  # blocks of 20 channels on Cortex-M4


def floats():
    specs = [*problems.conv_specs(), *problems.depthwise_specs(), *problems.long_pointwise_specs(),
             *problems.heavy_conv_specs()]
    found = [*problems.convolution(specs), *problems.pool2d()]
    return [*found, *half_problems(found[::3])]


def int8(target):
    """A sum's weights are of the spec, so a case is made for each kernel."""
    features = named(target).features
    for record in all_kernels():
        if record.requires <= features and (record.op, record.dtype) == ("conv2d", "int8"):
            for seed, spec in enumerate([*CONVS, *DEPTHWISE, UNEVEN]):
                if record.accepts(spec) is None:
                    yield case(record, spec, seed)


def every_case(target, share=1):
    """Of the kernels that the target has, those that may be computed over their input: all int8
    depthwise ones, and every `share`th other."""
    features = named(target).features
    given = [Case(record, spec, inputs, constants,
                  [(reference(spec, inputs, constants)[0].shape, spec.dtype)])
             for spec, inputs, constants in floats() for record in all_kernels()
             if (record.op, record.dtype) == (spec.op, spec.dtype)
             and record.requires <= features and record.accepts(spec) is None]
    found = [c for c in (*int8(target), *given) if c.record.over_input(c.spec) is not None]
    always = [c for c in found if "int8_depthwise" in c.record.name]
    return always + [c for c in found if "int8_depthwise" not in c.record.name][::share]


def apart_and_over(cases):
    for made in cases:
        yield made
        yield Case(made.record, made.spec, made.inputs, made.constants, made.outputs,
                   before=made.record.over_input(made.spec))


def compare(cases, results):
    for i in range(0, len(cases), 2):
        (apart,), (over,) = results[i], results[i + 1]
        where = f"{cases[i].record.name} {cases[i].spec.text()} at {cases[i + 1].before} B"
        assert np.array_equal(apart.view(np.uint8), over.view(np.uint8)), where


@pytest.mark.parametrize("target", [
    "host", *(pytest.param(name, marks=[pytest.mark.emulated, pytest.mark.slow])
              for name in LINUX)])
def test_linux_kernels_write_the_same_bytes_over_their_input(target):
    cases = list(apart_and_over(every_case(target, share=2 if target == "host" else 1)))
    assert len(cases) > 100
    compare(cases, run_cases(cases, named(target)))


@pytest.mark.parametrize("target", [
    pytest.param(name, marks=[pytest.mark.emulated, pytest.mark.slow]) for name in BARE])
def test_bare_metal_kernels_write_the_same_bytes_over_their_input(target):
    chosen = [c for c in every_case(target, share=3) if sum(x.nbytes for x in c.inputs) < 40_000]
    cases = list(apart_and_over(chosen))
    assert len(cases) > 40
    for first in range(0, len(cases), 60):
        some = cases[first:first + 60]
        compare(some, run_bare_metal(some, target)[0])


def test_distances():
    """By hand: two rows of a 3x3 window; a tile where channels stay or grow; none that helps."""
    spec = {"dtype": "int8", "n": 1, "h": 8, "w": 8, "c": 16, "k": 16}
    depthwise = Conv2d(**spec, kh=3, kw=3, pads=(1, 1, 1, 1), groups=16)
    assert overlap.distance_bytes(depthwise, 8) == 2 * 8 * 16
    assert overlap.distance_bytes(Conv2d(**spec, kh=1, kw=1), 4) == 4 * 16
    wider = Conv2d(**{**spec, "k": 32}, kh=1, kw=1)
    assert overlap.distance_bytes(wider, 4) == 64 * 32 - 60 * 16
    assert overlap.distance_bytes(Conv2d(**{**spec, "k": 64}, kh=1, kw=1), 64) is None
    assert overlap.distance_bytes(Conv2d(**{**spec, "dtype": "float32"}, kh=1, kw=1), 1) == 64
    assert overlap.same_place(depthwise)
    assert not overlap.same_place(Conv2d(**spec, kh=3, kw=3, groups=16))
