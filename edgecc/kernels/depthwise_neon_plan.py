"""Everything about a depthwise row on plain NEON that packing, cost and code must agree on.

Packed constants: header; a word for every block of channels, not 0 if sums become int8 in fixed
point (`fixed_point.py`); then for each of `bands` the blocks as its statement reads them. The last
block takes some channels again instead of being narrower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgecc.kernels import edges, fixed_point
from edgecc.kernels.depthwise_plan import refused
from edgecc.kernels.int8_packing import HEADER_BYTES, header, wrapped
from edgecc.kernels.isa import neon_walk
from edgecc.kernels.isa.neon import NeonEnd
from edgecc.kernels.isa.neon_walk import MOST_ROWS, WIDTHS, End, Walk
from edgecc.kernels.isa.neon_walk_lines import executed
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.ring import COPY_LANES, padded
from edgecc.kernels.spec import Conv2d

AROUND = 35  # instructions of an output row outside its statements, by the listing
BETWEEN = 13  # the same of a block
NARROW = 12
"""Outputs of a row, from which on edges have rows of their own: of 3x3 they save 26 instructions
an output column for 704 bytes of constants, in each block."""
SLOWER = 1.25
"""Cycles of an instruction here by those of one in a kernel of dot products, on a core that has
both (scheduling model of Neoverse N1: 26.5 cycles for 47 instructions, 23.1 for 51)."""


@dataclass(frozen=True)
class Band:
    """The rows of the kernel, [first, end), that output row `y` takes; all others if None."""

    first: int
    end: int
    y: int | None = None

    @property
    def rows(self) -> slice:
        return slice(self.first, self.end)


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution, a row of some channels at a time."""

    spec: Conv2d

    @property
    def isa(self) -> NeonEnd:
        return NeonEnd()

    def walk(self, width: int, end: End = "fixed", band: Band | None = None) -> Walk:
        spec, band = self.spec, band or self.bands[0]
        return Walk(band.end - band.first, spec.kw, spec.strides[1], spec.ow, spec.pads[1],
                    spec.w, width, spec.clamp, end)

    @cached_property
    def bands(self) -> list[Band]:
        spec, found = self.spec, edges.edges(self.spec)
        above, below = map(len, found or ((), ()))
        if max(above, below) == spec.kh or spec.ow < NARROW:
            above = below = 0
        return [Band(0, spec.kh), *([Band(above, spec.kh, 0)] if above else []),
                *([Band(0, spec.kh - below, spec.oh - 1)] if below else [])]

    @property
    def shared(self) -> list[list[Band]]:
        """Bands by their number of rows: those of one number share statements."""
        counts = dict.fromkeys(band.end - band.first for band in self.bands)
        return [[band for band in self.bands if band.end - band.first == count]
                for count in counts]

    @property
    def real(self) -> End:
        """How sums become int8 where fixed point does not give the same."""
        return "short" if self.spec.short_sums else "long"

    @cached_property
    def width(self) -> int:
        """Channels of a block; 0 if no window of any fits the registers."""
        return next((width for width in WIDTHS if width <= self.spec.c
                     and self.walk(width, self.real).registers is not None), 0)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """(first channel, width) of every block."""
        whole, rest = divmod(self.spec.c, self.width)
        found = [(i * self.width, self.width) for i in range(whole)]
        if rest:
            width = WIDTHS[-1] if rest <= WIDTHS[-1] else self.width
            found.append((self.spec.c - width, width))
        return found

    def at(self, band: Band) -> int:
        """Where the blocks of a band begin in the packed constants, in bytes."""
        before = self.bands[: self.bands.index(band)]
        blocks = sum(self.walk(width, band=each).block_bytes
                     for each in before for _, width in self.blocks)
        return HEADER_BYTES + padded(4 * len(self.blocks), 16) + blocks

    @property
    def extent(self) -> int:
        return self.spec.n * self.spec.oh

    def scratch_bytes(self) -> int:
        above, _, below, _ = self.spec.pads
        blank = (above or below) and len(self.bands) == 1
        return padded(self.spec.w * self.spec.c, COPY_LANES) if blank else 0

    def over_input(self) -> int | None:
        return distance_bytes(self.spec, self.spec.ow)

    def accepts(self) -> str | None:
        s = self.spec
        if reason := refused(s):
            return reason
        if s.wide_weights:
            return "a weight of -128 could overflow the int16 sum of two products"
        if s.dilations[1] > 1 or s.strides[1] > s.kw:
            return "columns of the window are apart, or windows are"
        if s.kh > MOST_ROWS or not self.width:
            return "the window does not fit the registers, or there are fewer than 8 channels"
        return None

    def cost(self) -> float:
        """Instructions as they are written, beside those of kernels of dot products."""
        spec, others = self.spec, len(self.bands) - 1
        walked = sum((spec.oh - others if band.y is None else 1)
                     * sum(executed(self.walk(width, band=band)) + BETWEEN
                           for _, width in self.blocks) for band in self.bands)
        filled = 3 * self.scratch_bytes() / COPY_LANES
        return SLOWER * (spec.n * (spec.oh * AROUND + walked) + filled)

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec, found = self.spec, fixed_point.fitted(constants, self.spec.clamp)
        blocks = [slice(first, first + width) for first, width in self.blocks]
        fixed = np.zeros((self.at(self.bands[0]) - HEADER_BYTES) // 4, np.int32)
        fixed[: len(blocks)] = [found.holds[some].all() for some in blocks]
        parts = [header(constants, spec.clamp, spec.residual, self.isa), fixed.view(np.uint8)]
        return np.concatenate([*parts, *(
            self._block(band, some, constants, found if holds else None)
            for band in self.bands for some, holds in zip(blocks, fixed, strict=False))])

    def _block(self, band: Band, some: slice, constants: Mapping[str, Any],
               fixed: fixed_point.FixedPoint | None) -> np.ndarray:
        """One block as the statement reads it."""
        spec = self.spec
        weights = np.asarray(constants["weights"]).reshape(spec.c, spec.kh, spec.kw)
        weights = weights[some, band.rows]
        zero = int(constants["input_zero_point"])
        bias = np.asarray(constants["bias"], np.int64)[some]
        scale = np.asarray(constants["scale"], np.float32)[some]
        if fixed:
            bias, scale = bias + fixed.offset[some], fixed.multiplier[some].astype(np.int32)
        walk, wide = self.walk(len(bias), band=band), weights.astype(np.int64)
        biases = [bias - zero * (wide.sum(axis=(1, 2)) - sum(wide[:, ky, kx] for ky, kx in left))
                  for left in (frozenset(), *walk.edges)]
        return np.concatenate([part.view(np.uint8) for part in (
            wrapped(biases[0]), scale, self._woven(weights), *map(wrapped, biases[1:]))])

    def _woven(self, weights: np.ndarray) -> np.ndarray:
        """The weights of a block, interleaved as positions are."""
        _, *window = weights.shape
        parts = [np.stack([weights[:, ky, kx] for ky, kx in pair], axis=1).ravel()
                 for pair in neon_walk.pairs(*window)]
        tap = neon_walk.single(*window)
        if tap:
            parts.append(weights[:, tap[0], tap[1]])
        woven = np.concatenate(parts)
        return np.pad(woven, (0, -len(woven) % 16))
