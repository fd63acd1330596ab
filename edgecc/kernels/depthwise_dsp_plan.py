"""Depthwise convolutions on Cortex-M's DSP instructions: tiles, blocks, scratch, cost, packing.

A block of channels goes through the whole image before the next one does, so that scratch holds
the rows of a few channels only. Rows are widened once, into a ring whose slots stay where they
are.

Packed constants: header, then per channel bias int32, scale float32 and the weights: of every
kernel row four bytes for two words (`isa/dsp_pairs.py`), rows of the first two words first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgecc.kernels.depthwise_plan import refused
from edgecc.kernels.int8_packing import header, wrapped
from edgecc.kernels.isa import dsp_pairs
from edgecc.kernels.isa.dsp import Dsp
from edgecc.kernels.isa.dsp_pairs import FARTHEST, HEAD_BYTES, Sums
from edgecc.kernels.isa.dsp_widen import CHANNELS, Blank, Widening
from edgecc.kernels.overlap import distance_bytes, same_place
from edgecc.kernels.ring import padded
from edgecc.kernels.spec import Conv2d

SPARED = 1.05  # instructions of a block of channels over the best block's, for less scratch
MOST_ROWS = 8  # of a kernel: each takes a register of the FPU
AROUND = 45  # instructions of a block outside its loops, per output row and per row brought in


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution in tiles of up to `mr` neighbouring outputs."""

    spec: Conv2d
    mr: int

    @property
    def tile(self) -> int:
        return min(self.mr, self.spec.ow)

    @property
    def columns(self) -> int:
        """Of the padded image, as far as outputs need them."""
        spec = self.spec
        return (spec.ow - 1) * spec.strides[1] + (spec.kw - 1) * spec.dilations[1] + 1

    @property
    def words(self) -> int:
        """Pairs of columns in a row."""
        return padded(self.columns, 2) // 2

    @property
    def row_bytes(self) -> int:
        return 4 * self.words

    @property
    def slots(self) -> int:
        """Rows in the ring: those that meet in an output row lie together."""
        return self.spec.dilations[0] * self.spec.kh

    @property
    def channel_bytes(self) -> int:
        return self.slots * self.row_bytes

    @cached_property
    def block(self) -> int:
        """Channels at a time: few, for less scratch, unless that costs. The last block takes some
        again instead of being smaller."""
        sizes = [*range(CHANNELS, self.spec.c, CHANNELS), self.spec.c]
        costs = {size: self._cost(size) for size in sizes}
        return next(size for size in sizes if costs[size] <= SPARED * min(costs.values()))

    @property
    def blocks(self) -> int:
        return -(-self.spec.c // self.block)

    @property
    def extent(self) -> int:
        return self.spec.n * self.blocks

    def over_input(self) -> int | None:
        """On it: a block's rows are in scratch when they are written, and no other block takes
        some of its channels again. A single block goes by rows."""
        if same_place(self.spec) and self.spec.c % self.block == 0:
            return 0
        return distance_bytes(self.spec, self.spec.ow) if self.blocks == 1 else None

    def sums(self, outputs: int) -> Sums:
        spec = self.spec
        return Sums(outputs, spec.kh, spec.kw, spec.strides[1], spec.dilations[1],
                    self.row_bytes, self.channel_bytes, spec.c,
                    spec.short_sums and not spec.clamp, spec.clamp)

    @cached_property
    def tiles(self) -> list[Sums]:
        """Of a whole tile and of the rest."""
        rest = self.spec.ow % self.tile
        return [self.sums(outputs) for outputs in (self.tile, rest) if outputs]

    @property
    def widening(self) -> Widening:
        spec = self.spec
        return Widening(self.columns, spec.pads[1], spec.w, spec.c, self.channel_bytes)

    @property
    def blank(self) -> Blank:
        return Blank(self.words, self.channel_bytes)

    @property
    def weight_bytes(self) -> int:
        """Of a channel, with its bias and scale."""
        return HEAD_BYTES + 4 * self.spec.kh * self.tiles[0].groups

    def scratch_bytes(self) -> int:
        return self.block * self.channel_bytes

    def accepts(self) -> str | None:
        s = self.spec
        if reason := refused(s):
            return reason
        if s.c < CHANNELS:
            return f"fewer than {CHANNELS} channels"
        if s.kh > MOST_ROWS:
            return f"{s.kh} kernel rows are more than {MOST_ROWS}"
        if s.ow > self.tile and self.tile * s.strides[1] % 2:
            return f"tiles of {self.tile} outputs begin on odd columns"
        farthest = max(self.tiles[0].reach, (self.tile - 1) * s.c)
        if farthest > FARTHEST or not self.widening.reaches:
            return "values are too far apart for one pointer"
        return None

    def cost(self) -> float:
        """Instructions, as they are written."""
        return self._cost(self.block)

    def _cost(self, block: int) -> float:
        """The same for blocks of so many channels."""
        spec, rows = self.spec, min(self.spec.strides[0], self.slots)
        whole, rest = divmod(spec.ow, self.tile)
        tiles = whole * self._tile_lines[0] + (self._tile_lines[1] if rest else 0)
        widened = -(-block // CHANNELS) * self._widening_lines
        row = AROUND + block * tiles + 8 * (whole + (rest > 0)) + rows * (AROUND + widened)
        return spec.n * -(-spec.c // block) * spec.oh * row

    @cached_property
    def _tile_lines(self) -> list[int]:
        return [len(tile.lines) for tile in self.tiles]

    @cached_property
    def _widening_lines(self) -> int:
        """Of a row of four channels."""
        return self.widening.executed

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec = self.spec
        weights = np.asarray(constants["weights"]).reshape(spec.c, spec.kh, spec.kw)
        total = weights.sum(axis=(1, 2), dtype=np.int64)
        bias = np.asarray(constants["bias"], np.int64) - int(constants["input_zero_point"]) * total
        head = np.zeros((spec.c, 2), np.int32)
        head[:, 0] = wrapped(bias)
        head.view(np.float32)[:, 1] = np.asarray(constants["scale"], np.float32)
        parts = [head.view(np.uint8), self._words(weights).reshape(spec.c, -1).view(np.uint8)]
        return np.concatenate([header(constants, spec.clamp, spec.residual, Dsp()),
                               np.concatenate(parts, axis=1).ravel()])

    def _words(self, weights: np.ndarray) -> np.ndarray:
        """(channels, groups, kernel rows, 4): the bytes that SXTB16 makes two words of."""
        spec = self.spec
        found = dsp_pairs.words(spec.kw, spec.dilations[1], spec.strides[1])
        taps = np.zeros((*weights.shape[:2], padded(len(found), 2), 2), np.int8)
        for word, halves in enumerate(found):
            for half, tap in enumerate(halves):
                if tap is not None:
                    taps[:, :, word, half] = weights[:, :, tap]
        groups = taps.reshape(*weights.shape[:2], -1, 2, 2)
        return np.ascontiguousarray(groups.transpose(0, 2, 1, 4, 3))
