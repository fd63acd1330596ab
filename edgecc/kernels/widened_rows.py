"""Rows of an int8 image as int16 in scratch, padded: the last rows that a window covers, in order.

The oldest row comes first: what stays is moved down when a row is added, so kernel rows are a
constant distance apart. A pair of values is a word, as SMLAD takes it.

Where the rows of a kernel are apart (dilated), output rows that share input rows come one after
the other: only as many rows are kept as the kernel has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import Any

from edgecc.kernels.isa.dsp import halves
from edgecc.kernels.ring import padded

PLAIN_SUM = "llvm.arm.uadd16"  # of a word and zero: else LLVM calls memmove
# nothing, in assembly: LLVM would unroll the short loop that holds it, for a kilobyte or so
ROLLED = """\
define void @edgecc_rolled() alwaysinline {
  call void asm sideeffect "", ""()
  ret void
}
"""
MOST_WRITTEN = 4  # fours that are worth no loop
SLACK = 4  # values that the last segment's padding may read


@dataclass(frozen=True)
class RowsShape:
    """Sizes for a convolution."""

    spec: Any

    @property
    def apart(self) -> int:
        """Input rows from one that is kept to the next."""
        return self.spec.dilations[0] if self.spec.kh > 1 else 1

    @property
    def step(self) -> int:
        """Kept rows from an output row to the next one that shares input rows with it."""
        return self.spec.strides[0] // gcd(self.spec.strides[0], self.apart)

    @property
    def classes(self) -> int:
        """Output rows from one to the next one that shares input rows with it."""
        return min(self.apart // gcd(self.spec.strides[0], self.apart), self.spec.oh)

    @property
    def per_class(self) -> int:
        """Most output rows that share input rows."""
        return -(-self.spec.oh // self.classes)

    @property
    def places(self) -> int:
        """Turns of the loop over the output rows of an image, some of them in vain."""
        return self.classes * self.per_class

    @property
    def row_elements(self) -> int:
        spec = self.spec
        return padded((spec.w + spec.pads[1] + spec.pads[3]) * spec.c, 2)

    @property
    def elements(self) -> int:
        return padded(self.spec.kh * self.row_elements + SLACK, 4)


class WidenedRows:
    """Emits the rows' code in the kernel under construction, whose scratch they are."""

    def __init__(self, k: Any, shape: RowsShape, pad: Any) -> None:
        from edgecc.kernels import tir

        self.k, self.shape, self.spec = k, shape, shape.spec
        self.values, self.words = k.area("int16", 0), k.area("int32", 0)
        half = tir.T.bitwise_and(pad, tir.T.int32(0xFFFF))
        self.pad = tir.let(tir.T.bitwise_or(half, half << 16))

    def clear(self) -> None:
        """Padding everywhere; call once, before the loop over rows."""
        self._fill(0, self.shape.elements // 2)

    def _fill(self, at: Any, words: int) -> None:
        from edgecc.kernels import tir

        with tir.loop(0, words) as i:
            tir.store(self.words, at + i, self.pad)

    def visit(self, number: Any, emit: Callable[[Any, Any], None]) -> None:
        """emit(image, y) for turn `number` of the loop, once the rows under output row y are
        in place."""
        from edgecc.kernels import tir

        T, shape = tir.T, self.shape
        image, place = tir.let(number // shape.places), tir.let(number % shape.places)
        if shape.classes == 1:
            self._advance(T.Or(number == self.k.begin, place == 0), image, place)
            emit(image, place)
            return
        turn = tir.let(place % shape.per_class)
        y = tir.let(place // shape.per_class + turn * shape.classes)
        with tir.when(y < self.spec.oh):
            self._advance(T.Or(number == self.k.begin, turn == 0), image, y)
            emit(image, y)

    def _advance(self, anew: Any, image: Any, y: Any) -> None:
        """Bring in the input rows that output row y (of `image`) is the first to need."""
        from edgecc.kernels import tir

        T, spec, rows, step = tir.T, self.spec, self.spec.kh, self.shape.step
        fresh = tir.let(anew)
        kept, words = max(rows - step, 0), self.shape.row_elements // 2
        if kept:
            with tir.when(T.Not(fresh)), tir.loop(0, kept * words) as i:
                word = tir.load(self.words, i + step * words)
                tir.store(self.words, i, tir.llvm("int32", PLAIN_SUM, word, T.int32(0)))
        start = tir.let(T.Select(fresh, T.int32(0), T.int32(kept)))
        with tir.loop(start, rows) as r:
            line = tir.let(y * spec.strides[0] + r * self.shape.apart - spec.pads[0])
            slot = tir.let(r * self.shape.row_elements)
            with tir.when(T.And(line >= 0, line < spec.h)):
                self.bring((image * spec.h + line) * (spec.w * spec.c),
                           slot + spec.pads[1] * spec.c, spec.w * spec.c)
            if spec.pads[0] or spec.pads[2]:
                with tir.when(T.Or(line < 0, line >= spec.h)):
                    self._fill(slot // 2, words)

    def bring(self, source: Any, target: Any, count: int) -> None:
        """Widen `count` values of the input from element `source` on, in order."""
        self._widen(source, count, in_order, lambda four: target + four * 4, (0, 1, 2, 3))

    def bring_fours(self, source: Any, target: Any, count: int, apart: int) -> None:
        """The same for fours that go `apart`, each as SXTB16 takes it out of a word."""
        self._widen(source, count, halves, lambda four: target + four * apart, (0, 2, 1, 3))

    def _widen(self, source: Any, count: int, pairs: Callable[[Any], tuple[Any, Any]],
               place: Callable[[Any], Any], order: tuple[int, ...]) -> None:
        """pairs(word) are the words of four values, which go to element place(number of the four);
        of fours that are not whole, value i goes to the place order[i]."""
        from edgecc.kernels import tir

        def bring(four: Any) -> None:
            values = tir.load(self.k.inputs[0], source + four * 4, 4)
            for i, pair in enumerate(pairs(tir.let(tir.T.reinterpret("int32", values)))):
                self._store_pair(place(four) + i * 2, pair)

        whole, rest = divmod(count, 4)
        if whole > MOST_WRITTEN:
            with tir.imported([ROLLED]), tir.loop(0, whole) as four:
                tir.T.evaluate(tir.T.call_extern("void", "edgecc_rolled"))
                bring(four)
        else:
            for each in range(whole):
                bring(each)
        for i in range(rest):
            value = tir.T.cast(self.k.inputs[0][source + (whole * 4 + i)], "int16")
            tir.store(self.values, place(whole) + order[i], value)

    def _store_pair(self, at: Any, pair: Any) -> None:
        from edgecc.kernels import tir

        if self.spec.pads[1] * self.spec.c % 2 == 0:
            tir.store(self.words, at // 2, pair)
        else:
            tir.store(self.values, at, tir.T.reinterpret("int16x2", pair), 2)


def in_order(word: Any) -> tuple[Any, Any]:
    """Four int8 in a word as two words of two int16, in order: SXTB16 and PKH."""
    from edgecc.kernels import tir

    T = tir.T
    even, odd = (tir.let(half) for half in halves(word))
    low = T.bitwise_or(T.bitwise_and(even, T.int32(0xFFFF)), odd << 16)
    top = T.reinterpret("uint32", even) >> T.uint32(16)
    high = T.bitwise_or(T.bitwise_and(odd, T.int32(-65536)), T.reinterpret("int32", top))
    return tir.let(low), tir.let(high)
