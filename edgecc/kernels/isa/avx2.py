"""x86 AVX2 without VNNI: activations and weights widened to int16, VPMADDWD adds pairs exactly.

Source: Intel 64 and IA-32 Software Developer's Manual, VPMADDWD. VPMADDUBSW would saturate.
"""

from __future__ import annotations

from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa

VPMADDWD = "llvm.x86.avx2.pmadd.wd"


class Avx2(Isa):
    """Two activations broadcast to 8 lanes as int16, times 8 columns of int16 weights."""

    name: ClassVar[str] = "avx2"
    requires: ClassVar[frozenset[str]] = frozenset({"avx2", "fma"})
    group: ClassVar[int] = 2
    lanes: ClassVar[int] = 8
    registers: ClassVar[int] = 16
    piece: ClassVar[int] = 2  # as VNNI's
    turns: ClassVar[int] = 2
    activation_dtype: ClassVar[str] = "int16"
    reads_input: ClassVar[bool] = False
    weight_dtype: ClassVar[str] = "int16"
    leaves_rows_out: ClassVar[bool] = True
    fast: ClassVar[bool] = True

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        from edgecc.kernels import tir

        T = tir.T
        words = [T.reinterpret("int32", tir.load(buffer, offset + 2 * i, 2))
                 for i in range(width // 2)]
        return [tir.let(T.reinterpret("int16x16", tir.splat(word, 8))) for word in words]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        return acc + tir.llvm("int32x8", VPMADDWD, activation, weights)

    def to_activation(self, values: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        return tir.T.cast(values, tir.vector("int16", lanes))
