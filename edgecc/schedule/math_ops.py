"""Typed operators of arithmetic beyond convolutions: see ops.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from edgecc.schedule.ops import Clamped, Constant, Op


@dataclass(frozen=True, eq=False)
class ConvTranspose(Clamped):
    """Transposed convolution of (n, c, w) or (n, c, h, w); weights (k, c / groups, kh, kw).

    Becomes ordinary convolutions before layouts are decided (`edgecc.schedule.phases`).
    """

    weights: Constant = field(kw_only=True)
    bias: Constant | None = field(default=None, kw_only=True)
    strides: tuple[int, int] = field(kw_only=True)
    dilations: tuple[int, int] = field(kw_only=True)
    pads: tuple[int, int] = field(kw_only=True)  # top, left
    groups: int = field(default=1, kw_only=True)


@dataclass(frozen=True, eq=False)
class Compare(Op):
    """Truth of two tensors: less, ..., equal of float32; and, or, xor, nor of bool."""

    function: str = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Choose(Op):
    """inputs: a condition (bool), what is taken where it holds, and what elsewhere."""


@dataclass(frozen=True, eq=False)
class Rowwise(Clamped):
    """prelu, min, max or rdiv (operand / x) with a constant that broadcasts to the input."""

    function: str = field(kw_only=True)
    operand: np.ndarray = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Reduce(Op):
    """mean, sum, max, min, prod, l1 or sum_square over `axes`."""

    function: str = field(kw_only=True)
    axes: tuple[int, ...] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class ArgReduce(Op):
    """Index along `axis` of the largest or smallest value; of equals, the first or last one."""

    function: Literal["max", "min"] = field(kw_only=True)
    axis: int = field(kw_only=True)
    last_of_equals: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class LayerNorm(Op):
    """Normalization over the axes from `axis` on; scale and shift have their shape."""

    axis: int = field(kw_only=True)
    scale: np.ndarray = field(kw_only=True)
    shift: np.ndarray = field(kw_only=True)
    epsilon: float = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class GroupNorm(Op):
    """Normalization of (n, c, ...) over the image and each of `groups` runs of channels."""

    groups: int = field(kw_only=True)
    scale: np.ndarray = field(kw_only=True)  # (c,)
    shift: np.ndarray = field(kw_only=True)
    epsilon: float = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class MatMul(Clamped):
    """Product of two computed tensors over their last two axes, batch axes broadcast."""
