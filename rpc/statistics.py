"""What a series of latencies says, and whether it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from edgecc.rpc.probe import BoardInfo

STABLE_SPREAD = 0.05
STABLE_OUTLIERS = 0.05
SCALED_MAD = 1.4826  # of a normal distribution: MAD times this is its standard deviation
HOT_MILLICELSIUS = 80_000
WARMER_MILLICELSIUS = 5_000


@dataclass(frozen=True)
class Summary:
    """Figures of the steady part of a series. `spread` is (p90 - p10) / p50; an outlier lies
    more than 5 scaled MAD from the median; `warm_up` runs at the start were left out."""

    count: int
    warm_up: int
    p50_us: float
    p90_us: float
    p99_us: float
    min_us: float
    max_us: float
    mad_us: float
    spread: float
    outliers: int


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Linear interpolation between the two nearest ranks of a sorted, non-empty series."""
    at = (len(ordered) - 1) * fraction
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median_deviation(values: Sequence[float]) -> float:
    """Median absolute deviation from the median."""
    middle = median(values)
    return median(abs(value - middle) for value in values)


def warm_up_count(values: Sequence[float]) -> int:
    """How many values at the start are slower than the steady second half: all before the first
    window of five whose median lies within 3 scaled MAD (at least 1 %) of that half's median.

    At most half of the series is warm-up.
    """
    half = len(values) // 2
    if half < 5:
        return 0
    middle = median(values[half:])
    allowed = max(3 * SCALED_MAD * median_deviation(values[half:]), 0.01 * middle)
    for start in range(half):
        window = values[start : start + 5]
        if median(window) <= middle + allowed and values[start] <= middle + 2 * allowed:
            return start
    return half


def summarize(nanoseconds: Sequence[int]) -> Summary:
    """Units: the series in nanoseconds, figures in microseconds. The series is not empty."""
    micros = [value / 1000 for value in nanoseconds]
    warm_up = warm_up_count(micros)
    steady = sorted(micros[warm_up:])
    middle, mad = percentile(steady, 0.5), median_deviation(steady)
    limit = max(5 * SCALED_MAD * mad, 0.01 * middle)
    spread = percentile(steady, 0.9) - percentile(steady, 0.1)
    return Summary(
        count=len(steady), warm_up=warm_up, p50_us=middle, p90_us=percentile(steady, 0.9),
        p99_us=percentile(steady, 0.99), min_us=steady[0], max_us=steady[-1], mad_us=mad,
        spread=spread / middle if middle else 0.0,
        outliers=sum(abs(value - middle) > limit for value in steady),
    )


def verdict(summary: Summary, before: BoardInfo, after: BoardInfo) -> str:
    """`stable`, or `noisy: ` and what is known to cause it."""
    noise = []
    if summary.spread > STABLE_SPREAD:
        noise.append(f"spread {summary.spread:.0%}")
    if summary.outliers > STABLE_OUTLIERS * summary.count:
        noise.append(f"{summary.outliers} of {summary.count} runs are outliers")
    causes = _causes(before, after)
    if any(cause.startswith("throttled") for cause in causes) or noise:
        return "noisy: " + "; ".join(noise + causes)
    return "stable" if not causes else f"stable ({'; '.join(causes)})"


def _causes(before: BoardInfo, after: BoardInfo) -> list[str]:
    causes = []
    if after.throttled not in (None, "0", "0x0"):
        causes.append(f"throttled (firmware says {after.throttled})")
    if after.governor not in (None, "performance"):
        causes.append(f"governor is {after.governor}, not performance")
    hot, cold = after.temperature_millicelsius, before.temperature_millicelsius
    if hot is not None and hot >= HOT_MILLICELSIUS:
        causes.append(f"{hot / 1000:.0f} °C")
    if hot is not None and cold is not None and hot - cold >= WARMER_MILLICELSIUS:
        causes.append(f"{(hot - cold) / 1000:.0f} °C warmer than at the start")
    return causes
