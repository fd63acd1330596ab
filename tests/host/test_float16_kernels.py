"""float16 kernels on the host: with instructions that convert, and without."""

import re

import kernel_problems as problems
import math_problems
import movement_problems
import numpy as np
import pytest
from assembly_loops import innermost_loops
from halved import UNIT, half_problems
from kernel_checks import cases, check, check_split, named, undefined_symbols
from kernel_harness import Case, run_cases

from edgecc.kernels import (
    binary,
    broadcast,
    compare,
    conv2d_float,
    convert,
    depthwise_float,
    depthwise_half,
    fully_connected_float,
    half_tile,
    interpolate,
    matmul,
    normalize,
    pool2d,
    reduce,
    softmax,
    unary,
)
from edgecc.kernels.halves import converts
from edgecc.kernels.reference import reference
from edgecc.kernels.registry import candidates
from edgecc.kernels.spec import Convert, FullyConnected
from edgecc.lower.compile import assembly
from edgecc.targets import get_target

pytestmark = pytest.mark.host
WEIGHTED = [conv2d_float, depthwise_float, depthwise_half, fully_connected_float]
ELEMENTS = [unary, binary, softmax]
MATHS = [broadcast, compare, reduce, normalize, matmul, interpolate, pool2d]


def elements():
    return half_problems([*problems.unary(), *problems.binary(), *problems.softmax()])


def maths():
    return half_problems([*problems.pool2d(), *math_problems.every(),
                          *movement_problems.interpolations()])


def weighted(share=1):
    specs = [*problems.conv_specs(), *problems.depthwise_specs()]
    return half_problems([*problems.convolution(specs), *problems.fully_connected()][::share])


@pytest.mark.parametrize("target", ["host-avx2",
                                    pytest.param("host-sse2", marks=pytest.mark.slow)])
def test_kernels_equal_their_reference(target):
    check(list(elements())[::4], target, ELEMENTS, in_place=True, tolerance=UNIT)
    check(list(maths())[::4], target, MATHS, tolerance=UNIT)
    check(list(weighted(3)), target, WEIGHTED, in_place=True, tolerance=UNIT)


def every_half():
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def near_halves():
    """Every half, what lies in the middle of two, and its neighbours: ties and what is not."""
    halves = np.sort(every_half()[np.isfinite(every_half())].astype(np.float32))
    middles = (halves[1:] + halves[:-1]) / 2
    ends = np.array([65519.996, 65520, -65520, 3e38, np.inf, -np.inf, 0.0, -0.0, 1e-45, np.nan],
                    np.float32)
    return np.concatenate([halves, middles, np.nextafter(middles, np.float32(np.inf)),
                           np.nextafter(middles, np.float32(-np.inf)), ends])


@pytest.mark.parametrize("target", ["host-avx2", "host-sse2"])
def test_every_half_is_converted_exactly(target):
    assert converts(named(target).features) is (target == "host-avx2")
    up, down = Convert("float16", "float32", 1 << 16), Convert("float32", "float16",
                                                               near_halves().size)
    made = cases([(up, [every_half()], {}), (down, [near_halves()], {})], target, [convert])
    for case, (found,) in zip(made, run_cases(made, named(target)), strict=True):
        (wanted,) = reference(case.spec, case.inputs, {})
        np.testing.assert_array_equal(found, wanted)
        assert np.array_equal(np.signbit(found), np.signbit(wanted))


def test_ranges_write_their_own_part():
    found = [p for p in elements() if p[0].op == "unary" and p[0].size > 64]
    check_split(found[:2], "host", ELEMENTS)
    specs = list(problems.conv_specs())[8:9] + list(problems.depthwise_specs())[7:8]
    check_split(half_problems(problems.convolution(specs)), "host", WEIGHTED)
    check_split([(Convert("float16", "float32", 300), [every_half()[:300]], {})], "host",
                [convert])


def test_weights_take_two_bytes():
    for spec, inputs, constants in weighted():
        for case in cases([(spec, inputs, constants)], "host", WEIGHTED):
            wide = type(spec)(**{**vars(spec), "dtype": "float32"})
            half, whole = (case.record.pack(s, constants).nbytes for s in (spec, wide))
            assert whole - half > 2 * constants["weights"].size - 4  # up to whole words


@pytest.mark.parametrize("target", ["cortex-m4f", "cortex-m55", "rv32imafc", "armv7-neon",
                                    "riscv64-generic", "visionfive-2"])
def test_no_conversion_is_a_call(target):
    some = [*list(elements())[::9], (Convert("float32", "float16", 70), [near_halves()[:70]], {})]
    found = undefined_symbols(some, target, [*ELEMENTS, convert])
    assert not {name for name in found if "hf" in name or "h2f" in name or "f2h" in name}, found


def test_softmax_of_halves_may_lie_over_its_input():
    found = list(half_problems(problems.softmax()))
    for case in cases(found[:2], "host", [softmax]):
        over = Case(case.record, case.spec, case.inputs, {}, case.outputs, alias={0: 0})
        (plain,), (shared,) = run_cases([case, over], "host")
        assert np.array_equal(plain[0], shared[0])


def test_scaled_weights_never_sum_beyond_a_half():
    random = np.random.default_rng(4)
    for taps in (9, half_tile.LONGEST, 500):
        weights = (random.standard_normal((7, taps)) * 3).astype(np.float16)
        found, scale = half_tile.scaled(weights)
        lost = np.abs(found.astype(np.float64) * scale - weights)
        assert lost.max() <= scale * 2.0**-25  # a power of two, but for subnormal numbers
        windows = np.lib.stride_tricks.sliding_window_view(
            np.abs(found.astype(np.float64)), min(taps, half_tile.LONGEST), axis=1).sum(axis=2)
        assert 0.25 < windows.max() <= 0.5
    zeros, scale = half_tile.scaled(np.zeros((2, 9), np.float16))
    assert scale == 1.0 and not zeros.any()


def test_long_depthwise_sums_are_not_computed_in_float16():
    spec = next(s for s in problems.depthwise_specs() if s.kh * s.kw > half_tile.LONGEST)
    assert "products are not computed in float16" in depthwise_half.accepts(spec)


@pytest.mark.parametrize("name, product, least, stack", [
    ("raspberry-pi-5", r"fmla.*\.8h", 33, r"\[sp"),
    ("spacemit-k1-zvfh", r"vfmacc\.vf", 1, r"\bsp\b|\bvs\dr|\bvl\dr")])
def test_loops_that_multiply_halves_stay_off_the_stack(name, product, least, stack):
    target, convolution = get_target(name), problems._conv(
        dtype="float16", h=9, w=32, c=64, k=128, pads=(1, 1, 1, 1), clamp=True)
    dense = FullyConnected("float16", 1, 640, 128)
    for spec in (convolution, dense):
        record = candidates(spec, target.features)[0]
        assert record.half
        text = assembly(record.build(spec, "kernel", target), target)
        loops = [loop for loop in innermost_loops(text)
                 if sum(bool(re.search(product, line)) for line in loop) >= least]
        assert loops and not any(re.search(stack, line) for loop in loops for line in loop)
