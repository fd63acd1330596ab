"""Cores with 64-bit integers and no vectors: one multiplication gives two products.

Activations a, b of two rows are one number a + b·2^32, and so are the sums of both rows: times a
weight and added up, the lower half is the first row's sum and the upper half the second row's,
less the borrow of a negative first one. Exact while the first fits 32 bits, so K is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from edgecc.kernels.isa.scalar import Scalar

UPPER = 32  # bits that the second row is shifted by
MULTIPLY_ADD = "edgecc_multiply_add"
# in one piece: LLVM would put off the additions until the products no longer fit the registers
TEXT = f"""define internal i64 @{MULTIPLY_ADD}(i64 %sum, i64 %a, i64 %b) alwaysinline nounwind {{
  %r = call {{i64, i64}} asm "mul $1, $3, $4; add $0, $0, $1", "=r,=&r,0,r,r"(
      i64 %sum, i64 %a, i64 %b)
  %kept = extractvalue {{i64, i64}} %r, 0
  ret i64 %kept
}}
"""
MOST_PRODUCTS = (1 << 31) // (128 * 128) - 1  # that fit the lower half, whatever they are


class Scalar64(Scalar):
    """RV64: two rows share an accumulator."""

    name: ClassVar[str] = "scalar64"
    requires: ClassVar[frozenset[str]] = frozenset({"rv64gc"})
    multiply_cost: ClassVar[float] = 0.5
    registers: ClassVar[int] = 26
    rows_joined: ClassVar[int] = 2
    sum_dtype: ClassVar[str] = "int64"
    functions: ClassVar[Mapping[str, str]] = {MULTIPLY_ADD: TEXT}
    longest_sum: ClassVar[int] = MOST_PRODUCTS

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        from edgecc.kernels import tir

        return [tir.let(tir.T.cast(tir.load(buffer, offset + i), "int64")) for i in range(width)]

    def joined(self, rows: list[Any]) -> Any:
        """The activations of two rows, or of a last one, as one operand."""
        from edgecc.kernels import tir

        if len(rows) == 1:
            return rows[0]
        return tir.let(rows[0] + tir.T.shift_left(rows[1], tir.T.int64(UPPER)))

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        wide = tir.T.cast(weights, "int64")
        return tir.let(tir.T.call_extern("int64", MULTIPLY_ADD, acc, activation, wide))

    def half(self, sums: Any, row: int) -> Any:
        """One row's sum. A negative lower half borrowed from the upper one."""
        from edgecc.kernels import tir

        low = tir.let(tir.T.cast(sums, "int32"))
        if row == 0:
            return low
        rest = sums - tir.T.cast(low, "int64")
        return tir.T.cast(tir.T.shift_right(rest, tir.T.int64(UPPER)), "int32")
