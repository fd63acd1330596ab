"""Everything about an int8 convolution that packing, cost and code must agree on.

One segment is a run of contiguous activations: a whole kernel row of all channels, or one
position's channels when the convolution is dilated or grouped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.edges import Edges, edges
from edgecc.kernels.int8_packing import Columns, block_bytes, header, pack_blocks, wrapped
from edgecc.kernels.isa import base
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.patches import LOAD, Patches
from edgecc.kernels.ring import RingShape, padded
from edgecc.kernels.spec import Conv2d

UNROLLED_ROWS = 3  # kernel rows written out where what runs innermost is one statement
PANEL_BYTES = 1 << 14  # half a small first cache
FEW_TILES = 8  # fewer tiles of rows than this are no work for several threads
PART_TILES = 8  # on cores without vectors: a block of columns costs some 20 instructions anew


@dataclass(frozen=True)
class Plan:
    """A convolution in tiles of `mr` positions by `nr` output channels."""

    spec: Conv2d
    isa: base.Isa
    mr: int
    nr: int

    @property
    def flat(self) -> bool:
        """A matrix product of all positions by the channels: 1x1, no stride, no padding."""
        s = self.spec
        return ((s.kh, s.kw, s.strides) == (1, 1, (1, 1)) and s.groups == 1 and not any(s.pads))

    @property
    def panelled(self) -> bool:
        """Whether a matrix product's positions are copied to scratch, a panel at a time."""
        return self.flat and not self.direct

    @property
    def panel_tiles(self) -> int:
        """Tiles of a panel: all of them where the panel is for other blocks of columns than
        another thread's, else as many as stay in the first cache beside a block of weights."""
        size = self.mr * self.spec.c * np.dtype(self.isa.activation_dtype).itemsize
        most = self.row_tiles if self.by_columns else max(1, PANEL_BYTES // size)
        panels = -(-self.row_tiles // most)
        return -(-self.row_tiles // panels)

    @property
    def part_tiles(self) -> int:
        """Tiles of a matrix product that one block of columns after the other takes: a panel; on
        cores without vectors few, so that what was read may be overwritten soon; else all."""
        if self.panelled:
            return self.panel_tiles
        return min(PART_TILES, self.row_tiles) if self.isa.lanes == 1 else self.row_tiles

    @property
    def panel_elements(self) -> int:
        """Of the longest panel, and what a padded last position may read past it."""
        positions = min(self.panel_tiles * self.mr, self.row_length)
        return positions * self.spec.c + self.isa.group

    @property
    def patched(self) -> bool:
        """Whether the windows of a row are laid side by side first."""
        s = self.spec
        return (self.isa.assembled and self.joined and s.kh > 1 and s.dilations[0] == 1
                and s.kw * s.c <= LOAD)

    @property
    def patches(self) -> Patches:
        return Patches(self.spec, self.ring.elements)

    @property
    def kernel_rows(self) -> int:
        """Rows of the kernel that are apart in memory."""
        return 1 if self.patched else self.spec.kh

    @property
    def rows_written(self) -> bool:
        """Whether the rows of the kernel are written out, not a loop."""
        return self.kernel_rows <= (UNROLLED_ROWS if self.isa.assembled else 1)

    @property
    def direct(self) -> bool:
        return (self.isa.reads_input and not any(self.spec.pads) and not self.patched
                and self.segment % self.isa.group == 0)

    @property
    def joined(self) -> bool:
        """All positions of a kernel row are one segment."""
        return self.spec.groups == 1 and self.spec.dilations[1] == 1

    @property
    def shared(self) -> bool:
        """Whether a tile loads each position of a kernel row once for all the taps it is under:
        if accumulators, positions and a batch of weights fit the registers."""
        s = self.spec
        positions = (self.mr - 1) * s.strides[1] + s.kw
        held = self.mr * self.nr // self.isa.lanes + positions + 4
        return (self.isa.shares_taps and self.joined and s.kw > 1 and not self.patched
                and s.c % self.isa.group == 0 and held <= self.isa.registers)

    @property
    def segment(self) -> int:
        if self.patched:
            return self.patches.values
        channels = self.spec.c // self.spec.groups
        return channels * self.spec.kw if self.joined else channels

    @property
    def segments_per_row(self) -> int:
        return 1 if self.joined else self.spec.kw

    @property
    def depth(self) -> int:
        per_row = self.segments_per_row * padded(self.segment, self.isa.group)
        return self.kernel_rows * per_row

    @property
    def columns(self) -> Columns:
        count = self.spec.k // self.spec.groups
        return Columns(count, self.nr, self.isa.fitted(count % self.nr).lanes)

    @property
    def group_bytes(self) -> int:
        """Packed bytes of one group of output channels."""
        blocks = self.columns.blocks()
        return sum(block_bytes(self.isa, width, self.depth) for _, width, _ in blocks)

    @property
    def edges(self) -> Edges | None:
        """What the first and the last output row leave out, if they alone have kernel rows
        outside the image."""
        fits = (self.isa.leaves_rows_out and self.joined and not self.patched
                and self.spec.groups == 1 and (self.rows_written or not self.isa.assembled))
        return edges(self.spec) if fits else None

    @property
    def edge_bias_bytes(self) -> int:
        """The bias of an edge's output row: of all columns, as the blocks have them."""
        return 4 * sum(width for _, width, _ in self.columns.blocks())

    @property
    def ring(self) -> RingShape:
        """The slack is what a padded last segment may read past the last row."""
        return RingShape(self.spec, slack=LOAD if self.patched else self.isa.group)

    @property
    def row_length(self) -> int:
        """Output positions that one parallel iteration's tiles run over."""
        return self.spec.line(self.flat)

    @property
    def row_tiles(self) -> int:
        """Tiles that cover the positions of one parallel iteration's row, or of all rows."""
        return -(-self.row_length // self.mr)

    @property
    def by_columns(self) -> bool:
        """Whether the parallel loop is the one over blocks of columns, for want of rows."""
        return (self.flat and self.row_tiles < FEW_TILES
                and len(self.columns.blocks()) > self.row_tiles)

    @property
    def extent(self) -> int:
        if self.by_columns:
            return len(self.columns.blocks())
        return self.row_tiles if self.flat else self.spec.n * self.spec.oh

    def over_input(self) -> int | None:
        if self.by_columns:
            return None
        run = self.mr * self.part_tiles if self.flat else self.spec.ow
        return distance_bytes(self.spec, run)

    def scratch_bytes(self) -> int:
        if self.direct:
            return 0
        elements = self.panel_elements if self.panelled else self.ring.elements
        elements += self.patches.elements if self.patched else 0
        return elements * np.dtype(self.isa.activation_dtype).itemsize

    def cost(self) -> float:
        """Estimated instructions: multiplies, loads, loop and requantization of every tile."""
        isa, spec = self.isa, self.spec
        length = self.row_length + (self.row_length % self.mr % 2 if isa.row_pairs else 0)
        rows = length * (1 if self.flat else spec.n * spec.oh)
        steps = self.depth / isa.chunk(isa.piece)
        tails = self.row_length // self.mr + (self.row_length % self.mr > 0)
        tiles = tails * (1 if self.flat else spec.n * spec.oh)
        total = 0.0
        for _, width, _ in self.columns.blocks():
            isa = self.isa if width == self.nr else self.isa.fitted(width)
            vectors = width / (isa.columns or isa.lanes)
            sums = -(-self.mr // isa.rows_joined)
            spill = 1.0 if sums * vectors + sums + 2 <= isa.registers else 2.0
            per_tile = steps * vectors * isa.column_cost + self.mr * vectors + 12
            loads = steps * isa.chunk(isa.piece) / isa.piece
            per_row = steps * vectors * isa.multiply_cost + loads + width / isa.lanes * 5.5 + 4
            total += spill * (tiles * per_tile + rows * per_row)
        copied = 0 if self.direct else rows * spec.strides[0] * spec.strides[1] * spec.c / 8
        copied += rows * 2 * spec.kh if self.patched else 0
        penalty = 1.0 if isa.fast else 3.0
        return spec.groups * total * penalty + copied

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec = self.spec
        parts = [header(constants, spec.clamp, spec.residual, self.isa)]
        segments = self.kernel_rows * self.segments_per_row
        weights = self._ordered(np.asarray(constants["weights"])).reshape(spec.k, segments, -1)
        per_group = spec.k // spec.groups
        for first in range(0, spec.k, per_group):
            chosen = weights[first : first + per_group]
            parts.append(pack_blocks(self.isa, self.columns, chosen, constants, first))
        if self.edges:
            parts += [self._edge_bias(constants, rows) for rows in self.edges]
        return np.concatenate(parts)

    def _edge_bias(self, constants: Mapping[str, Any], rows: frozenset[int]) -> np.ndarray:
        """The bias where `rows` of the kernel are left out. Bytes."""
        kept = [ky for ky in range(self.spec.kh) if ky not in rows]
        weights = np.asarray(constants["weights"], np.int64).reshape(self.spec.k, self.spec.kh, -1)
        zero = int(constants["input_zero_point"]) + self.isa.activation_offset
        bias = np.asarray(constants["bias"], np.int64) - zero * weights[:, kept].sum(axis=(1, 2))
        out = np.zeros(self.edge_bias_bytes // 4, np.int32)
        out[: self.spec.k] = wrapped(bias)
        return out.view(np.uint8)

    def _ordered(self, weights: np.ndarray) -> np.ndarray:
        """Weights (k, kh, kw, c) in the order of the multiply steps along every kernel row."""
        if not self.shared:
            return weights
        rows = weights.shape[:2]
        pieces = [weights[..., at : at + length].reshape(*rows, -1)
                  for at, length in self.isa.widths(self.spec.c)]
        return np.concatenate(pieces, axis=2)

    def accepts(self) -> str | None:
        if self.spec.depthwise and self.spec.groups > 1:
            return "depthwise convolutions have their own kernels"
        if self.isa.narrow_weights and self.spec.wide_weights:
            return "a weight of -128 could overflow the int16 sum of two products"
        if 0 < self.isa.longest_sum < self.depth:
            return "the sum of so many products could overflow half of an accumulator"
        return None
