"""Cortex-M4, M7 and M33: SMLAD multiplies two pairs of int16 and adds both to an accumulator.

Four int8 of K come as one word; SXTB16 widens bytes 0 and 2, and, after a rotation, 1 and 3, of
activations and weights alike, so neither needs another order.
Source: Armv7-M Architecture Reference Manual, SMLAD and SXTB16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edgecc.kernels.isa.scalar import Scalar


class Dsp(Scalar):
    """Scalar accumulators, VCVTR and SSAT at the end."""

    turns: ClassVar[int] = 1
    name: ClassVar[str] = "dsp"
    requires: ClassVar[frozenset[str]] = frozenset({"dsp", "fpu32"})
    group: ClassVar[int] = 4
    piece: ClassVar[int] = 4
    registers: ClassVar[int] = 9
    multiply_cost: ClassVar[float] = 5.5  # with the unpacking of its four weights
    fast: ClassVar[bool] = True

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        from edgecc.kernels import tir

        word = tir.let(tir.T.reinterpret("int32", tir.load(buffer, offset, 4)))
        return [tuple(tir.let(half) for half in halves(word))]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        even, odd = halves(tir.T.reinterpret("int32", weights))
        acc = tir.llvm("int32", "llvm.arm.smlad", activation[0], even, acc)
        return tir.llvm("int32", "llvm.arm.smlad", activation[1], odd, acc)

    def narrow(self, values: Sequence[Any], params: Any, clamp: bool) -> list[tuple[Any, int]]:
        """VCVTR rounds by the default mode, half to even, and saturates; SSAT clamps."""
        from edgecc.kernels import tir

        out = []
        for value in values:
            rounded = tir.llvm("float32", "llvm.arm.vcvtr.f32", value)
            bounded = tir.llvm("int32", "llvm.arm.ssat",
                               tir.llvm("int32", "llvm.sadd.sat.i32",
                                        tir.T.reinterpret("int32", rounded), params.zero_point), 8)
            if clamp:
                bounded = tir.T.max(tir.T.min(bounded, params.high), params.low)
            out.append((tir.T.cast(bounded, "int8"), 1))
        return out


def halves(word: Any) -> tuple[Any, Any]:
    from edgecc.kernels import tir

    turned = tir.llvm("int32", "llvm.fshr.i32", word, word, tir.T.int32(8))
    return (tir.llvm("int32", "llvm.arm.sxtb16", word),
            tir.llvm("int32", "llvm.arm.sxtb16", turned))
