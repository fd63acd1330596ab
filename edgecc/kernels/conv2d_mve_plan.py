"""Everything about an MVE convolution that packing, cost and code must agree on.

Packed constants: header, bias int32 and scale float32 of all columns (whole vectors), then per
`nr` columns weights [steps][nr][16], padded with zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.int8_packing import header, wrapped
from edgecc.kernels.isa.mve import Mve
from edgecc.kernels.isa.mve_loop import STEP, Loop
from edgecc.kernels.mve_end import LANES
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.ring import RingShape, padded
from edgecc.kernels.spec import Conv2d

FEW_COLUMNS = 24  # the same for a single row: a small layer's scratch is most of its memory
MOST_COLUMNS = 96  # whose sums are kept in scratch at a time; a multiple of 4 and of every tile


@dataclass(frozen=True)
class Plan:
    """A convolution in tiles of `mr` positions by `nr` output channels."""

    spec: Conv2d
    mr: int
    nr: int

    @property
    def ringed(self) -> bool:
        return any(self.spec.pads)

    @property
    def flat(self) -> bool:
        """Positions of all rows in one row: 1x1, no stride, no padding."""
        s = self.spec
        return not self.ringed and (s.kh, s.kw, s.strides) == (1, 1, (1, 1))

    @property
    def direct(self) -> bool:
        """Windows lie in the input as the tile reads them."""
        s = self.spec
        return not self.ringed and (s.kh, s.kw) == (1, 1) and s.c % STEP == 0

    @property
    def values(self) -> int:
        return self.spec.kh * self.spec.kw * self.spec.c

    @property
    def steps(self) -> int:
        return padded(self.values, STEP) // STEP

    @property
    def blocks(self) -> int:
        return -(-self.spec.k // self.nr)

    @property
    def ring(self) -> RingShape:
        return RingShape(self.spec)

    @property
    def row_length(self) -> int:
        """Positions that tiles run over."""
        return self.spec.line(self.flat)

    @property
    def extent(self) -> int:
        return -(-self.row_length // self.mr) if self.flat else self.spec.n * self.spec.oh

    def over_input(self) -> int | None:
        return distance_bytes(self.spec, self.mr if self.flat else self.spec.ow)

    @property
    def columns_kept(self) -> int:
        return min(MOST_COLUMNS if self.mr > 1 else FEW_COLUMNS, padded(self.spec.k, 12))

    @property
    def ring_bytes(self) -> int:
        return self.ring.elements if self.ringed else 0

    @property
    def window_bytes(self) -> int:
        return 0 if self.direct else self.mr * self.steps * STEP

    @property
    def loop(self) -> Loop:
        return Loop(self.mr, self.nr, self.steps, self.columns_kept)

    def scratch_bytes(self) -> int:
        return self.ring_bytes + self.window_bytes + 4 * self.mr * self.columns_kept

    def accepts(self) -> str | None:
        if self.spec.groups > 1:
            return "grouped convolutions have other kernels"
        if self.row_length < self.mr:
            return f"fewer than {self.mr} positions in a row"
        return None

    def cost(self) -> float:
        """Estimated instructions."""
        spec = self.spec
        rows = 1 if self.flat else spec.n * spec.oh
        tiles = rows * -(-self.row_length // self.mr)
        block = self.steps * (self.mr * self.nr + self.mr + self.nr) + self.mr * self.nr * 0.6 + 6
        gather = 0 if self.direct else self.mr * (2.0 * self.steps + 10)
        outputs = rows * self.row_length * spec.k
        return (tiles * (self.blocks * block + gather + 10 * self.mr + 10)
                + outputs * (5.0 if spec.residual else 3.0)
                + (rows * spec.w * spec.c / 8 if self.ringed else 0))

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec, columns = self.spec, self.blocks * self.nr
        weights = np.asarray(constants["weights"]).reshape(spec.k, -1)
        total = weights.sum(axis=1, dtype=np.int64)
        head = np.zeros((2, padded(spec.k, LANES)), np.int32)
        bias = np.asarray(constants["bias"], np.int64)
        head[0, : spec.k] = wrapped(bias - int(constants["input_zero_point"]) * total)
        head.view(np.float32)[1, : spec.k] = np.asarray(constants["scale"], np.float32)
        full = np.zeros((columns, self.steps * STEP), np.int8)
        full[: spec.k, : self.values] = weights
        blocks = full.reshape(self.blocks, self.nr, self.steps, STEP).transpose(0, 2, 1, 3)
        parts = [header(constants, spec.clamp, spec.residual, Mve()), head.view(np.uint8).ravel(),
                 np.ascontiguousarray(blocks).view(np.uint8).ravel()]
        return np.concatenate(parts)
