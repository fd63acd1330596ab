"""Specs of arithmetic beyond convolutions: broadcasts, rows of constants, reductions, norms and
products of two computed matrices. Shapes are those of the storage, collapsed as far as it goes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from edgecc.kernels.spec import DType, Spec


@dataclass(frozen=True)
class Broadcast(Spec):
    """`Binary` where either operand is repeated: `shape` is the output's storage, the strides are
    the operands' in elements, 0 along axes on which they are repeated, else as if contiguous.

    CONSTANTS as Binary.
    """

    op: ClassVar[str] = "broadcast"
    dtype: DType
    kind: Literal["add", "sub", "mul", "div", "min", "max"]
    shape: tuple[int, ...]
    a_strides: tuple[int, ...]
    b_strides: tuple[int, ...]
    clamp: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def sizes(self) -> tuple[int, int]:
        """Elements of the operands."""
        return touched(self.shape, self.a_strides), touched(self.shape, self.b_strides)


@dataclass(frozen=True)
class Compare(Spec):
    """Two tensors to truth (bool, one byte of 0 or 1), either repeated as in Broadcast: order of
    float32, logic of bool. No constants."""

    op: ClassVar[str] = "compare"
    dtype: Literal["float32", "bool"]
    kind: Literal["less", "less_equal", "greater", "greater_equal", "equal", "and", "or", "xor",
                  "nor"]
    shape: tuple[int, ...]
    a_strides: tuple[int, ...]
    b_strides: tuple[int, ...]


@dataclass(frozen=True)
class Choose(Spec):
    """a where the condition (bool) holds, else b; any of the three repeated as in Broadcast. No
    constants."""

    op: ClassVar[str] = "choose"
    dtype: DType
    shape: tuple[int, ...]
    condition_strides: tuple[int, ...]
    a_strides: tuple[int, ...]
    b_strides: tuple[int, ...]


@dataclass(frozen=True)
class Rowwise(Spec):
    """A tensor (outer, n, inner) and constants that vary along n.

    affine: x * scale + shift; prelu: x * (1 where x >= 0, else slope); min, max: with `operand`;
    rdiv: operand / x.
    CONSTANTS float32: rows of n numbers: scale and shift, or slope, or operand; lo, hi.
    CONSTANTS int8 affine: scale, shift (float32 rows), input_zero_point, output_zero_point, lo,
    hi: y = clamp(rint(f32(f32(x - zx) * scale) + shift) + zy). int8 prelu: ratio (float32),
    slope (a row; ratio included): y = clamp(rint(f32(x - zx) * (ratio or slope)) + zy).
    """

    op: ClassVar[str] = "rowwise"
    dtype: DType
    kind: Literal["affine", "prelu", "min", "max", "rdiv"]
    outer: int
    n: int
    inner: int
    clamp: bool = False

    @property
    def size(self) -> int:
        return self.outer * self.n * self.inner


@dataclass(frozen=True)
class Reduce(Spec):
    """Reduction of (outer, n, inner) along n.

    CONSTANTS int8 sum: input_scale, output_scale, input_zero_point, output_zero_point:
    y = clamp(rint(f32(sum(x - zx)) * f32(sx / sy)) + zy); mean: as Pool2d, sy * f32(n) in the
    place of sy. int8 max and min: none.
    """

    op: ClassVar[str] = "reduce"
    dtype: DType
    kind: Literal["mean", "sum", "max", "min", "prod", "l1", "sum_square"]
    outer: int
    n: int
    inner: int


@dataclass(frozen=True)
class ArgReduce(Spec):
    """Index along n of the largest or smallest value of (outer, n, inner); the first one of
    equals, or the last."""

    op: ClassVar[str] = "arg_reduce"
    dtype: DType
    kind: Literal["max", "min"]
    outer: int
    n: int
    inner: int
    last: bool = False
    output: Literal["int64", "int32"] = "int64"


@dataclass(frozen=True)
class Normalize(Spec):
    """Mean and variance of (outer, n, groups, m) along n and m removed, then scale and shift.

    LayerNormalization has n = groups = 1; InstanceNormalization m = 1 and GroupNormalization m
    channels, n being the image.
    CONSTANTS float32: epsilon; scale, shift (groups * m,). int8: input_zero_point,
    output_zero_point, floor = f32(count^2 * epsilon / sx^2), scale and shift divided by sy.
    With S = sum(x - zx), Q = sum((x - zx)^2), exact, over count = n * m values:
    r = f32(1 / f32(sqrt(f32(f32(count * Q - S^2) + floor)))),
    t = f32(f32(count * (x - zx) - S) * r), y = clamp(rint(f32(f32(t * scale) + shift)) + zy).
    """

    op: ClassVar[str] = "normalize"
    dtype: DType
    outer: int
    n: int
    groups: int
    m: int

    @property
    def count(self) -> int:
        return self.n * self.m

    @property
    def size(self) -> int:
        return self.outer * self.n * self.groups * self.m


@dataclass(frozen=True)
class MatMul(Spec):
    """y (batch..., m, n) = a (batch..., m, k) · b (batch..., k, n), both computed.

    Strides are those of the operands' storage in elements, 0 along repeated batch axes.
    CONSTANTS int8: scale = f32(f32(sa * sb) / sy), a_zero_point, b_zero_point,
    output_zero_point, lo, hi: y = clamp(rint(f32(sum((a - za) * (b - zb))) * scale) + zy).
    CONSTANTS float32: lo, hi when `clamp`.
    """

    op: ClassVar[str] = "matmul"
    dtype: DType
    batch: tuple[int, ...]
    m: int
    k: int
    n: int
    a_strides: tuple[int, ...]
    b_strides: tuple[int, ...]
    clamp: bool = False

    @property
    def batches(self) -> int:
        return math.prod(self.batch)

    @property
    def a_size(self) -> int:
        return touched((*self.batch, self.m, self.k), self.a_strides)

    @property
    def b_size(self) -> int:
        return touched((*self.batch, self.k, self.n), self.b_strides)

    @property
    def macs(self) -> int:
        return self.batches * self.m * self.k * self.n


def touched(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements of a dense operand with these strides."""
    return math.prod(n for n, step in zip(shape, strides, strict=True) if step)
