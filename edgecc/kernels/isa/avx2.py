"""x86 AVX2 without VNNI: activations and weights widened to int16, VPMADDWD adds pairs exactly.

Source: Intel 64 and IA-32 Software Developer's Manual, VPMADDWD. VPMADDUBSW would saturate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa

VPMADDWD = "llvm.x86.avx2.pmadd.wd"
ADD = "edgecc_vpaddd"
# LLVM would turn (sum + a) + b into sum + (a + b) all over a run: a register more for every sum
ADD_TEXT = f"""define internal <8 x i32> @{ADD}(<8 x i32> %a, <8 x i32> %b)
    alwaysinline nounwind memory(none) {{
  %r = call <8 x i32> asm "vpaddd $2, $1, $0", "=x,x,x"(<8 x i32> %a, <8 x i32> %b)
  ret <8 x i32> %r
}}
"""

APART = "edgecc_apart"
APART_TEXT = f"""define internal i32 @{APART}() alwaysinline nounwind {{
  call void asm sideeffect "", "~{{memory}}"()
  ret i32 0
}}
"""


class Avx2(Isa):
    """Two activations broadcast to 8 lanes as int16, times 8 columns of int16 weights."""

    name: ClassVar[str] = "avx2"
    requires: ClassVar[frozenset[str]] = frozenset({"avx2", "fma"})
    group: ClassVar[int] = 2
    lanes: ClassVar[int] = 8
    registers: ClassVar[int] = 16
    piece: ClassVar[int] = 4
    row_by_row: ClassVar[bool] = True
    functions: ClassVar[Mapping[str, str]] = {ADD: ADD_TEXT, APART: APART_TEXT}
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

        products = tir.llvm("int32x8", VPMADDWD, activation, weights)
        return tir.T.call_extern("int32x8", ADD, acc, products)

    def apart(self) -> None:
        from edgecc.kernels import tir

        tir.T.evaluate(tir.T.call_extern("int32", APART))

    def to_activation(self, values: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        return tir.T.cast(values, tir.vector("int16", lanes))
