"""Arm NEON of 32-bit cores (Armv7-A): VMULL.S8, VMLAL.S8 and VPADAL.S16.

As in `neon`: per row, column and 16 values of K two products are summed in int16, and pairs of
those are added to four int32 partial sums. Two products fit int16 only while no weight is -128.
Source: Arm Architecture Reference Manual, Armv7-A, Advanced SIMD instructions.
"""

from __future__ import annotations

from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa

VMULL = "llvm.arm.neon.vmulls.v8i16"
VPADAL = "llvm.arm.neon.vpadals.v4i32.v8i16"
VPADD = "llvm.arm.neon.vpadd.v2i32"


class Neon32(Isa):
    """Rows and columns of 16 (8) values of K; each accumulator holds four partial sums."""

    name: ClassVar[str] = "neon32"
    requires: ClassVar[frozenset[str]] = frozenset({"armv7-neon"})
    group: ClassVar[int] = 8
    columns: ClassVar[int] = 1
    partials: ClassVar[int] = 4
    multiply_cost: ClassVar[float] = 3.0
    column_cost: ClassVar[float] = 2.0  # VLD1 and its address
    piece: ClassVar[int] = 16
    registers: ClassVar[int] = 16
    narrow_weights: ClassVar[bool] = True
    fast: ClassVar[bool] = True

    def chunk(self, length: int) -> int:
        return length

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        return [eights(buffer, offset, width)]

    def column(self, weights: Any, offset: Any, chunk: int) -> Any:
        return eights(weights, offset, chunk)

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        products = [tir.llvm("int16x8", VMULL, a, b)
                    for a, b in zip(activation, weights, strict=True)]
        return tir.llvm("int32x4", VPADAL, acc, sum(products[1:], products[0]))

    def total(self, partial_sums: list[Any]) -> Any:
        """Four accumulators of four partial sums each as one vector of four sums."""
        from edgecc.kernels import tir

        pairs = [tir.llvm("int32x2", VPADD, *halves(value, 2)) for value in partial_sums]
        low, high = (tir.llvm("int32x2", VPADD, *pairs[i : i + 2]) for i in (0, 2))
        return tir.T.Shuffle([low, high], [0, 1, 2, 3])


def eights(buffer: Any, offset: Any, width: int) -> list[Any]:
    """int8 values as D registers."""
    from edgecc.kernels import tir

    values = tir.let(tir.load(buffer, offset, width))
    return [values] if width == 8 else [tir.let(half) for half in halves(values, 8)]


def halves(values: Any, lanes: int) -> list[Any]:
    from edgecc.kernels import tir

    return [tir.T.Shuffle([values], list(range(first, first + lanes))) for first in (0, lanes)]
