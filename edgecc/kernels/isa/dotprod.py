"""Arm NEON with FEAT_DotProd: SDOT multiplies 16 pairs of int8 into four int32 lanes.

Source: Arm Architecture Reference Manual, A64 SIMD instructions, SDOT (by element).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa

SDOT = "llvm.aarch64.neon.sdot.v4i32.v16i8"


class DotProd(Isa):
    """Activations are loaded 16 (8, 4) at a time and used by lane; weights hold 4 K per column."""

    name: ClassVar[str] = "dotprod"
    requires: ClassVar[frozenset[str]] = frozenset({"dotprod"})
    group: ClassVar[int] = 4
    lanes: ClassVar[int] = 4
    registers: ClassVar[int] = 32
    piece: ClassVar[int] = 16
    fast: ClassVar[bool] = True

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        from edgecc.kernels import tir

        words = width // 4
        dtype = tir.vector("int32", words)
        row = tir.let(tir.T.reinterpret(dtype, tir.load(buffer, offset, width)))
        if words == 1:
            return [row]
        return [tir.T.Shuffle([row], [lane]) for lane in range(words)]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        four = tir.T.reinterpret("int8x16", tir.splat(activation, 4))
        return tir.llvm("int32x4", SDOT, acc, weights, four)

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
