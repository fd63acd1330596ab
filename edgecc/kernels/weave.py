"""Neighbouring positions of an image interleaved by fours, for SDOT over the taps of a channel."""

from __future__ import annotations

from typing import Any

from edgecc.kernels.depthwise_plan import Quad


class Weave:
    """Positions, pairs and quads of one tile, each computed once.

    Columns past `last` carry weights of zero: the last real column stands in for them.
    """

    def __init__(self, buffer: Any, lines: list[Any], across: Any, c: int, width: int, last: int):
        self.buffer, self.lines, self.across = buffer, lines, across
        self.c, self.width, self.last = c, width, last
        self.seen: dict[Any, Any] = {}

    def position(self, tap: tuple[int, int]) -> Any:
        from edgecc.kernels import tir

        key = (tap[0], min(tap[1], self.last))
        if key not in self.seen:
            offset = self.lines[key[0]] + self.across + key[1] * self.c
            self.seen[key] = tir.let(tir.load(self.buffer, offset, self.width))
        return self.seen[key]

    def pair(self, first: Any, second: Any) -> list[Any]:
        """Bytes of two positions interleaved, 16 at a time."""
        from edgecc.kernels import tir

        first = first or second
        second = second or first
        key = (first, second)
        if key not in self.seen:
            a, b = self.position(first), self.position(second)
            self.seen[key] = [
                tir.let(tir.T.Shuffle([a, b], _interleave(self.width, half * 8, 8)))
                for half in range(self.width // 8)
            ]
        return self.seen[key]

    def quad(self, taps: Quad) -> list[Any]:
        """Vectors of 4 channels x 4 taps."""
        from edgecc.kernels import tir

        present = next(t for t in taps if t)
        a, b, c, d = (t or present for t in taps)
        out = []
        for low, high in zip(self.pair(a, b), self.pair(c, d), strict=True):
            x, y = (tir.let(tir.T.reinterpret("int16x8", v)) for v in (low, high))
            for half in range(2):
                woven = tir.T.Shuffle([x, y], _interleave(8, half * 4, 4))
                out.append(tir.let(tir.T.reinterpret("int8x16", woven)))
        return out


def _interleave(lanes: int, first: int, count: int) -> list[int]:
    return [i for lane in range(first, first + count) for i in (lane, lane + lanes)]
