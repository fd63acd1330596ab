"""int8 convolutions and matrix products against their reference: every byte equal."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from kernel_harness import Case, run_cases

from edgecc.kernels import (
    compact_int8,
    conv2d_int8,
    depthwise_int8,
    depthwise_vnni,
    fully_connected_int8,
    short_sums,
)
from edgecc.kernels.reference import reference
from edgecc.kernels.spec import Conv2d, FullyConnected
from edgecc.targets import get_target

pytestmark = pytest.mark.host
EVERYDAY = ("host", "generic-aarch64-i8mm", "spacemit-k1", "armv7-neon", "riscv64-generic")
SLOW = (*EVERYDAY, "riscv64-generic-v")


def run(target, part, *marks):
    """One layer of `part` is run, with every kernel another one."""
    if target != "host":
        marks = (*marks, pytest.mark.emulated)
    return pytest.param(target, part, marks=marks, id=f"{target}-1/{part}")


RUNS = [*(run(name, 3) for name in EVERYDAY), *(run(name, 1, pytest.mark.slow) for name in SLOW)]


def constants(spec, rng, k):
    fan = spec.k if isinstance(spec, FullyConnected) else spec.kh * spec.kw * spec.c // spec.groups
    shape = (k, fan) if isinstance(spec, FullyConnected) else (
        k, spec.kh, spec.kw, spec.c // spec.groups)
    weights = rng.integers(-128 if spec.wide_weights else -127, 128, shape, dtype=np.int8)
    weights[0] = weights.min()  # with inputs of -128: the worst case of a sum of two products
    made = {
        "weights": weights,
        "bias": rng.integers(-3000, 3000, k, dtype=np.int32),
        "scale": (rng.uniform(0.5, 1.5, k) / (60 * fan ** 0.5)).astype(np.float32),
        "input_zero_point": int(rng.integers(-128, 128)),
        "output_zero_point": int(rng.integers(-128, 128)),
        "lo": -90, "hi": 100,
    }
    if spec.residual:
        made |= {"inner_zero_point": int(rng.integers(-128, 128)), "inner_lo": -128,
                 "inner_hi": 120,
                 "ratio": np.float32(rng.uniform(0.3, 1.2)),
                 "residual_ratio": np.float32(rng.uniform(0.3, 1.2)),
                 "residual_zero_point": int(rng.integers(-128, 128))}
    return _short(made) if spec.short_sums else made


def _short(made):
    """An even zero point, and scales of which half make halves to round."""
    made["output_zero_point"] &= ~1
    made["scale"][::2] = np.exp2(np.round(np.log2(made["scale"][::2])))
    assert short_sums.fits(made)
    return made


def case(record, spec, seed):
    rng = np.random.default_rng(seed)
    if isinstance(spec, FullyConnected):
        shape, out, k = (spec.m, spec.k), (spec.m, spec.n), spec.n
    else:
        shape, out, k = (spec.n, spec.h, spec.w, spec.c), (spec.n, spec.oh, spec.ow, spec.k), spec.k
    inputs = [rng.integers(-128, 128, shape, dtype=np.int8)]
    inputs[0][0, :1] = -128
    if spec.residual:
        inputs.append(rng.integers(-128, 128, out, dtype=np.int8))
    return Case(record, spec, inputs, constants(spec, rng, k), [(out, "int8")],
                alias={0: 1} if spec.residual and seed % 2 else None)


CONVS = [
    Conv2d("int8", 1, 5, 7, 16, 16, 1, 1),
    Conv2d("int8", 2, 5, 5, 12, 10, 1, 1, clamp=True),
    Conv2d("int8", 1, 6, 6, 16, 32, 1, 1, strides=(2, 2)),
    Conv2d("int8", 1, 8, 9, 3, 8, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1)),
    Conv2d("int8", 2, 7, 6, 16, 17, 3, 3, pads=(1, 1, 1, 1), residual=True),
    Conv2d("int8", 1, 9, 10, 1, 64, 10, 4, strides=(2, 2), pads=(4, 1, 5, 1)),
    Conv2d("int8", 1, 9, 9, 5, 6, 3, 2, dilations=(2, 2), pads=(2, 1, 2, 1)),
    Conv2d("int8", 1, 6, 7, 8, 12, 3, 3, pads=(1, 1, 1, 1), groups=4),
    Conv2d("int8", 1, 4, 4, 100, 3, 2, 2, clamp=True, residual=True),
    Conv2d("int8", 1, 3, 11, 20, 70, 1, 5, pads=(0, 2, 0, 2)),
    Conv2d("int8", 1, 8, 9, 16, 21, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1)),
    Conv2d("int8", 2, 2, 5, 16, 16, 3, 3, pads=(1, 1, 1, 1)),
    # two kernel rows above the image and one below it; rows of the kernel apart
    Conv2d("int8", 2, 8, 7, 16, 20, 5, 3, strides=(2, 1), pads=(2, 1, 2, 1)),
    Conv2d("int8", 1, 8, 7, 16, 20, 3, 3, strides=(2, 1), dilations=(2, 1), pads=(2, 1, 2, 1)),
]
FULLY = [
    FullyConnected("int8", m, k, n, clamp=c, residual=r)
    for m, k, n, (c, r) in zip((1, 1, 1, 3, 9), (640, 13, 128, 33, 64), (128, 10, 65, 7, 24),
                               itertools.cycle([(False, False), (True, True)]), strict=False)
] + [FullyConnected("int8", 43, 642, 19)]  # more than a panel, where positions are copied


def wide(specs):
    return [replace(spec, wide_weights=True) for spec in specs]


def short(specs):
    return [replace(spec, short_sums=True) for spec in specs]


def cases_of(records, specs, part):
    """Of every kernel at least one layer."""
    for first, record in enumerate(records):
        found = [(record, spec, seed) for seed, spec in enumerate(specs)
                 if record.accepts(spec) is None]
        yield from (case(*each) for each in found[first % part::part] or found[:1])


def check(target_name, part, records, specs):
    features = get_target(target_name).features
    cases = [*cases_of([each for each in records if each.requires <= features], specs, part)]
    assert cases
    for made, outputs in zip(cases, run_cases(cases, target_name), strict=True):
        (expected,) = reference(made.spec, made.inputs, made.constants)
        wrong = int((outputs[0] != expected).sum())
        assert wrong == 0, (
            f"{made.record.name} {made.spec.text()}: {wrong} of {expected.size} differ")


@pytest.mark.parametrize("target, part", RUNS)
def test_conv2d_equals_reference(target, part):
    check(target, part, conv2d_int8.KERNELS + compact_int8.KERNELS,
          CONVS + wide(CONVS[:4]) + short(CONVS[3:6]))


@pytest.mark.parametrize("target, part", RUNS)
def test_fully_connected_equals_reference(target, part):
    check(target, part, fully_connected_int8.KERNELS, FULLY + wide(FULLY[:2]) + short(FULLY[3:]))


def depthwise(h, w, c, kh, kw, **more):
    return Conv2d("int8", more.pop("n", 1), h, w, c, c, kh, kw, groups=c, **more)


DEPTHWISE = [
    depthwise(5, 5, 16, 3, 3, pads=(1, 1, 1, 1)),
    depthwise(6, 7, 64, 3, 3, pads=(1, 1, 1, 1), n=2, clamp=True),
    depthwise(8, 9, 40, 3, 3, strides=(2, 2), pads=(0, 0, 1, 1), residual=True),
    depthwise(9, 9, 24, 5, 5, pads=(2, 2, 2, 2)),
    depthwise(20, 3, 128, 15, 1),
    depthwise(9, 9, 8, 3, 3, dilations=(2, 2), pads=(2, 2, 2, 2)),
    depthwise(5, 11, 32, 2, 4, strides=(1, 3), pads=(1, 0, 0, 2)),
    depthwise(5, 6, 3, 3, 3, pads=(1, 1, 1, 1), clamp=True, residual=True),
    depthwise(5, 6, 37, 3, 3, pads=(1, 1, 1, 1)),
    depthwise(4, 9, 16, 1, 7),
]


@pytest.mark.parametrize("target, part", RUNS)
def test_depthwise_equals_reference(target, part):
    check(target, part, depthwise_int8.KERNELS + compact_int8.KERNELS + depthwise_vnni.KERNELS,
          DEPTHWISE + wide(DEPTHWISE[:2]) + short(DEPTHWISE[1:3]))
