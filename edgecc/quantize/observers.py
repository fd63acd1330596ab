"""Observers: from streams of float tensors to the range that int8 should cover.

All keep a fixed amount of state per tensor, however many samples pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from edgecc.quantize.parameters import QMAX, QMIN

_BINS = 8192  # even: the middle edge is exactly zero
_LEVELS = QMAX - QMIN
_MERGE = 4  # for entropy: about 4 bins an int8 step of a non-negative tensor
_WORSE = 4.0  # 6 dB: spikes (constant channels) can lure the entropy rule into any clipping
_LEAST_REACH = -100  # power of two; keeps bins per unit inside float32
_TAIL = 1e-4  # fraction of values that the percentile rule gives up, both ends together
_SHRINK = np.linspace(1.0, 0.2, 41)  # fractions of the full range that the searches try


class Observer(Protocol):
    """Sees arrays, then names a range."""

    def see(self, array: np.ndarray) -> None: ...

    def range(self) -> tuple[float, float]: ...


class MinMax:
    """Smallest and largest value seen."""

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf

    def see(self, array: np.ndarray) -> None:
        if array.size:
            self.low = min(self.low, float(array.min()))
            self.high = max(self.high, float(array.max()))

    def range(self) -> tuple[float, float]:
        return (self.low, self.high) if self.low <= self.high else (0.0, 0.0)


class Histogram(MinMax):
    """Counts over [-reach, reach]; the reach doubles, and bins merge in pairs, when needed."""

    def __init__(self) -> None:
        super().__init__()
        self.reach = 0.0
        self.counts = np.zeros(_BINS, np.int64)

    def see(self, array: np.ndarray) -> None:
        super().see(array)
        largest = max(-self.low, self.high, 0.0)
        if not np.isfinite(largest) or largest == 0.0:
            self.counts[_BINS // 2] += array.size
            return
        self._reach_to(largest)
        index = (array.ravel() * np.float32(_BINS / 2 / self.reach)).astype(np.int32)
        index -= array.ravel() < 0  # truncation rounds up below zero; bins round down
        clipped = np.clip(index + _BINS // 2, 0, _BINS - 1)
        self.counts += np.bincount(clipped, minlength=_BINS)

    def _reach_to(self, largest: float) -> None:
        if not self.reach:
            self.reach = 2.0 ** max(np.ceil(np.log2(largest)), _LEAST_REACH)
        while self.reach < largest:
            half = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.zeros_like(self.counts)
            self.counts[_BINS // 4 : 3 * _BINS // 4] = half
            self.reach *= 2

    def occupied(self, merge: int = 1, zero: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Centres and counts of the bins that hold anything; `merge` bins are taken as one.
        Without `zero`, exact zeros (and what little shares their bin) are left out."""
        counts = self.counts.copy()
        counts[_BINS // 2] *= zero
        counts = counts.reshape(-1, merge).sum(axis=1)
        held = np.flatnonzero(counts)
        width = 2 * self.reach / len(counts)
        centres = (held - len(counts) // 2 + 0.5) * width
        return np.clip(centres, self.low, self.high), counts[held].astype(np.float64)


class Percentile(Histogram):
    """Leaves out a small fraction of values at the ends, zero aside."""

    def range(self) -> tuple[float, float]:
        if not self.reach:
            return super().range()
        centres, counts = self.occupied()
        below = np.cumsum(counts)
        tail = _TAIL / 2 * below[-1]
        low = centres[np.searchsorted(below, tail)] if tail > counts[0] else self.low
        kept = below[-1] - tail
        high = centres[np.searchsorted(below, kept)] if tail > counts[-1] else self.high
        return min(float(low), 0.0), max(float(high), 0.0)


class Mse(Histogram):
    """The range of least squared error, ends shrunk in turn."""

    def range(self) -> tuple[float, float]:
        return _search(*self.occupied(), super().range(), _squared_error)


class Entropy(Histogram):
    """The range whose int8 histogram diverges least (Kullback-Leibler) from the float one,
    among those whose squared error is not far above that of the full range."""

    def range(self) -> tuple[float, float]:
        full = super().range()
        # int8 keeps zeros exactly, so a spike of them (Relu) has no say in the range.
        centres, counts = self.occupied(_MERGE, zero=False)
        limit = _WORSE * _squared_error(centres, counts, min(full[0], 0.0), max(full[1], 0.0))

        def cost(centres: np.ndarray, counts: np.ndarray, low: float, high: float) -> float:
            if _squared_error(centres, counts, low, high) > limit:
                return np.inf
            return _divergence(centres, counts, low, high)

        return _search(centres, counts, full, cost)


Cost = Callable[[np.ndarray, np.ndarray, float, float], float]


def _search(
    centres: np.ndarray, counts: np.ndarray, full: tuple[float, float], cost: Cost
) -> tuple[float, float]:
    """Shrink the upper end, then the lower one, twice, to where the cost is least."""
    low, high = min(full[0], 0.0), max(full[1], 0.0)
    lows, highs = low * _SHRINK, high * _SHRINK
    for _ in range(2 if high > low else 0):
        high = _best(highs, [cost(centres, counts, low, h) for h in highs])
        low = _best(lows, [cost(centres, counts, lo, high) for lo in lows])
    return low, high


def _best(ends: np.ndarray, costs: list[float]) -> float:
    return float(ends[int(np.argmin(costs))])


def _squared_error(centres: np.ndarray, counts: np.ndarray, low: float, high: float) -> float:
    scale = (high - low) / _LEVELS
    if scale <= 0:
        return np.inf
    nearest = np.clip(np.rint(centres / scale), np.rint(low / scale), np.rint(high / scale))
    return float(np.dot(counts, (centres - nearest * scale) ** 2))


def _divergence(centres: np.ndarray, counts: np.ndarray, low: float, high: float) -> float:
    """KL(P || Q): P the clipped distribution, Q the same after merging bins into int8 steps.

    Both are over the bins inside the range; what P has outside is piled on its end bins, which
    Q does not know of: that is the price of clipping. Counting noise alone makes a merged
    histogram diverge by about (bins - steps) / 2N; that is taken off, or few samples would
    always favour the narrowest range.
    """
    inside = (centres >= low) & (centres <= high)
    kept = counts[inside]
    if len(kept) < 2:
        return np.inf
    first = int(np.argmax(inside))
    clipped = kept.copy()
    clipped[0] += counts[:first].sum()
    clipped[-1] += counts[first + len(kept) :].sum()
    step = np.rint((centres[inside] - low) * (_LEVELS / (high - low))).astype(np.int64)
    bins = np.bincount(step)
    per_step = np.bincount(step, kept) / np.maximum(bins, 1)
    p, q = clipped / clipped.sum(), per_step[step] / kept.sum()
    noise = (len(kept) - np.count_nonzero(bins)) / (2 * counts.sum())
    return float(np.sum(p * np.log(p / q))) - noise


OBSERVERS: dict[str, Callable[[], Observer]] = {
    "minmax": MinMax,
    "percentile": Percentile,
    "mse": Mse,
    "entropy": Entropy,
}
