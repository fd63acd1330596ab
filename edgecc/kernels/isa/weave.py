"""Unpacking and packing of x86 vectors, which work within each 128 bits.

What two unpacks take apart two packs put together again: channels of a vector come back in order.
Source: Intel 64 and IA-32 Software Developer's Manual, VPUNPCK, VPACKSS, VCVTPS2DQ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from edgecc.kernels.isa.vnni import VPDPBUSD

LANE = 16  # bytes within which instructions move
VECTORS = 4  # of int32 for the bytes of one
NEAREST = 4  # the rounding that is in force: to nearest, halves to even
LARGEST = 65536.0  # more than int16 holds; VCVTPS2DQ makes the least integer of what is too large
APART = "edgecc_apart_weave"
APART_TEXT = f"""define internal i32 @{APART}() alwaysinline nounwind {{
  call void asm sideeffect "", "~{{memory}}"()
  ret i32 0
}}
"""
FAMILY = {16: "sse2", 32: "avx2", 64: "avx512"}


@dataclass(frozen=True)
class Weave:
    """Vectors of `width` bytes: 16, 32 or 64."""

    width: int

    @property
    def lanes(self) -> int:
        """int32 in a vector."""
        return self.width // 4

    def fours(self, rows: list[Any], vectors: Iterable[int]) -> list[Any]:
        """Of up to four vectors of uint8 the bytes of same place side by side, a row that is not
        there being any other: those of `vectors` (0 to 3), four places of every lane each."""
        first = (rows[0], rows[1 % len(rows)])
        second = (rows[2], rows[-1]) if len(rows) > 2 else first
        pairs: dict[int, tuple[Any, Any]] = {}
        found = []
        for vector in vectors:
            half, part = divmod(vector, 2)
            if half not in pairs:
                pairs[half] = (self._unpacked(*first, 1, half), self._unpacked(*second, 1, half))
            found.append(self._unpacked(*pairs[half], 2, part))
        return found

    def _unpacked(self, low: Any, high: Any, size: int, half: int) -> Any:
        """Elements of `size` bytes from the lower or upper half of every lane, by turns."""
        from edgecc.kernels import tir

        count, each = self.width // size, LANE // size
        kind = tir.vector(f"uint{8 * size}", count)
        order = [source * count + lane + half * (each // 2) + i
                 for lane in range(0, count, each) for i in range(each // 2) for source in (0, 1)]
        parts = [tir.T.reinterpret(kind, value) for value in (low, high)]
        woven = tir.T.Shuffle(parts, order)
        return tir.let(tir.T.reinterpret(tir.vector("uint8", self.width), woven))

    def apart(self, k: Any) -> None:
        """Keep what was loaded before this point from being held for what follows: constants are
        operands in memory then, and take no registers."""
        from edgecc.kernels import tir

        k.llvm_function(APART, lambda: APART_TEXT)
        tir.T.evaluate(tir.T.call_extern("int32", APART))

    def added(self, total: Any, unsigned: Any, signed: Any) -> Any:
        """`total` and the products of bytes, four to an int32."""
        from edgecc.kernels import tir

        kind = tir.vector("int32", self.lanes)
        return tir.llvm(kind, f"{VPDPBUSD}{8 * self.width}", total, unsigned, signed)

    def shorts(self, first: Any, second: Any, zero_point: Any, fits: bool) -> Any:
        """Two vectors of float32, rounded half to even, as int16 about `zero_point`, saturated.
        `fits`: none is too large for int32."""
        from edgecc.kernels import tir

        T, kind = tir.T, tir.vector("int16", self.width // 2)
        top = tir.splat(T.float32(LARGEST), self.lanes)
        whole = [self._rounded(value if fits else T.min(value, top)) for value in (first, second)]
        packed = tir.llvm(kind, self._pack("packssdw"), *whole)
        added = f"llvm.sadd.sat.v{self.width // 2}i16"
        return tir.let(tir.llvm(kind, added, packed, tir.splat(zero_point, self.width // 2)))

    def bytes(self, first: Any, second: Any) -> Any:
        """Two vectors of int16 as int8, saturated."""
        from edgecc.kernels import tir

        return tir.llvm(tir.vector("int8", self.width), self._pack("packsswb"), first, second)

    def _pack(self, name: str) -> str:
        bits = {16: ".128", 32: "", 64: ".512"}[self.width]
        return f"llvm.x86.{FAMILY[self.width]}.{name}{bits}"

    def _rounded(self, value: Any) -> Any:
        from edgecc.kernels import tir

        T, kind = tir.T, tir.vector("int32", self.lanes)
        if self.width == 64:
            every = T.uint16(0xFFFF)
            return tir.llvm(kind, "llvm.x86.avx512.mask.cvtps2dq.512", value,
                            tir.splat(T.int32(0), self.lanes), every, T.int32(NEAREST))
        name = "avx.cvt.ps2dq.256" if self.width == 32 else "sse2.cvtps2dq"
        return tir.llvm(kind, f"llvm.x86.{name}", value)
