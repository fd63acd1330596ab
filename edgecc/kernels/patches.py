"""Windows of few values laid side by side in scratch, so that a tile reads them as one run.

The first layers of networks have 1 to 4 channels: a row of their kernel is a handful of bytes,
and reading it row by row wastes most of every load and of every multiply step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edgecc.kernels.ring import padded

LOAD = 16  # bytes that move at once; longer kernel rows stay where they are
TOGETHER = 4  # windows per turn of the loop


@dataclass(frozen=True)
class Patches:
    """The windows of one output row of a convolution: `pitch` bytes apart, from `start` on."""

    spec: Any
    start: int

    @property
    def row(self) -> int:
        """Bytes under one row of the kernel."""
        return self.spec.kw * self.spec.c

    @property
    def values(self) -> int:
        return self.spec.kh * self.row

    @property
    def pitch(self) -> int:
        return padded(self.values, LOAD)

    @property
    def elements(self) -> int:
        """Every move brings LOAD bytes: the last one of a row runs over."""
        return self.spec.ow * self.pitch + LOAD

    def fill(self, buffer: Any, lines: list[Any]) -> None:
        """Lay out a row's windows, given the element offsets of the lines under the kernel. Rows
        are written in order, so what a move brings too much is overwritten by the next."""
        from edgecc.kernels import tir

        together = min(TOGETHER, self.spec.ow)
        whole, rest = divmod(self.spec.ow, together)
        with tir.loop(0, whole) as turn:
            for i in range(together):
                self._window(buffer, lines, turn * together + i)
        for i in range(rest):
            self._window(buffer, lines, whole * together + i)

    def _window(self, buffer: Any, lines: list[Any], x: Any) -> None:
        from edgecc.kernels import tir

        for ky, line in enumerate(lines):
            values = tir.load(buffer, line + x * (self.spec.strides[1] * self.spec.c), LOAD)
            tir.store(buffer, self.start + x * self.pitch + ky * self.row, values, LOAD)
