"""What float32 convolutions and matrix products share: instruction sets as register tiles, packed
constants, and the tile itself (rows of pixels by vectors of output channels)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from edgecc.kernels.elementwise import bounded, header, joined, pieces, word

MOST_ROWS = 12
CACHE_WAY = 4096  # bytes: 64 sets of 64 B
CACHE_LINES = 8  # of a set
HEADER_BYTES = 16  # lo, hi, the scale of halves, a word of nothing


@dataclass(frozen=True)
class FloatIsa:
    """Lanes of a float32 vector; the most vectors of output channels in a tile, and the most
    accumulators (rows times vectors). `by_lane`: multiply by one lane of a vector of activations
    rather than by a value loaded into all lanes. `half`: the vectors are of float16, which
    half_tile.py multiplies. `weight`: what its instructions count in costs, beside those of the
    core's other instruction sets. `wants`: see KernelRecord."""

    name: str
    requires: frozenset[str]
    lanes: int
    columns: int
    accumulators: int
    by_lane: bool = False
    half: bool = False
    weight: float = 1.0
    wants: frozenset[str] = frozenset({"vectors"})


RVV_GROUPS = ((2, 2, 12), (4, 1, 7), (8, 1, 3))  # registers of a vector, columns, accumulators

ISAS = (
    FloatIsa("generic", frozenset(), 4, 2, 8),
    FloatIsa("scalar", frozenset(), 1, 4, 16, wants=frozenset()),
    FloatIsa("neon", frozenset({"neon"}), 4, 4, 16, by_lane=True),
    *(FloatIsa(f"rvv{bits}", frozenset({f"rvv{bits}"}), bits // 32 * group, columns, accumulators)
      for bits in (128, 256) for group, columns, accumulators in RVV_GROUPS),
    FloatIsa("avx2", frozenset({"avx2", "fma"}), 8, 2, 12),
    FloatIsa("avx512", frozenset({"avx512f", "avx512bw", "avx512vl"}), 16, 2, 24),
)


@dataclass(frozen=True)
class Shape:
    """The tile of one layer: `outputs` channels (of a group) and `pixels` in a line, which are
    `apart` elements from one another (0: not known)."""

    isa: FloatIsa
    outputs: int
    pixels: int
    apart: int = 0

    @property
    def lanes(self) -> int:
        lanes = self.isa.lanes
        while lanes >= 2 * self.outputs and lanes > 1:
            lanes //= 2
        return lanes

    @property
    def columns(self) -> int:
        """Vectors side by side; more of them when there are too few pixels to fill a tile."""
        most = max(self.isa.columns, self.isa.accumulators // 2 // self.pixels)
        return min(most, -(-self.outputs // self.lanes))

    @property
    def block(self) -> int:
        return self.lanes * self.columns

    @property
    def blocks(self) -> int:
        return -(-self.outputs // self.block)

    @property
    def rows(self) -> int:
        """Pixels in a tile: as many as fit, evened out over the line."""
        most = max(1, min(self.isa.accumulators // self.columns, self._most_rows))
        tiles = -(-self.pixels // most)
        return -(-self.pixels // tiles)


    @property
    def _most_rows(self) -> int:
        """Pixels whose values a first-level cache holds side by side: those a multiple of
        CACHE_WAY apart compete for the few lines of one set."""
        alike = self.apart and self.apart * (2 if self.isa.half else 4) % CACHE_WAY == 0
        return CACHE_LINES if alike else MOST_ROWS


def pack(
    shape: Shape, groups: int, clamp: bool, weights: np.ndarray, constants: Mapping[str, Any],
    scale: float = 0.0,
) -> np.ndarray:
    """lo, hi and what halves are scaled by; bias, a float for every column of every block; weights,
    of their own type, (group, block, tap, column), zero beyond the last output channel.

    Shapes: weights (groups * outputs, taps).
    """
    limits = (constants["lo"], constants["hi"]) if clamp else (0.0, 0.0)
    front = header(np.float32(limits[0]), np.float32(limits[1]), np.float32(scale), 0)
    wide, taps = shape.blocks * shape.block, weights.shape[1]
    bias = np.zeros((groups, wide), np.float32)
    bias[:, :shape.outputs] = np.asarray(constants["bias"]).reshape(groups, shape.outputs)
    padded = np.zeros((groups, wide, taps), weights.dtype)
    padded[:, :shape.outputs] = weights.reshape(groups, shape.outputs, taps)
    blocks = padded.reshape(groups, shape.blocks, shape.block, taps).transpose(0, 1, 3, 2)
    return joined(front, bias, blocks)


class Epilogue:
    """Residual, clamp and store of accumulators."""

    def __init__(self, k: Any, clamp: bool, residual: bool) -> None:
        self.k, self.residual = k, residual
        self.limits = [word(k, i, "float32") for i in range(2)] if clamp else None

    def __call__(self, value: Any, at: Any, lanes: int) -> None:
        from edgecc.kernels import tir

        if self.residual:
            value = value + tir.load(self.k.inputs[1], at, lanes)
        if self.limits:
            value = bounded(value, self.limits[0], self.limits[1], lanes)
        tir.store(self.k.outputs[0], at, value, lanes)


Taps = Callable[[Callable[[Any, Any, int], None]], None]
"""Calls back with (source offset of the line's first pixel, first tap, count) for every run of
taps that lie side by side in the source."""


class Tile:
    """One tile: `rows` pixels, `step` source elements apart, by `valid` output channels. `dtype`
    is that of the weights, which follow the biases of all `groups`."""

    sum_dtype: ClassVar[str] = "float32"

    def __init__(self, k: Any, shape: Shape, source: Any, taps: int, step: int, groups: int,
                 dtype: str) -> None:
        self.k, self.shape, self.source, self.taps, self.step = k, shape, source, taps, step
        self.biases = k.weights("float32", HEADER_BYTES)
        self.weights = k.weights(dtype, HEADER_BYTES + 4 * groups * shape.blocks * shape.block)
        self.weights_at: Any = 0
        self.rows = self.columns = 0
        self.acc: Any = None

    def emit(self, index: Any, rows: int, valid: int, taps: Taps, finish: Any) -> None:
        """Block `index` (counted through all groups); finish(value, row, channel, lanes)."""
        from edgecc.kernels import tir

        s = self.shape
        self.rows, self.columns = rows, -(-valid // s.lanes)
        self.acc = tir.local(rows * self.columns * s.lanes, self.sum_dtype)
        self.weights_at = tir.let(index * (self.taps * s.block))
        self.begin(index)
        taps(self.run)
        for r in range(rows):
            for at, lanes in pieces(valid, s.lanes):
                finish(self.total(index, r, at, lanes), r, at, lanes)

    def begin(self, index: Any) -> None:
        """Accumulators start with the biases of block `index`."""
        self.start(self.acc, index)

    def start(self, sums: Any, index: Any) -> None:
        from edgecc.kernels import tir

        s = self.shape
        for c in range(self.columns):
            bias = tir.let(tir.load(self.biases, index * s.block + c * s.lanes, s.lanes))
            for r in range(self.rows):
                tir.store(sums, (r * self.columns + c) * s.lanes, bias, s.lanes)

    def total(self, index: Any, row: int, at: int, lanes: int) -> Any:
        """The float32 sums of a row's channels from `at` on."""
        from edgecc.kernels import tir

        return tir.load(self.acc, row * self.columns * self.shape.lanes + at, lanes)

    def run(self, source: Any, first: Any, count: int) -> None:
        """Multiply `count` neighbouring taps, `first` being the first one's number."""
        from edgecc.kernels import tir

        group = self.shape.isa.lanes if self.shape.isa.by_lane else 1
        whole = count // group
        if whole:
            with tir.loop(0, whole) as turn:
                self._step(source + turn * group, first + turn * group, group)
        rest = count - whole * group
        if rest:
            with tir.loop(whole * group, count) as tap:
                self._step(source + tap, first + tap, 1)

    def _step(self, source: Any, tap: Any, group: int) -> None:
        from edgecc.kernels import tir

        lanes, block = self.shape.lanes, self.shape.block
        vectors = [tir.let(tir.load(self.source, source + r * self.step, group))
                   for r in range(self.rows)]
        for i in range(group):
            at = self.weights_at + (tap + i) * block
            weights = [tir.let(tir.load(self.weights, at + c * lanes, lanes))
                       for c in range(self.columns)]
            for r, vector in enumerate(vectors):
                one = tir.T.Shuffle([vector], [i]) if group > 1 else vector
                for c, weight in enumerate(weights):
                    place = (r * self.columns + c) * lanes
                    acc = tir.load(self.acc, place, lanes)
                    tir.store(self.acc, place, self.added(acc, one, weight), lanes)

    def added(self, acc: Any, one: Any, weight: Any) -> Any:
        """An accumulator, and what a value times a vector of weights adds to it."""
        from edgecc.kernels import tir

        return acc + tir.splat(one, self.shape.lanes) * weight
