"""The spec and the law of matrix products with 4-bit weights: weight-only quantization, whose
activations stay float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from edgecc.kernels.spec import Spec

SYMMETRIC_ZERO = 8  # the code that means 0 where groups have no zero points of their own
CODES = 16


@dataclass(frozen=True)
class GroupedProduct(Spec):
    """y(m, n) = x(m, k) · W(n, k)ᵀ + bias, where W = (code - zero) * scale; `group` neighbours
    along k share scale and zero.

    CONSTANTS: weights uint8 (n, k), codes 0..15; scales float32 and zeros uint8 (n, groups);
    bias float32 (n,); lo, hi when `clamp`. zeros are all 8 unless `affine`. `short_scales`: every
    scale is a bfloat16. A residual is added before the clamp.
    """

    op: ClassVar[str] = "grouped_product"
    dtype: Literal["float32"]
    m: int
    k: int
    n: int
    group: int
    affine: bool = False
    short_scales: bool = False
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


def grouped_product(spec: GroupedProduct, inputs: Sequence[np.ndarray],
                    constants: Mapping[str, Any]) -> list[np.ndarray]:
    """Sums in double."""
    weights = decoded(constants["weights"], constants["scales"], constants["zeros"], spec.group)
    x = np.asarray(inputs[0], np.float64).reshape(spec.m, spec.k)
    y = x @ weights.T.astype(np.float64) + np.asarray(constants["bias"], np.float64)
    if spec.residual:
        y = y + np.asarray(inputs[1], np.float64).reshape(spec.m, spec.n)
    if spec.clamp:
        y = np.clip(y, constants["lo"], constants["hi"])
    return [y.astype(np.float32)]
