"""Arm MVE (Helium, Cortex-M55 and M85): VMLADAVA adds 16 products of int8 to a scalar register.

Source: Armv8-M Architecture Reference Manual, VMLADAV.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa

VMLADAVA = "llvm.arm.mve.vmldava.v16i8"


class MveEnd(Isa):
    """Vectors of four at the end: VCVTN rounds half to even and saturates."""

    name: ClassVar[str] = "mve"
    requires: ClassVar[frozenset[str]] = frozenset({"mve"})
    lanes: ClassVar[int] = 4
    registers: ClassVar[int] = 8
    fast: ClassVar[bool] = True

    def rounded(self, value: Any) -> Any:
        from edgecc.kernels import tir

        return tir.llvm("float32x4", "llvm.roundeven.v4f32", value)

    def narrow(self, values: Sequence[Any], params: Any, clamp: bool) -> list[tuple[Any, int]]:
        from edgecc.kernels import tir

        T, out = tir.T, []
        for value in values:
            low, high = tir.splat(params.lo, 4), tir.splat(params.hi, 4)
            bounded = T.min(T.max(value, low), high)
            whole = T.cast(self.rounded(bounded), "int32x4") + tir.splat(params.zero_point, 4)
            out.append((T.cast(whole, "int8x4"), 4))
        return out


class Mve(MveEnd):
    """Scalar accumulators while summing."""

    group: ClassVar[int] = 16
    piece: ClassVar[int] = 16
    acc_lanes: ClassVar[int] = 1
    columns: ClassVar[int] = 1
    multiply_cost: ClassVar[float] = 3.0  # with its load, and what is spilled
    registers: ClassVar[int] = 12

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        from edgecc.kernels import tir

        return [tir.let(tir.load(buffer, offset, 16))]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        zero = tir.T.int32(0)
        return tir.llvm("int32", VMLADAVA, zero, zero, zero, acc, activation, weights)
