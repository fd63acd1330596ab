"""Tiles that the catalogue does not list, against the reference: those that fill the registers."""

import numpy as np
import pytest
from kernel_checks import compare
from kernel_harness import Case, run_cases
from test_kernels_int8 import case

from edgecc.kernels import tiles
from edgecc.kernels.reference import reference
from edgecc.kernels.spec import Conv2d, FullyConnected
from edgecc.targets import get_target

pytestmark = pytest.mark.host
LAYERS = [
    Conv2d("int8", 1, 5, 11, 16, 71, 1, 1),
    Conv2d("int8", 1, 7, 19, 8, 40, 3, 3, pads=(1, 1, 1, 1), residual=True),
    Conv2d("int8", 1, 5, 13, 32, 32, 3, 3, strides=(1, 2), pads=(1, 1, 1, 1), groups=32),
    FullyConnected("int8", 9, 33, 70, clamp=True),
]
FLOATS = [Conv2d("float32", 1, 5, 11, 6, 37, 3, 3, pads=(1, 1, 1, 1), clamp=True),
          FullyConnected("float32", 9, 33, 41)]


def float_case(record, spec):
    rng = np.random.default_rng(1)
    dense = isinstance(spec, FullyConnected)
    shape, out = ((spec.m, spec.k), (spec.m, spec.n)) if dense else (
        (spec.n, spec.h, spec.w, spec.c), (spec.n, spec.oh, spec.ow, spec.k))
    k, fan = (spec.n, (spec.k,)) if dense else (spec.k, (spec.kh, spec.kw, spec.c))
    made = {"weights": rng.standard_normal((k, *fan)), "bias": rng.standard_normal(k),
            "lo": -0.5, "hi": 0.7}
    given = {name: np.asarray(value, np.float32) for name, value in made.items()}
    return Case(record, spec, [rng.standard_normal(shape).astype(np.float32)], given,
                [(out, "float32")])


def cases(target, many):
    """A fifth of all tiles of every layer, or the few that take the most registers."""
    extra = {k.name for k in tiles.others()}
    for spec in LAYERS + FLOATS:
        fitting = [k for k in tiles.candidates(spec, get_target(target).features)
                   if k.name in extra]
        fitting = sorted(fitting, key=lambda k: (-size(k.name), k.name))
        for record in fitting[::5] if many else fitting[:4]:
            yield (float_case(record, spec) if spec.dtype == "float32" else
                   case(record, spec, 1))


def size(name):
    rows, _, columns = tiles.tile_of(name).partition("x")
    return int(rows) * int(columns)


def check(target, many):
    made = list(cases(target, many))
    assert len(made) > 8
    for each, (got,) in zip(made, run_cases(made, get_target(target)), strict=True):
        expected = reference(each.spec, each.inputs, each.constants)[0]
        tolerance = 1e-5 if each.spec.dtype == "float32" else 0.0
        compare(got, expected, tolerance, f"{each.record.name}: {each.spec.text()}")


@pytest.mark.parametrize("target", ["host", pytest.param("raspberry-pi-5",
                                                         marks=pytest.mark.emulated)])
def test_the_largest_tiles_give_the_same_bytes(target):
    check(target, many=False)


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.parametrize("target", ["raspberry-pi-5", "generic-aarch64-i8mm", "spacemit-k1",
                                    "riscv64-generic"])
def test_many_tiles_give_the_same_bytes(target):
    check(target, many=True)
