"""Arm NEON without dot products (Cortex-A53, A72): SMULL, SMLAL2 and SADALP.

Per row, column and 16 values of K: 16 products in three instructions, two products summed in
int16 and pairs of those added to four int32 partial sums, which are added up after the loop. Two
products fit int16 only while no weight is -128 (`wide_weights` specs take another kernel).
Source: Arm Architecture Reference Manual, A64 SIMD instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa

SMULL = "llvm.aarch64.neon.smull.v8i16"
SADDLP = "llvm.aarch64.neon.saddlp.v4i32.v8i16"
ADDP = "llvm.aarch64.neon.addp.v4i32"


class NeonEnd(Isa):
    """What every NEON kernel ends with: FCVTNS and saturating narrows."""

    name: ClassVar[str] = "neon"
    requires: ClassVar[frozenset[str]] = frozenset({"neon"})
    lanes: ClassVar[int] = 4
    registers: ClassVar[int] = 32
    fast: ClassVar[bool] = True

    def rounded(self, value: Any) -> Any:
        from edgecc.kernels import tir

        return tir.llvm("float32x4", "llvm.roundeven.v4f32", value)

    def narrow(self, values: Sequence[Any], params: Any, clamp: bool) -> list[tuple[Any, int]]:
        """Saturating narrows do the clamping; explicit bounds only where they are tighter."""
        from edgecc.kernels import tir

        out, left = [], [_halved(value) for value in values]
        while left:
            take = min(len(left), 4)
            take = {3: 2}.get(take, take)
            out.append(_bytes(left[:take], params, clamp))
            left = left[take:]
        return [(tir.let(value), lanes) for value, lanes in out]


class Neon(NeonEnd):
    """Rows and columns of 16 (8) values of K; each accumulator holds four partial sums."""

    group: ClassVar[int] = 8
    columns: ClassVar[int] = 1
    partials: ClassVar[int] = 4
    multiply_cost: ClassVar[float] = 3.0
    piece: ClassVar[int] = 16
    narrow_weights: ClassVar[bool] = True

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        from edgecc.kernels import tir

        return [tir.let(tir.load(buffer, offset, width))]

    def chunk(self, length: int) -> int:
        return length

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        if weights.ty.dtype.lanes == 8:
            products = tir.llvm("int16x8", SMULL, activation, weights)
        else:
            products = _half(tir.T.vectorlow, activation, weights)
            products = products + _half(tir.T.vectorhigh, activation, weights)
        return acc + tir.llvm("int32x4", SADDLP, products)

    def total(self, partial_sums: list[Any]) -> Any:
        """Four accumulators of four partial sums each as one vector of four sums."""
        from edgecc.kernels import tir

        a, b, c, d = partial_sums
        return tir.llvm("int32x4", ADDP, tir.llvm("int32x4", ADDP, a, b),
                        tir.llvm("int32x4", ADDP, c, d))


def _half(part: Any, activation: Any, weights: Any) -> Any:
    from edgecc.kernels import tir

    return tir.llvm("int16x8", SMULL, part("int8x8", activation), part("int8x8", weights))


def _halved(value: Any) -> Any:
    from edgecc.kernels import tir

    whole = tir.llvm("int32x4", "llvm.aarch64.neon.fcvtns.v4i32.v4f32", value)
    return tir.llvm("int16x4", "llvm.aarch64.neon.sqxtn.v4i16", whole)


def _bytes(halves: list[Any], params: Any, clamp: bool) -> tuple[Any, int]:
    """One, two or four int16x4 as int8 of as many lanes."""
    from edgecc.kernels import tir

    pairs = halves if len(halves) > 1 else [halves[0], halves[0]]
    quarters = []
    for low, high in zip(pairs[::2], pairs[1::2], strict=True):
        both = tir.T.vectorcombine("int16x8", low, high)
        biased = tir.llvm("int16x8", "llvm.sadd.sat.v8i16", both, params.zero_point_vector)
        quarters.append(tir.llvm("int8x8", "llvm.aarch64.neon.sqxtn.v8i8", biased))
    lanes = 8 * len(quarters)
    value = quarters[0] if lanes == 8 else tir.T.vectorcombine("int8x16", *quarters)
    if clamp:
        value = tir.T.min(tir.T.max(value, tir.splat(params.low_byte, lanes)),
                          tir.splat(params.high_byte, lanes))
    if len(halves) == 1:
        words = tir.T.reinterpret("int32x2", value)
        value = tir.T.reinterpret("int8x4", tir.T.Shuffle([words], [0]))
    return value, 4 * len(halves)
