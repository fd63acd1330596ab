"""x86 VNNI: VPDPBUSD multiplies unsigned by signed bytes, four per int32 lane, exactly.

Activations are made unsigned by adding 128 (the bias takes it back).
Source: Intel 64 and IA-32 Software Developer's Manual, VPDPBUSD. Never VPDPBUSDS or VPMADDUBSW,
which saturate.
"""

from __future__ import annotations

from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa

VPDPBUSD = "llvm.x86.avx512.vpdpbusd."  # and the bits of a vector; VEX where the target has no EVEX


class Vnni(Isa):
    """AVX512: four bytes of an activation row broadcast to 16 lanes, times 16 columns."""

    name: ClassVar[str] = "vnni"
    requires: ClassVar[frozenset[str]] = frozenset({"avx512f", "avx512bw", "avx512vl",
                                                    "avx512vnni"})
    group: ClassVar[int] = 4
    lanes: ClassVar[int] = 16
    registers: ClassVar[int] = 32
    piece: ClassVar[int] = 4  # of more, LLVM loads all rows before it multiplies, and spills
    turns: ClassVar[int] = 2
    reads_input: ClassVar[bool] = False  # flipping signs takes two more instructions a word
    activation_offset: ClassVar[int] = 128
    activation_dtype: ClassVar[str] = "uint8"
    copy_lanes: ClassVar[int] = 64
    leaves_rows_out: ClassVar[bool] = True
    fast: ClassVar[bool] = True

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        from edgecc.kernels import tir

        T = tir.T
        words = [T.reinterpret("int32", tir.load(buffer, offset + 4 * i, 4))
                 for i in range(width // 4)]
        bytes_of = tir.vector("uint8", 4 * self.lanes)
        return [tir.let(T.reinterpret(bytes_of, tir.splat(word, self.lanes))) for word in words]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        return tir.llvm(tir.vector("int32", self.lanes), f"{VPDPBUSD}{32 * self.lanes}", acc,
                        activation, weights)

    def to_activation(self, values: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        unsigned = tir.T.reinterpret(tir.vector("uint8", lanes), values)
        return tir.T.bitwise_xor(unsigned, tir.splat(tir.T.uint8(128), lanes))
