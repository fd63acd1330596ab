"""A ring of padded input rows in scratch: what lets inner loops run without bounds checks.

Row `line` (counted in the padded image) lives in slot line % rows; a slot is left padding, the
row, right padding. The ring starts filled with the pad value, so copies write only what lies
inside the image; rows above and below it are blanked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

COPY_LANES = 16


def padded(value: int, step: int) -> int:
    return -(-value // step) * step


@dataclass(frozen=True)
class RingShape:
    """Sizes of the ring of a convolution or pool (any spec with n, h, w, c, kh, strides,
    dilations and pads). `slack` elements may be read past the last row. `band`: output rows that
    are computed before the ring moves on."""

    spec: Any
    slack: int = 0
    band: int = 1

    @property
    def rows(self) -> int:
        return (self.band - 1) * self.step + self.spec.dilations[0] * (self.spec.kh - 1) + 1

    @property
    def step(self) -> int:
        """Input rows from an output row to the next."""
        return self.spec.strides[0]

    @property
    def row_elements(self) -> int:
        return (self.spec.w + self.spec.pads[1] + self.spec.pads[3]) * self.spec.c

    @property
    def elements(self) -> int:
        return padded(self.rows * self.row_elements + self.slack, COPY_LANES)


class Ring:
    """Emits the ring's code in the kernel under construction.

    `convert(values, lanes)` turns input vectors into scratch vectors; `pad` is the scratch value
    of padding, stored in vectors or, where there are none, by a loop that LLVM makes a memset of.
    Of a row, `copy_lanes` elements move at once.
    """

    def __init__(self, k: Any, shape: RingShape, pad: Any, convert: Callable[[Any, int], Any],
                 vectors: bool = True, copy_lanes: int = COPY_LANES):
        self.k, self.shape, self.spec = k, shape, shape.spec
        self.pad, self.convert, self.vectors = pad, convert, vectors
        self.copy_lanes = copy_lanes

    def clear(self) -> None:
        """Padding everywhere; call once, before the loop over rows."""
        self._fill(0, self.shape.elements)

    def slot(self, line: Any) -> Any:
        """Element offset of the slot of a padded image line."""
        return line % self.shape.rows * self.shape.row_elements

    def below(self, slot: Any, lines: int) -> Any:
        """Element offset of the slot `lines` (at most `rows`) under a slot: no division."""
        from edgecc.kernels import tir

        total = self.shape.rows * self.shape.row_elements
        after = tir.let(slot + lines * self.shape.row_elements)
        return tir.T.Select(after >= total, after - total, after)

    def advance(self, fresh: Any, image: Any, y: Any) -> None:
        """Bring in the input rows that the band from output row y on (of `image`) is the first to
        need.

        `fresh`: it is the first of a call. That, and an image's first, need all of them.
        """
        from edgecc.kernels import tir

        spec, rows = self.spec, self.shape.rows
        kept = max(rows - self.shape.band * self.shape.step, 0)
        start = tir.let(tir.T.Select(tir.T.Or(fresh, y == 0), tir.T.int32(0), tir.T.int32(kept)))
        slot = tir.local(1, "int32")
        tir.store(slot, 0, self.slot(y * spec.strides[0] + start))
        with tir.loop(start, rows) as r:
            self._bring(image, y * spec.strides[0] + r, tir.let(slot[0] + spec.pads[1] * spec.c))
            tir.store(slot, 0, self.below(slot[0], 1))

    def _bring(self, image: Any, line: Any, slot: Any) -> None:
        from edgecc.kernels import tir

        spec = self.spec
        source = tir.let(line - spec.pads[0])
        with tir.when(tir.T.And(source >= 0, source < spec.h)):
            self._copy(slot, (image * spec.h + source) * (spec.w * spec.c))
        if spec.pads[0] or spec.pads[2]:
            with tir.when(tir.T.Or(source < 0, source >= spec.h)):
                self._fill(slot, spec.w * spec.c)

    def _copy(self, slot: Any, source: Any) -> None:
        from edgecc.kernels import tir

        def move(at: Any, lanes: int) -> None:
            values = tir.load(self.k.inputs[0], source + at, lanes)
            tir.store(self.k.scratch, slot + at, self.convert(values, lanes), lanes)

        in_vectors(self.spec.w * self.spec.c, move, self.copy_lanes)

    def _fill(self, first: Any, count: int) -> None:
        """Padding into `count` elements of scratch."""
        from edgecc.kernels import tir

        def store(at: Any, lanes: int) -> None:
            tir.store(self.k.scratch, first + at, tir.splat(self.pad, lanes), lanes)

        if self.vectors:
            in_vectors(count, store, COPY_LANES)
            return
        with tir.loop(0, count) as at:
            store(at, 1)


def chained(first: Any, count: int, below: Callable[[Any], Any]) -> list[Any]:
    """`first` and what `below` makes of the one before. They are kept in registers of their own:
    TVM's simplifier would follow each back to the first."""
    from edgecc.kernels import tir

    if count == 1:
        return [first]
    kept = tir.local(count, "int32")
    tir.store(kept, 0, first)
    for i in range(1, count):
        tir.store(kept, i, below(kept[i - 1]))
    return [kept[i] for i in range(count)]


def in_vectors(count: int, move: Callable[[Any, int], None], widest: int) -> None:
    """move(offset, lanes) over `count` elements: a loop of the widest moves, then halves."""
    from edgecc.kernels import tir

    whole, rest = divmod(count, widest)
    if whole:
        with tir.loop(0, whole) as i:
            move(i * widest, widest)
    at, lanes = whole * widest, widest // 2
    while rest:
        if rest >= lanes:
            move(at, lanes)
            at, rest = at + lanes, rest - lanes
        lanes //= 2
