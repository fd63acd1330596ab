"""Arm NEON with FEAT_DotProd: SDOT multiplies 16 pairs of int8 into four int32 lanes.

Source: Arm Architecture Reference Manual, A64 SIMD instructions, SDOT (by element).
"""

from __future__ import annotations

from typing import Any, ClassVar

from edgecc.kernels.isa.neon import NeonEnd

SDOT = "llvm.aarch64.neon.sdot.v4i32.v16i8"


class DotProd(NeonEnd):
    """Activations are loaded 16 (8, 4) at a time and used by lane; weights hold 4 K per column."""

    name: ClassVar[str] = "dotprod"
    requires: ClassVar[frozenset[str]] = frozenset({"dotprod"})
    group: ClassVar[int] = 4
    piece: ClassVar[int] = 16

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
