"""The spec and the law of matrix products with 4-bit weights, whose activations are float32 or are
rounded to int8 when they are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from edgecc.kernels.spec import Spec

SYMMETRIC_ZERO = 8  # the code that means 0 where groups have no zero points of their own
CODES = 16
LARGEST = np.float32(127)  # int8 value of the largest activation of a group
LEAST = 1e-30  # groups of nothing larger count as zeros


@dataclass(frozen=True)
class GroupedProduct(Spec):
    """y(m, n) = x(m, k) · W(n, k)ᵀ + bias, where W = (code - zero) * scale; `group` neighbours
    along k share scale and zero.

    CONSTANTS: weights uint8 (n, k), codes 0..15; scales float32 and zeros uint8 (n, groups);
    bias float32 (n,); lo, hi when `clamp`. zeros are all 8 unless `affine`. `short_scales`: every
    scale is a bfloat16. A residual is added before the clamp.
    `rounded`: values of x are rounded group by group, with a = max |x|: q = rint(f32(x * f32(127
    / a))) (0 where a < 1e-30) stands for q * f32(a / 127), sums S of q * (code - zero) are exact,
    and y = bias, then y = f32(y + f32(f32(S) * f32(scale * f32(a / 127)))) group by group.
    """

    op: ClassVar[str] = "grouped_product"
    dtype: Literal["float32"]
    m: int
    k: int
    n: int
    group: int
    affine: bool = False
    short_scales: bool = False
    rounded: bool = False
    clamp: bool = False
    residual: bool = False

    @property
    def groups(self) -> int:
        return -(-self.k // self.group)

    @property
    def macs(self) -> int:
        return self.m * self.k * self.n


def short(scales: np.ndarray) -> bool:
    """Whether the lower halves of all float32 scales are zero: they are bfloat16 then."""
    bits = np.ascontiguousarray(scales, np.float32).view(np.uint32)
    return not bool((bits & 0xFFFF).any())


def decoded(codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray, group: int) -> np.ndarray:
    """The weights as float32 (n, k)."""
    k = codes.shape[1]
    wide = [np.repeat(np.asarray(v, np.float32), group, axis=1)[:, :k] for v in (zeros, scales)]
    return (codes.astype(np.float32) - wide[0]) * wide[1]


def rounded(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 values of a group of every row, and what a step of each is worth. Shapes: (m, group)
    gives (m, group) and (m, 1)."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    there = largest >= LEAST
    factor = np.where(there, LARGEST / np.where(there, largest, 1), 0).astype(np.float32)
    return np.rint(x * factor).astype(np.int64), largest / LARGEST


def _by_groups(spec: GroupedProduct, x: np.ndarray, constants: Mapping[str, Any]) -> np.ndarray:
    """Exact sums of every group, added in float32 one after the other: the same everywhere."""
    y = np.tile(np.asarray(constants["bias"], np.float32), (spec.m, 1))
    for g in range(spec.groups):
        part = slice(g * spec.group, (g + 1) * spec.group)
        values, steps = rounded(x[:, part].astype(np.float32))
        codes = constants["weights"][:, part].astype(np.int64)
        sums = values @ (codes - constants["zeros"][:, g : g + 1].astype(np.int64)).T
        worth = np.asarray(constants["scales"], np.float32)[:, g] * steps
        y = y + sums.astype(np.float32) * worth
    return y


def grouped_product(spec: GroupedProduct, inputs: Sequence[np.ndarray],
                    constants: Mapping[str, Any]) -> list[np.ndarray]:
    """Sums in double, or exact by groups."""
    x = np.asarray(inputs[0]).reshape(spec.m, spec.k)
    if spec.rounded:
        y = _by_groups(spec, x, constants)
    else:
        weights = decoded(constants["weights"], constants["scales"], constants["zeros"], spec.group)
        y = x.astype(np.float64) @ weights.T.astype(np.float64) + constants["bias"]
    if spec.residual:
        y = y + np.asarray(inputs[1], y.dtype).reshape(spec.m, spec.n)
    if spec.clamp:
        y = np.clip(y, constants["lo"], constants["hi"])
    return [y.astype(np.float32)]
