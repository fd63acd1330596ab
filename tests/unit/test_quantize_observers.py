"""Observers: ranges on known distributions, streaming, and growth of the histogram."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.quantize.observers import OBSERVERS, Entropy, Histogram, MinMax, Mse, Percentile


def ranged(observer, *arrays):
    seen = observer()
    for array in arrays:
        seen.see(np.asarray(array, np.float32))
    return seen.range()


def test_minmax_is_exact():
    assert ranged(MinMax, [1, 2], [-3, 0.5]) == (-3.0, 2.0)


@pytest.mark.parametrize("name", sorted(OBSERVERS))
@pytest.mark.parametrize("arrays", [[], [[]], [[0.0, 0.0]], [[0.0], [0.0]]])
def test_nothing_or_zeros_only(name, arrays):
    assert ranged(OBSERVERS[name], *arrays) == (0.0, 0.0)


@pytest.mark.parametrize("name", sorted(OBSERVERS))
@pytest.mark.parametrize("value", [3.0, -3.0, 1e-38, 1e30])
def test_a_constant_tensor_is_covered(name, value):
    low, high = ranged(OBSERVERS[name], [value] * 100)
    assert min(low, 0) <= value * 0.99 <= max(high, 0) or min(low, 0) <= value * 1.01 <= 0


@pytest.mark.parametrize("name", sorted(OBSERVERS))
def test_ranges_never_pass_what_was_seen(name):
    random = np.random.default_rng(0)
    arrays = [random.normal(size=1000) for _ in range(4)]
    low, high = ranged(OBSERVERS[name], *arrays)
    assert min(a.min() for a in arrays) - 1e-5 <= low < 0 < high
    assert high <= max(a.max() for a in arrays) + 1e-5


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_a_histogram_counts_everything_and_does_not_care_for_order(seed, parts):
    random = np.random.default_rng(seed)
    values = (random.normal(size=600) * 10.0 ** random.uniform(-3, 3, 600)).astype(np.float32)
    once, grown = Histogram(), Histogram()
    once.see(values)
    for part in np.array_split(values[np.argsort(np.abs(values))], parts):
        grown.see(part)
    assert once.counts.sum() == grown.counts.sum() == 600
    assert once.reach == grown.reach
    # A value on the edge of two bins may fall to either side after merging.
    assert np.abs(np.cumsum(once.counts) - np.cumsum(grown.counts)).max() <= 3


def test_percentile_gives_up_lone_outliers():
    random = np.random.default_rng(0)
    body = random.uniform(-1, 1, 100_000)
    low, high = ranged(Percentile, np.append(body, [500.0, -300.0]))
    assert -1.2 < low < -0.9 and 0.9 < high < 1.2


def test_percentile_keeps_small_sets_whole():
    low, high = ranged(Percentile, [-2.0, 0.0, 1.0, 5.0])
    assert low == -2.0 and high == 5.0


def error(values, low, high):
    step = (high - low) / 255
    rounded = np.clip(np.rint(values / step), np.rint(low / step), np.rint(high / step)) * step
    return float(np.mean((values - rounded) ** 2))


@given(st.integers(0, 2**32 - 1), st.floats(2.1, 30))
def test_mse_never_loses_to_minmax(seed, tail):
    values = np.random.default_rng(seed).standard_t(tail, 2000).astype(np.float32)
    found, whole = ranged(Mse, values), ranged(MinMax, values)
    # Bin centres stand for values: a few per cent of the error.
    assert error(values, *found) <= 1.05 * error(values, *whole)


def test_mse_finds_nearly_the_best_range():
    values = np.random.default_rng(0).laplace(size=50_000)
    best = min(error(values, -t, t) for t in np.linspace(2, 15, 60))
    assert error(values, *ranged(Mse, values)) <= 1.1 * best
    assert error(values, *ranged(Mse, values)) < 0.95 * error(values, *ranged(MinMax, values))


def test_entropy_clips_a_long_thin_tail_but_not_far():
    values = np.append(np.random.default_rng(0).normal(size=100_000), [40.0] * 3)
    low, high = ranged(Entropy, values)
    assert high < 30
    assert error(values, low, high) <= 4.5 * error(values, *ranged(MinMax, values))


def test_entropy_keeps_a_uniform_range_whole():
    low, high = ranged(Entropy, np.random.default_rng(0).uniform(-1, 2, 200_000))
    assert low < -0.9 and high > 1.9


@pytest.mark.parametrize("observer", [Mse, Entropy, Percentile])
def test_values_after_relu_start_at_zero(observer):
    values = np.maximum(np.random.default_rng(0).normal(size=20_000), 0)
    low, high = ranged(observer, values)
    assert low == 0.0 and high > 2.0
