"""Rows of an int8 image as int16 in scratch, padded: the last rows that a window covers, in order.

The oldest row comes first: what stays is moved down when a row is added, so kernel rows are a
constant distance apart. A pair of values is a word, as SMLAD takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edgecc.kernels.ring import padded

PLAIN_SUM = "llvm.arm.uadd16"  # of a word and zero: else LLVM calls memmove
# nothing, in assembly: LLVM would unroll the short loop that holds it, for a kilobyte or so
ROLLED = """\
define void @edgecc_rolled() alwaysinline {
  call void asm sideeffect "", ""()
  ret void
}
"""
SLACK = 4  # values that the last segment's padding may read


@dataclass(frozen=True)
class RowsShape:
    """Sizes for a convolution; `spare` positions past the last may be read."""

    spec: Any
    spare: int

    @property
    def rows(self) -> int:
        return self.spec.dilations[0] * (self.spec.kh - 1) + 1

    @property
    def row_elements(self) -> int:
        spec = self.spec
        return padded((spec.w + spec.pads[1] + spec.pads[3]) * spec.c, 2)

    @property
    def elements(self) -> int:
        past = self.spare * self.spec.strides[1] * self.spec.c
        return padded(self.rows * self.row_elements + past + SLACK, 4)


class WidenedRows:
    """Emits the rows' code in the kernel under construction; int16 from `offset_bytes` of scratch
    on."""

    def __init__(self, k: Any, shape: RowsShape, pad: Any, offset_bytes: int = 0) -> None:
        from edgecc.kernels import tir

        self.k, self.shape, self.spec = k, shape, shape.spec
        self.values, self.words = k.area("int16", offset_bytes), k.area("int32", offset_bytes)
        half = tir.T.bitwise_and(pad, tir.T.int32(0xFFFF))
        self.pad = tir.let(tir.T.bitwise_or(half, half << 16))

    def clear(self) -> None:
        """Padding everywhere; call once, before the loop over rows."""
        self._fill(0, self.shape.elements // 2)

    def _fill(self, at: Any, words: int) -> None:
        from edgecc.kernels import tir

        with tir.loop(0, words) as i:
            tir.store(self.words, at + i, self.pad)

    def advance(self, row: Any, image: Any, y: Any) -> None:
        """Bring in the input rows that output row y (of `image`) is the first to need."""
        from edgecc.kernels import tir

        T, spec, rows = tir.T, self.spec, self.shape.rows
        fresh = tir.let(T.Or(row == self.k.begin, y == 0))
        kept, words = max(rows - spec.strides[0], 0), self.shape.row_elements // 2
        if kept:
            with tir.when(T.Not(fresh)), tir.loop(0, kept * words) as i:
                word = tir.load(self.words, i + spec.strides[0] * words)
                tir.store(self.words, i, tir.llvm("int32", PLAIN_SUM, word, T.int32(0)))
        start = tir.let(T.Select(fresh, T.int32(0), T.int32(kept)))
        with tir.loop(start, rows) as r:
            line = tir.let(y * spec.strides[0] + r - spec.pads[0])
            slot = tir.let(r * self.shape.row_elements)
            with tir.when(T.And(line >= 0, line < spec.h)):
                self.bring((image * spec.h + line) * (spec.w * spec.c),
                           slot + spec.pads[1] * spec.c, spec.w * spec.c)
            if spec.pads[0] or spec.pads[2]:
                with tir.when(T.Or(line < 0, line >= spec.h)):
                    self._fill(slot // 2, words)

    def bring(self, source: Any, target: Any, count: int, apart: int = 4) -> None:
        """Widen `count` values of the input from element `source` on; fours go `apart`."""
        from edgecc.kernels import tir

        even = self.spec.pads[1] * self.spec.c % 2 == 0
        with tir.imported([ROLLED]), tir.loop(0, count // 4) as i:
            tir.T.evaluate(tir.T.call_extern("void", "edgecc_rolled"))
            four = tir.load(self.k.inputs[0], source + i * 4, 4)
            for at, pair in enumerate(in_order(tir.let(tir.T.reinterpret("int32", four)))):
                self._store_pair(target + (i * apart + at * 2), pair, even)
        for i in range(count - count % 4, count):
            value = tir.T.cast(self.k.inputs[0][source + i], "int16")
            tir.store(self.values, target + (i // 4 * apart + i % 4), value)

    def _store_pair(self, at: Any, pair: Any, even: bool) -> None:
        from edgecc.kernels import tir

        if even:
            tir.store(self.words, at // 2, pair)
        else:
            tir.store(self.values, at, tir.T.reinterpret("int16x2", pair), 2)


def in_order(word: Any) -> tuple[Any, Any]:
    """Four int8 in a word as two words of two int16, in order: SXTB16 and PKH."""
    from edgecc.kernels import tir
    from edgecc.kernels.isa.dsp import halves

    T = tir.T
    even, odd = (tir.let(half) for half in halves(word))
    low = T.bitwise_or(T.bitwise_and(even, T.int32(0xFFFF)), odd << 16)
    top = T.reinterpret("uint32", even) >> T.uint32(16)
    high = T.bitwise_or(T.bitwise_and(odd, T.int32(-65536)), T.reinterpret("int32", top))
    return tir.let(low), tir.let(high)
