"""Percentiles, warm-up, outliers and verdicts."""

import random

import pytest

from edgecc.rpc.probe import BoardInfo
from edgecc.rpc.statistics import percentile, summarize, verdict, warm_up_count

INFO = BoardInfo("aarch64", frozenset(), 4)


def series(seed=1, count=100, sigma=0.002):
    rng = random.Random(seed)
    return [int(1_000_000 * (1 + rng.gauss(0, sigma))) for _ in range(count)]


def test_percentiles_interpolate():
    assert [percentile([10, 20, 30, 40, 50], f) for f in (0, 0.5, 0.9, 1)] == [10, 30, 46, 50]
    assert percentile([7], 0.99) == 7


def test_a_steady_series_is_stable():
    summary = summarize(series())
    assert summary.p50_us == pytest.approx(1000, rel=0.01)
    assert summary.p50_us <= summary.p90_us <= summary.p99_us <= summary.max_us
    assert (summary.count, summary.warm_up, summary.outliers) == (100, 0, 0)
    assert verdict(summary, INFO, INFO) == "stable"


def test_warm_up_is_left_out():
    slow = [3_000_000, 2_500_000, 2_000_000, 1_500_000]
    summary = summarize(slow + series())
    assert summary.warm_up == 4
    assert summary.max_us < 1100


def test_a_trend_never_costs_more_than_half():
    assert warm_up_count([float(x) for x in range(100, 0, -1)]) <= 50
    assert warm_up_count([1.0] * 4) == 0


def test_a_single_run_has_figures():
    summary = summarize([5000])
    assert (summary.p50_us, summary.p99_us, summary.spread, summary.mad_us) == (5, 5, 0, 0)


def test_spread_and_outliers_are_noise():
    assert verdict(summarize(series(sigma=0.1)), INFO, INFO).startswith("noisy: spread")
    spiky = series()
    spiky[20::10] = [9_000_000] * len(spiky[20::10])
    assert "8 of 100 runs are outliers" in verdict(summarize(spiky), INFO, INFO)


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ({"governor": "ondemand"}, "stable (governor is ondemand, not performance)"),
        ({"governor": "performance"}, "stable"),
        ({"temperature_millicelsius": 85_000}, "85 °C; 45 °C warmer than at the start"),
        ({"throttled": "0x0"}, "stable"),
        ({"throttled": "50005"}, "noisy: throttled (firmware says 50005)"),
    ],
)
def test_known_causes_are_named(after, text):
    before = BoardInfo("aarch64", frozenset(), 4, temperature_millicelsius=40_000)
    after = BoardInfo("aarch64", frozenset(), 4, **after)
    assert text in verdict(summarize(series()), before, after)
