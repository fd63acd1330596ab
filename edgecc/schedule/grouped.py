"""Constants whose 4-bit codes share scale and zero in groups: what blocked DequantizeLinear and
MatMulNBits hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgecc.kernels import grouped_spec
from edgecc.kernels.grouped_spec import SYMMETRIC_ZERO, GroupedProduct

FOUR_BITS = {"int4": -8, "uint4": 0}  # the least value of each type


@dataclass(frozen=True, eq=False)
class Grouped:
    """A matrix of codes 0..15: the real values are (code - zero) * scale. `group` neighbours
    along `axis` share both, so scales and zeros are as many times shorter there. `rounded`: the
    model rounds what they multiply to int8."""

    codes: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray
    group: int
    axis: int
    rounded: bool = False

    @property
    def transposed(self) -> Grouped:
        return replace(self, codes=self.codes.T, scales=self.scales.T, zeros=self.zeros.T,
                       axis=1 - self.axis)

    @property
    def by_rows(self) -> Grouped | None:
        """With groups along the second axis, if they are or if all have the same parameters."""
        if self.axis == 1:
            return self
        if any((v != v.flat[0]).any() for v in (self.scales, self.zeros)):
            return None
        n, k = self.codes.shape
        scales, zeros = (np.full((n, 1), v.flat[0]) for v in (self.scales, self.zeros))
        return Grouped(self.codes, scales, zeros, k, 1)

    def times(self, factor: float) -> Grouped:
        return replace(self, scales=self.scales * np.float32(factor))

    @property
    def real(self) -> np.ndarray:
        """The float32 values."""
        along = self if self.axis == 1 else self.transposed
        values = grouped_spec.decoded(along.codes, along.scales, along.zeros, self.group)
        return values if self.axis == 1 else values.T


def of_quantized(raw: np.ndarray, scale: np.ndarray, zero: np.ndarray, axis: int,
                 group: int) -> Grouped:
    """What DequantizeLinear reads: int4 or uint4, and zeros of the same type."""
    least = FOUR_BITS[raw.dtype.name]
    codes, zeros = (np.asarray(v, np.int64) - least for v in (raw, zero))
    return Grouped(codes.astype(np.uint8), scale.astype(np.float32),
                   np.broadcast_to(zeros, scale.shape).astype(np.uint8), group, axis)


def of_bytes(packed: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, k: int,
             group: int) -> Grouped:
    """What MatMulNBits reads: (n, groups, bytes) of two codes each, the lower four bits first;
    zeros packed alike, row by row, or 8.

    Shapes: scales (n, groups).
    """
    n = packed.shape[0]
    codes = _unpacked(packed.reshape(n, -1))[:, :k]
    if zeros is None:
        found = np.full(scales.shape, SYMMETRIC_ZERO, np.uint8)
    else:
        found = _unpacked(zeros.reshape(n, -1))[:, : scales.shape[1]]
    return Grouped(codes, scales.astype(np.float32), found, group, 1)


def _unpacked(packed: np.ndarray) -> np.ndarray:
    """Bytes (n, b) as codes (n, 2 b)."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(packed.shape[0], -1)


def spec_of(grouped: Grouped, m: int, *, clamp: bool, residual: bool) -> GroupedProduct:
    """The product of m rows and these weights (n, k)."""
    n, k = grouped.codes.shape
    affine = bool((grouped.zeros != SYMMETRIC_ZERO).any())
    return GroupedProduct("float32", m, k, n, min(grouped.group, k), affine,
                          grouped_spec.short(grouped.scales), grouped.rounded, clamp, residual)


def constants_of(grouped: Grouped) -> Mapping[str, Any]:
    return {"weights": np.ascontiguousarray(grouped.codes),
            "scales": np.ascontiguousarray(grouped.scales, np.float32),
            "zeros": np.ascontiguousarray(grouped.zeros)}
