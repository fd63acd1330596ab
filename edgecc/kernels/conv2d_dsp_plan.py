"""int8 convolutions on Cortex-M's DSP instructions: tiles, blocks, scratch, cost, packing.

A kernel row is one run of values, all channels of all taps, or one for every tap where taps are
apart: in dilated convolutions, and in grouped ones, of which a tap takes some channels only.

Packed constants: header, then for every group of channels its blocks of columns: bias int32[NR],
scale float32[NR] and the weights as the loop (`isa/dsp_loop.py`) reads them, every run padded to
fours of K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.int8_packing import header, wrapped
from edgecc.kernels.isa.dsp import Dsp
from edgecc.kernels.isa.dsp_loop import Loop
from edgecc.kernels.isa.dsp_tile import Tile
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.ring import padded
from edgecc.kernels.spec import Conv2d
from edgecc.kernels.widened_rows import RowsShape

GROUP = 4  # K at a time


@dataclass(frozen=True)
class Plan:
    """A convolution in tiles of `mr` positions by `nr` output channels."""

    spec: Conv2d
    mr: int
    nr: int

    @property
    def channels(self) -> int:
        """Of the input, that one output sums over."""
        return self.spec.c // self.spec.groups

    @property
    def outputs(self) -> int:
        """Channels of the output that sum over the same ones."""
        return self.spec.k // self.spec.groups

    @property
    def flat(self) -> bool:
        """A product of matrices: positions come a tile at a time, fours of each after the other."""
        s = self.spec
        whole = s.groups == 1 or self.channels % GROUP == 0
        return whole and not any(s.pads) and (s.kh, s.kw, s.strides) == (1, 1, (1, 1))

    @property
    def taps(self) -> int:
        """Runs of values in a kernel row."""
        s = self.spec
        return 1 if s.groups == 1 and s.dilations[1] == 1 else s.kw

    @property
    def run(self) -> int:
        """Values of a run."""
        return self.channels if self.taps == self.spec.kw else self.spec.kw * self.spec.c

    @property
    def steps(self) -> int:
        """Fours of K in a run."""
        return padded(self.run, GROUP) // GROUP

    @property
    def row_length(self) -> int:
        return self.spec.line(self.flat)

    @property
    def extent(self) -> int:
        return -(-self.row_length // self.mr) if self.flat else self.spec.n * self.rows.places

    def over_input(self) -> int | None:
        if not self.flat and self.rows.classes > 1:
            return None  # rows are visited in another order
        return distance_bytes(self.spec, self.mr if self.flat else self.spec.ow)

    @property
    def rows(self) -> RowsShape:
        return RowsShape(self.spec)

    @property
    def even(self) -> bool:
        """Whether every run starts at an even element."""
        s = self.spec
        apart = [s.strides[1] * s.c] + ([s.dilations[1] * s.c] if self.taps > 1 else [])
        apart += [self.channels] if s.groups > 1 else []
        return self.flat or not any(count % 2 for count in apart)

    @property
    def overlaps(self) -> bool:
        """Whether the last block takes some columns again instead of being narrower: all blocks
        share one code then. A residual may lie where the output does, so it is read once only."""
        return not self.spec.residual and self.outputs >= self.nr

    @property
    def starts(self) -> np.ndarray:
        """First column of every block of a group of channels."""
        starts = np.arange(0, self.outputs, self.nr)
        return np.minimum(starts, self.outputs - self.nr) if self.overlaps else starts

    @property
    def block_bytes(self) -> int:
        return self.nr * (8 + GROUP * self.spec.kh * self.taps * self.steps)

    @property
    def group_bytes(self) -> int:
        """Of the blocks of a group of channels."""
        return len(self.starts) * self.block_bytes

    @property
    def narrow(self) -> bool:
        """A single row is read where it lies: widened, it would be used once only per column."""
        return self.flat and self.mr == self.row_length == 1 and self.channels % GROUP == 0

    def loop(self, rows: int) -> Loop:
        """The inner loop of a tile of `rows` positions."""
        s = self.spec
        if self.narrow:
            return Loop(1, self.nr, 1, 0, self.steps, GROUP, 0, even=True, narrow=True)
        if self.flat:
            return Loop(rows, self.nr, 1, 0, self.steps, 2 * GROUP * rows, 2 * GROUP, True)
        return Loop(rows, self.nr, s.kh, 2 * self.rows.row_elements, self.steps, 2 * GROUP,
                    2 * s.strides[1] * s.c, self.even, taps=self.taps,
                    tap_bytes=2 * s.dilations[1] * s.c)

    def tile(self, rows: int, used: int) -> Tile | None:
        """A tile of `rows` positions of whose columns `used` exist; none where the end is not
        assembled: with a residual, or with positions of the output far apart."""
        tile = Tile(self.loop(rows), used, self.spec.k, self.spec.clamp)
        return tile if tile.reaches and not self.spec.residual else None

    def scratch_bytes(self) -> int:
        if self.flat:
            return 0 if self.narrow else 2 * self.mr * padded(self.spec.c, GROUP)
        return 2 * self.rows.elements

    def accepts(self) -> str | None:
        if self.spec.depthwise and self.spec.groups > 1:
            return "depthwise convolutions have their own kernels"
        if self.row_length < self.mr:
            return f"fewer than {self.mr} positions in a row"
        if not self.loop(self.mr).reaches:
            return "positions are too far apart for one pointer"
        return None

    def cost(self) -> float:
        """Estimated instructions."""
        spec = self.spec
        rows = 1 if self.flat else spec.n * spec.oh
        blocks = spec.groups * len(self.starts)
        whole, rest = divmod(self.row_length, self.mr)
        brought = spec.n * spec.h * spec.w * spec.c * 1.8
        tiles = whole * self._tile_cost(self.mr) + (self._tile_cost(rest) if rest else 0)
        return rows * blocks * tiles + brought

    def _tile_cost(self, mr: int) -> float:
        kh, again = self.spec.kh, 1 if self.loop(mr).written else self.taps
        step = 2 * mr * self.nr + (mr if self.even else 2 * mr) + 2.5 * self.nr + 2
        end = 10 if self.spec.residual else 14 if self.spec.clamp else 8
        return kh * (self.taps * self.steps * step + 6 * again) + mr * self.nr * end + 20

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec = self.spec
        weights = np.asarray(constants["weights"]).reshape(spec.k, spec.kh * self.taps, self.run)
        total = weights.sum(axis=(1, 2), dtype=np.int64)
        bias = np.asarray(constants["bias"], np.int64) - int(constants["input_zero_point"]) * total
        scale = np.asarray(constants["scale"], np.float32)
        full = np.zeros((*weights.shape[:2], self.steps * GROUP), np.int8)
        full[..., : self.run] = weights
        parts = [header(constants, spec.clamp, spec.residual, Dsp())]
        for first in range(0, spec.k, self.outputs):
            some = slice(first, first + self.outputs)
            parts.append(self._blocks(wrapped(bias[some]), scale[some], full[some]))
        return np.concatenate(parts)

    def _blocks(self, bias: np.ndarray, scale: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The blocks of a group of channels, as bytes; columns that it lacks are zeros."""
        columns = np.add.outer(self.starts, np.arange(self.nr)).ravel()
        kept, chosen = columns < self.outputs, columns[columns < self.outputs]
        head = np.zeros((2, len(columns)), np.int32)
        head[0, kept] = bias[chosen]
        head.view(np.float32)[1, kept] = scale[chosen]
        words = np.zeros((len(columns), weights.shape[1] * self.steps, GROUP), np.int8)
        words[kept] = weights[chosen].reshape(-1, *words.shape[1:])
        if not self.flat:  # as SXTB16 takes weights apart, so it does activations
            words = words[..., [0, 2, 1, 3]]
        blocks = len(self.starts)
        heads = head.reshape(2, blocks, self.nr).transpose(1, 0, 2)
        packed = words.reshape(blocks, self.nr, -1, GROUP).transpose(0, 2, 1, 3)
        parts = [np.ascontiguousarray(p.reshape(blocks, -1)).view(np.uint8)
                 for p in (heads, packed)]
        return np.concatenate(parts, axis=1).ravel()
