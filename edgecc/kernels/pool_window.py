"""The geometry of pooling: which positions a window covers, and how many of them count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgecc.kernels.elementwise import pieces
from edgecc.kernels.spec import Pool2d

UNROLLED = 16  # positions of a window written out one by one
VECTORS = 4  # side by side in one pass over the window


@dataclass(frozen=True)
class Counts:
    """Positions of a window inside the image, and the average's divisor (at least 1)."""

    inside: Any
    divisor: Any


@dataclass(frozen=True)
class Span:
    """Kernel taps [first, last) of one axis: numbers, or expressions at the edges."""

    first: Any
    last: Any

    @property
    def known(self) -> bool:
        return isinstance(self.first, int) and isinstance(self.last, int)


@dataclass(frozen=True)
class Axis:
    """One spatial axis of a pooling."""

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    after: int
    out: int
    padding_counts: bool

    def start(self, at: Any) -> Any:
        return at * self.stride - self.before

    def interior(self) -> tuple[int, int]:
        """Outputs [first, last) whose windows lie inside the image."""
        reach = (self.taps - 1) * self.dilation
        inside = [o for o in range(self.out)
                  if self.start(o) >= 0 and self.start(o) + reach < self.size]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    def cut(self, start: Any, low: int, high: int) -> Span:
        """Taps whose position lies in [low, high)."""
        from edgecc.kernels import tir

        d, zero = self.dilation, tir.T.int32(0)
        first = tir.T.max(zero, tir.T.floordiv(low - start + d - 1, d))
        last = tir.T.min(tir.T.int32(self.taps), tir.T.floordiv(high - start + d - 1, d))
        return Span(tir.let(first), tir.let(tir.T.max(last, first)))

    def span(self, at: Any, interior: bool) -> tuple[Span, Any]:
        """The taps inside the image, and how many count in an average."""
        if interior:
            return Span(0, self.taps), self.taps
        inside = self.cut(self.start(at), 0, self.size)
        counted = inside
        if self.padding_counts:
            counted = self.cut(self.start(at), -self.before, self.size + self.after)
        return inside, counted.last - counted.first


def _axes(spec: Pool2d) -> tuple[Axis, Axis]:
    top, left, bottom, right = spec.pads
    include = spec.count_include_pad
    (sh, sw), (dh, dw) = spec.strides, spec.dilations
    return (Axis(spec.h, spec.kh, sh, dh, top, bottom, spec.oh, include),
            Axis(spec.w, spec.kw, sw, dw, left, right, spec.ow, include))


class Pooling:
    """The loops over outputs; `positions` runs over the current window."""

    def __init__(self, k: Any, spec: Pool2d, original: Pool2d) -> None:
        self.k, self.spec = k, spec
        self.rows, self.columns = _axes(spec)
        self.is_run = spec is not original
        self.vertical = self.horizontal = Span(0, 0)
        self.base: Any = 0  # element of the window's first tap, which may lie outside

    def emit(self, window: Callable[[Pooling, Any, Counts], None]) -> None:
        from edgecc.kernels import tir

        s = self.spec
        inside = self.rows.interior() == (0, s.oh)
        with tir.loop(self.k.begin, self.k.end) as row:
            image, oy = tir.T.floordiv(row, s.oh), tir.T.floormod(row, s.oh)
            self.vertical, high = self.rows.span(tir.let(oy), inside)
            line = tir.let((image * s.h + self.rows.start(oy)) * s.w)
            first, last = self.columns.interior()
            for begin, end, known in ((0, first, False), (first, last, True), (last, s.ow, False)):
                if end > begin:
                    with tir.loop(begin, end) as ox:
                        self._one(window, row, line, ox, known, high)

    def _one(self, window: Any, row: Any, line: Any, ox: Any, known: bool, high: Any) -> None:
        from edgecc.kernels import tir

        s = self.spec
        self.horizontal, wide = self.columns.span(ox, known)
        self.base = tir.let((line + self.columns.start(ox)) * s.c)
        inside = ((self.vertical.last - self.vertical.first)
                  * (self.horizontal.last - self.horizontal.first))
        divisor = tir.T.max(tir.T.cast(high * wide, "int32"), tir.T.int32(1))
        window(self, tir.let((row * s.ow + ox) * s.c), Counts(inside, divisor))

    def position(self, ky: Any, kx: Any) -> Any:
        s = self.spec
        return self.base + (ky * (s.dilations[0] * s.w) + kx * s.dilations[1]) * s.c

    def run_position(self, index: Any) -> Any:
        return self.base + index * self.spec.c

    def positions(self, body: Callable[[Any], None]) -> None:
        """body(element) for every tap of the window inside the image."""
        from edgecc.kernels import tir

        taps = self.spec.kh * self.spec.kw
        if self.vertical.known and self.horizontal.known and taps <= UNROLLED:
            for ky in range(self.spec.kh):
                self._across(ky, body)
            return
        with tir.loop(self.vertical.first, self.vertical.last) as ky:
            self._across(ky, body)

    def _across(self, ky: Any, body: Callable[[Any], None]) -> None:
        from edgecc.kernels import tir

        if self.horizontal.known and self.spec.kw <= UNROLLED:
            for kx in range(self.spec.kw):
                body(self.position(ky, kx))
            return
        with tir.loop(self.horizontal.first, self.horizontal.last) as kx:
            body(self.position(ky, kx))


def across_channels(channels: int, lanes: int, chunk: Callable[[Any, list[int]], None],
                    vectors: int = VECTORS) -> None:
    """chunk(first channel, widths of its vectors) until all channels are done."""
    from edgecc.kernels import tir

    block = lanes * vectors
    whole = channels // block
    if whole == 1:
        chunk(0, [lanes] * vectors)
    elif whole:
        with tir.loop(0, whole) as turn:
            chunk(turn * block, [lanes] * vectors)
    rest = [n for _, n in pieces(channels - whole * block, lanes)]
    if rest:
        chunk(whole * block, rest)
