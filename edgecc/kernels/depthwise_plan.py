"""Everything about an int8 depthwise convolution that packing, cost and code must agree on.

Packed constants: header, then per block of channels bias int32, scale float32 and the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.int8_packing import header, wrapped
from edgecc.kernels.isa import base, dotprod, woven
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.ring import RingShape, padded
from edgecc.kernels.spec import Conv2d

Quad = tuple[tuple[int, int] | None, ...]  # four taps as (ky, column), None where there is none
NOT_DEPTHWISE = "not a depthwise convolution of multiplier 1"
BLOCK = 16  # channels at a time
MOST_LINES = 16  # of a dotprod kernel: each takes a pointer
FARTHEST = 32760  # bytes that a load of eight can be away from its pointer


def refused(spec: Conv2d) -> str | None:
    """Why a depthwise kernel whose sums become int8 inside its loop does not take a layer."""
    if not spec.depthwise:
        return NOT_DEPTHWISE
    return "sums do not leave the loop before they are int8" if spec.residual else None


def block_of(isa: base.Isa) -> int:
    """Channels at a time: one where each needs a register of its own, for more rows in a tile."""
    return max(BLOCK, isa.lanes) if isa.lanes > 1 else 1


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution in tiles of `mr` neighbouring outputs."""

    spec: Conv2d
    isa: base.Isa
    mr: int

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """(first channel, width, channels in use) of every block."""
        c, step = self.spec.c, block_of(self.isa)
        found = [(i, step) for i in range(0, c - c % step, step)]
        at = len(found) * step
        while at < c:
            width = self.isa.fitted(c - at).lanes
            while width * 2 <= c - at:
                width *= 2
            found.append((at, width))
            at += width
        return found

    @property
    def ring(self) -> RingShape:
        return RingShape(self.spec, slack=max(BLOCK, self.isa.lanes))

    @property
    def ringed(self) -> bool:
        """Whether rows go through scratch: to pad them, or to let a last vector run over."""
        return any(self.spec.pads) or sum(width for _, width in self.blocks) > self.spec.c

    @property
    def extent(self) -> int:
        return self.spec.n * self.spec.oh

    def over_input(self) -> int | None:
        return distance_bytes(self.spec, self.spec.ow)

    def shifts(self) -> list[int]:
        """0, and 1 where some output of a tile starts on an odd column."""
        starts = [i * self.spec.strides[1] % 2 for i in range(self.mr)]
        plain = self.spec.kw == 1 or self.spec.dilations[1] > 1
        return [0] if plain else sorted(set(starts))

    def weight_bytes(self) -> int:
        """Packed weight bytes per channel."""
        if isinstance(self.isa, dotprod.DotProd):
            return sum(4 * len(quads(self.spec, shift)) for shift in self.shifts())
        return self.spec.kh * self.spec.kw

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec = self.spec
        weights = np.asarray(constants["weights"]).reshape(spec.c, spec.kh, spec.kw)
        raw = base.Isa()  # activations are used as they are on every instruction set
        parts = [header(constants, spec.clamp, spec.residual, raw)]
        zero_point = int(constants["input_zero_point"])
        total = weights.sum(axis=(1, 2), dtype=np.int64)
        bias = np.asarray(constants["bias"], np.int64) - zero_point * total
        for first, width in self.blocks:
            used = min(width, spec.c - first)
            head = np.zeros((2, width), np.int32)
            head[0, :used] = wrapped(bias[first : first + used])
            head.view(np.float32)[1, :used] = np.asarray(constants["scale"])[first : first + used]
            block = np.zeros((width, spec.kh, spec.kw), np.int8)
            block[:used] = weights[first : first + used]
            packed = self._packed_weights(block)
            parts += [head.view(np.uint8).ravel(), packed, np.zeros(-packed.size % 4, np.uint8)]
        return np.concatenate(parts)

    def block_bytes(self, width: int) -> int:
        """Packed bytes of a block of channels: whole words, so that the next one is aligned."""
        return padded(width * (8 + self.weight_bytes()), 4)

    def _packed_weights(self, block: np.ndarray) -> np.ndarray:
        if not isinstance(self.isa, dotprod.DotProd):
            return np.ascontiguousarray(block.transpose(1, 2, 0)).view(np.uint8).ravel()
        variants = [quad_weights(self.spec, block, shift) for shift in self.shifts()]
        return np.concatenate([v.view(np.uint8).ravel() for v in variants])

    def accepts(self) -> str | None:
        spec = self.spec
        if not spec.depthwise:
            return NOT_DEPTHWISE
        if isinstance(self.isa, dotprod.DotProd) and spec.c % 8:
            return f"{spec.c} channels are not a multiple of 8"
        if isinstance(self.isa, dotprod.DotProd):
            return self._unwoven()
        return None

    def _unwoven(self) -> str | None:
        """Why the dotprod statement cannot be written."""
        spec = self.spec
        if spec.kh > MOST_LINES:
            return f"{spec.kh} kernel rows are more pointers than {MOST_LINES}"
        columns = (self.mr - 1) * spec.strides[1] + (spec.kw - 1) * spec.dilations[1] + 1
        if columns * spec.c > FARTHEST:
            return f"{columns} columns of {spec.c} channels are out of a load's reach"
        try:
            woven.lines(self.work(self.blocks[0][1], min(self.mr, spec.ow)))
        except woven.Full:
            return "the tile does not fit the registers"
        return None

    def work(self, width: int, rows: int) -> woven.Work:
        """The products of a tile, by quads: an output that starts on an odd column takes the quad
        of the even one before it with its weights shifted. Columns past the last carry weights of
        zero: the last one stands in for them, and for taps that a quad lacks."""
        spec, variants = self.spec, self.shifts()
        last = (rows - 1) * spec.strides[1] + (spec.kw - 1) * spec.dilations[1]
        starts = [4 * width * sum(len(quads(spec, s)) for s in variants[:v])
                  for v in range(len(variants))]
        products = []
        for i in range(rows):
            first = i * spec.strides[1]
            variant = variants.index(first % 2) if len(variants) > 1 else 0
            for q, quad in enumerate(quads(spec, first)):
                present = next(tap for tap in quad if tap)
                taps = tuple((ky, min(x, last)) for ky, x in (tap or present for tap in quad))
                products.append((taps, i, starts[variant] + 4 * width * q))
        products.sort(key=lambda product: (product[0], product[1]))
        return woven.Work(rows, width, spec.c, spec.kh, tuple(products))

    def scratch_bytes(self) -> int:
        return self.ring.elements if self.ringed else 0

    def cost(self) -> float:
        """Estimated instructions: interleaving and products per block and tile, and the copies."""
        spec, isa = self.spec, self.isa
        rows = spec.n * spec.oh
        tiles = rows * -(-spec.ow // self.mr)
        outputs = rows * spec.ow
        block = block_of(self.isa)
        blocks = sum(width / block_of(isa.fitted(width)) for _, width in self.blocks)
        per_tile: float
        per_output: float
        if isinstance(isa, dotprod.DotProd):
            loads, pairs, groups = self._distinct()
            per_tile = loads + 2 * pairs + 4 * groups + 2 * self.weight_bytes() / 4 + 12
            per_output = 4 * len(quads(spec, 0)) + 22
        else:
            per_tile = spec.kh * spec.kw * 8 + 12
            per_output = spec.kh * spec.kw * block / isa.lanes * 3 + 30
        spill = 2.0 if self.mr * block / isa.lanes + 8 > isa.registers else 1.0
        copied = rows * spec.w * spec.c / 8
        return blocks * (tiles * per_tile * spill + outputs * per_output) + copied

    def _distinct(self) -> tuple[int, int, int]:
        """Distinct positions, pairs and quads of one tile."""
        spec = self.spec
        groups = {q for i in range(self.mr) for q in quads(spec, i * spec.strides[1])}
        pairs = {half for q in groups for half in (q[:2], q[2:])}
        return len({p for q in groups for p in q}), len(pairs), len(groups)


def quads(spec: Conv2d, first: int) -> list[Quad]:
    """The groups of four taps of an output whose window starts at column `first` of the tile."""
    if spec.kw == 1 or spec.dilations[1] > 1:
        taps: list[tuple[int, int] | None] = [
            (ky, first + kx * spec.dilations[1]) for kx in range(spec.kw) for ky in range(spec.kh)
        ]
        taps += [None] * (-len(taps) % 4)
        return [tuple(taps[i : i + 4]) for i in range(0, len(taps), 4)]
    even, shift = first - first % 2, first % 2
    found: list[Quad] = []
    for ky in range(spec.kh):
        for q in range(-(-(spec.kw + shift) // 4)):
            found.append(tuple((ky, even + 4 * q + j) for j in range(4)))
    return found


def quad_weights(spec: Conv2d, weights: np.ndarray, shift: int) -> np.ndarray:
    """Weights (c, kh, kw) by quad: (quads, c, 4), zero where a quad's column is no tap."""
    groups = quads(spec, shift)
    out = np.zeros((len(groups), weights.shape[0], 4), np.int8)
    for q, group in enumerate(groups):
        for j, tap in enumerate(group):
            if tap is None:
                continue
            kx, odd = divmod(tap[1] - shift, spec.dilations[1])
            if 0 <= kx < spec.kw and not odd:
                out[q, :, j] = weights[:, tap[0], kx]
    return out
