"""Sums of halves: one rounding a step, proved beside exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecc.kernels.half_arithmetic import Sums, rounded
from edgecc.kernels.half_reference import parts_of, power_of_two

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FINITE = np.sort(HALVES[np.isfinite(HALVES)].astype(np.float64))
MIDDLES = (FINITE[1:] + FINITE[:-1]) / 2
halves = st.sampled_from(FINITE.tolist())


def nearest(exact):
    """The half nearest to a fraction, ties to the even one."""
    if abs(exact) >= Fraction(65520):
        return np.copysign(np.inf, float(exact))
    at = int(np.searchsorted(FINITE, float(exact)))
    near = FINITE[max(at - 2, 0):at + 2]
    return float(min(near, key=lambda v: (abs(Fraction(v) - exact), int(
        np.float16(v).view(np.uint16)) & 1)))


def added(c, a, b, bound=np.inf):
    sums = Sums(np.array([c]), bound)
    sums.add(a, b)
    return float(sums.values[0])


@settings(max_examples=400, deadline=None)
@given(halves, halves, halves)
def test_a_step_is_rounded_once(c, a, b):
    wanted = nearest(Fraction(c) + Fraction(a) * Fraction(b))
    assert added(c, a, b) == wanted
    if abs(c) + abs(a * b) < 60000:
        assert added(c, a, b, bound=0.0) == wanted


@settings(max_examples=400, deadline=None)
@given(st.integers(0, len(MIDDLES) - 1), halves, st.sampled_from([2.0**-24, 3 * 2.0**-20, 2.0**-9]))
def test_a_step_is_rounded_once_next_to_the_middle_of_two_halves(index, a, tiny):
    """c + a * b lies next to a middle, however near: float64 alone would round there first."""
    c = FINITE[index + 1]
    for b in (tiny, -tiny):
        gap = Fraction(MIDDLES[index]) - Fraction(c)
        there = np.clip(float(gap / Fraction(b)), -65504, 65504)
        for near in (a, float(np.float16(there))):
            assert added(c, near, b) == nearest(Fraction(c) + Fraction(near) * Fraction(b))


def test_both_ways_of_rounding_agree_on_every_half_and_next_to_it():
    inside = MIDDLES[np.abs(MIDDLES) < 60000]
    exact = FINITE[np.abs(FINITE) < 60000]
    values = np.concatenate([exact, inside, np.nextafter(inside, np.inf),
                             np.nextafter(inside, -np.inf), [2.0**-40, -2.0**-40, 0.0]])
    quick = Sums(np.zeros(values.shape), bound=0.0)
    quick.add(values, 1.0)
    assert np.array_equal(quick.values, rounded(values))
    signs = np.signbit(quick.values) == np.signbit(rounded(values))
    assert signs[values != 0].all()


def test_infinite_sums_are_seen():
    assert added(65504.0, 16.0, 1.0) == np.inf and added(65504.0, 15.9, 1.0) == 65504.0
    assert np.isnan(added(np.inf, -np.inf, 1.0))


@pytest.mark.parametrize("runs, wanted", [
    ([48], [(0, 48)]), ([9, 9, 9], [(0, 27)]), ([49], [(0, 32), (32, 49)]),
    ([100], [(0, 40), (40, 80), (80, 100)]), ([24, 24, 24], [(0, 24), (24, 48), (48, 72)]),
    ([53, 53], [(0, 32), (32, 53), (53, 85), (85, 106)])])
def test_long_sums_have_even_parts(runs, wanted):
    assert list(parts_of(runs)) == wanted


def test_scales_leave_sums_of_a_half_at_most():
    assert power_of_two(np.array([[1.0, -1.0]]), 48) == 4.0
    assert power_of_two(np.array([[1.0, -1.0]]), 1) == 2.0
    assert power_of_two(np.array([[0.25]]), 48) == 0.5 and power_of_two(np.zeros((1, 3)), 48) == 1.0
