"""Rounding of weights to 4-bit codes in groups, and their packing as MatMulNBits has it.

Scales are bfloat16 numbers: they take two bytes in a program, and weights are rounded for them,
so nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ZERO, LARGEST = 8, 15  # the code of 0 without zero points; the largest code
# Parts of a group's range that are tried: the largest values are clipped where that errs least.
CLIPS = tuple(np.float32(c) for c in (1.0, 0.97, 0.94, 0.91, 0.88, 0.84, 0.8, 0.75))


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes (n, groups, group), scales and zeros (n, groups) of n rows of k weights."""

    codes: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray
    k: int

    def decoded(self) -> np.ndarray:
        """Shapes: (n, k)."""
        centred = self.codes.astype(np.float32) - self.zeros[..., None].astype(np.float32)
        return (centred * self.scales[..., None]).reshape(len(self.codes), -1)[:, : self.k]

    def packed(self) -> np.ndarray:
        """Two codes to a byte, the first in the lower bits: (n, groups, group / 2)."""
        return self.codes[..., ::2] | self.codes[..., 1::2] << 4

    def packed_zeros(self) -> np.ndarray | None:
        """The same for zeros, row by row; None where all are 8."""
        if (self.zeros == ZERO).all():
            return None
        n, groups = self.zeros.shape
        full = np.zeros((n, groups + groups % 2), np.uint8)
        full[:, :groups] = self.zeros
        return (full[:, ::2] | full[:, 1::2] << 4).ravel()


def rounded(weights: np.ndarray, group: int, affine: bool) -> Codes:
    """The codes that err least, group by group. `weights` float32 (n, k)."""
    n, k = weights.shape
    groups = -(-k // group)
    full = np.zeros((n, groups * group), np.float32)
    full[:, :k] = weights
    values = full.reshape(n, groups, group)
    best: tuple[np.ndarray, ...] | None = None
    for clip in CLIPS:
        found = (_affine if affine else _symmetric)(values, clip)
        error = _error(values, *found)
        if best is None:
            best = (*found, error)
            continue
        less = error < best[3]
        best = tuple(np.where(less[..., None] if new.ndim > less.ndim else less, new, old)
                     for new, old in zip((*found, error), best, strict=True))
    assert best is not None
    codes, scales, zeros, _ = best
    return Codes(codes.astype(np.uint8), scales.astype(np.float32), zeros.astype(np.uint8), k)


def _symmetric(values: np.ndarray, clip: np.float32) -> tuple[np.ndarray, ...]:
    scales = short_scale(np.abs(values).max(axis=2) * (clip / np.float32(7)))
    zeros = np.full(scales.shape, ZERO)
    return _codes(values, scales, zeros), scales, zeros


def _affine(values: np.ndarray, clip: np.float32) -> tuple[np.ndarray, ...]:
    low, high = (np.minimum(values.min(axis=2), 0) * clip, np.maximum(values.max(axis=2), 0) * clip)
    scales = short_scale((high - low) / np.float32(LARGEST))
    zeros = np.clip(np.rint(-low / scales), 0, LARGEST).astype(np.int64)
    return _codes(values, scales, zeros), scales, zeros


def _codes(values: np.ndarray, scales: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    steps = np.rint(values / scales[..., None]) + zeros[..., None]
    return np.clip(steps, 0, LARGEST).astype(np.int64)


def _error(values: np.ndarray, codes: np.ndarray, scales: np.ndarray,
           zeros: np.ndarray) -> np.ndarray:
    found = (codes - zeros[..., None]) * scales[..., None].astype(np.float64)
    return np.square(found - values).sum(axis=2)


def short_scale(scales: np.ndarray) -> np.ndarray:
    """The next bfloat16 that is not smaller; 1 where there is nothing but zeros."""
    bits = np.ascontiguousarray(scales, np.float32).view(np.uint32)
    up = ((bits.astype(np.uint64) + 0xFFFF) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(up > np.finfo(np.float32).tiny, up, np.float32(1))
