"""How one float32 or float16 convolution is cut: into lines of pixels, bands of rows, and blocks of
output channels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels import float_tile, half_tile
from edgecc.kernels.float_tile import FloatIsa, Shape
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.ring import RingShape
from edgecc.kernels.spec import Conv2d

LINE = 48  # pixels of a layer that share a pass over the weights
MANY = 8  # lines, from where on the last one may be short
CACHED = 1 << 18  # bytes of weights that stay in a cache from row to row
TALLEST = 8  # rows of a band, if a band twice as tall does not come out even
UNCACHED = frozenset({"generic", "scalar"})  # instruction sets of cores that have no such cache


@dataclass(frozen=True)
class Plan:
    """How one layer is computed on one instruction set."""

    spec: Conv2d
    isa: FloatIsa

    @property
    def pointwise(self) -> bool:
        s = self.spec
        return ((s.kh, s.kw, s.groups) == (1, 1, 1) and s.strides == (1, 1) and not any(s.pads))

    @property
    def pixels(self) -> int:
        """Pixels of all lines together, or of a line where lines are rows."""
        return self.spec.line(self.pointwise)

    @property
    def line(self) -> int:
        """Pixels that tiles run over; of a pointwise layer whole tiles, about LINE in all."""
        if not self.pointwise or self.pixels <= LINE:
            return self.pixels
        lines = self.pixels / LINE
        count = math.ceil(lines) if lines >= MANY else round(lines)
        tiles = -(-self.pixels // self._shape(LINE).rows)
        per_line = -(-tiles // count)
        return min(self.pixels, per_line * -(-self.pixels // (count * per_line)))

    @property
    def band(self) -> int:
        """Output rows that take turns over a block of weights: where those of a row would not be
        in a cache for the next, as many as make LINE pixels, with a last band as tall as others."""
        s = self.spec
        cached = self.isa.name in UNCACHED or self._weight_bytes < CACHED
        if cached or self.pointwise or s.groups > 1:
            return 1
        least = min(s.oh, max(2, LINE // s.ow), TALLEST)
        return min(range(least, min(s.oh, 2 * least) + 1),
                   key=lambda rows: (-(-s.oh // rows) * rows, rows))

    @property
    def _weight_bytes(self) -> int:
        return self.taps * self.spec.k * np.dtype(self.spec.dtype).itemsize

    @property
    def bands(self) -> int:
        s = self.spec
        if self.pointwise:
            return -(-self.pixels // self.line)
        return s.n * -(-s.oh // self.band)

    @property
    def shares(self) -> int:
        """Parts of a band that threads take."""
        return self.shape.blocks if self.spec.groups == 1 else 1

    @property
    def extent(self) -> int:
        return self.bands * self.shares

    def over_input(self) -> int | None:
        return distance_bytes(self.spec, self.line if self.pointwise else self.band * self.spec.ow)

    @property
    def ringed(self) -> bool:
        return any(self.spec.pads)

    @property
    def shape(self) -> Shape:
        return self._shape(self.line)

    def _shape(self, pixels: int) -> Shape:
        s = self.spec
        return Shape(self.isa, s.k // s.groups, pixels, s.c * s.strides[1])

    @property
    def taps(self) -> int:
        s = self.spec
        return s.kh * s.kw * s.c // s.groups

    @property
    def ring(self) -> int:
        """Elements of the ring of rows."""
        return self.ring_shape.elements if self.ringed else 0

    @property
    def ring_shape(self) -> RingShape:
        return RingShape(self.spec, band=self.band)

    @property
    def sums(self) -> int:
        """float32 sums in scratch: where those of halves are too long to stay halves."""
        shape = self.shape
        return shape.rows * shape.block if self.isa.half and half_tile.is_long(self.taps) else 0

    @property
    def scratch_bytes(self) -> int:
        return (2 if self.isa.half else 4) * self.ring + 4 * self.sums

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        s, scale = self.spec, 0.0
        weights = np.asarray(constants["weights"], s.dtype).reshape(s.k, -1)
        if self.isa.half:
            weights, scale = half_tile.scaled(weights)
        return float_tile.pack(self.shape, s.groups, s.clamp, weights, constants, scale)

    def cost(self) -> float:
        """Instructions: multiplies over the lanes in use, and what surrounds them."""
        s, shape = self.spec, self.shape
        filled = shape.outputs / (shape.blocks * shape.block)
        per_vector = 1 + 1 / shape.columns + 1 / shape.rows
        if self.sums:
            per_vector += half_tile.FLUSH / half_tile.LONGEST
        copies = s.n * s.h * s.w * s.c / 4 if self.ringed else 0
        products = s.macs * per_vector / shape.lanes / filled
        return 50 + products * self.isa.weight + copies
