"""Register tiles that multiply and add in float16, for cores with such vectors.

Sums of LONGEST products are halves; longer ones are added up in float32, in scratch: the error of
a sum of n halves grows as sqrt(n / 2) units, so it stays that of a few roundings whatever the
layer. With 64 products instead of 48 FastestDet errs by 2.9 % of its largest value instead of 1.3,
and a DS-CNN, whose 64 channels are one sum then, takes 7 % fewer instructions; with 32 a ResNet-8
takes 11 % more. Weights are scaled by a power of two such that the magnitudes of any LONGEST
neighbours sum to a half at most: then no sum exceeds half the largest activation, and none becomes
infinite that would not be in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edgecc.kernels.elementwise import pieces, word
from edgecc.kernels.float_tile import HEADER_BYTES, FloatIsa, Shape, Taps
from edgecc.kernels.halves import Halves

LONGEST = 48  # products that are summed in float16
FLUSH = 7  # instructions that add a vector of halves to its float32 sums
SCALE_WORD = 2  # of the header

ISAS = (FloatIsa("neon_fp16", frozenset({"neon", "fp16"}), 8, 2, 16, by_lane=True, half=True),)


def is_long(taps: int) -> bool:
    """Whether a sum of so many products is added up in float32."""
    return taps > LONGEST


def scaled(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Halves (outputs, taps) times a power of two, and what undoes it."""
    sums = np.cumsum(np.abs(weights.astype(np.float64)), axis=1)
    sums[:, LONGEST:] -= sums[:, :-LONGEST].copy() if is_long(weights.shape[1]) else 0.0
    largest = float(sums.max(initial=0.0))
    power = int(np.ceil(np.log2(2 * largest))) if np.isfinite(largest) and largest > 0 else 0
    return np.ldexp(weights.astype(np.float32), -power).astype(np.float16), float(2.0**power)


def wrap_ends(k: Any) -> None:
    """Outputs and residual of a kernel of halves are written and read as float32."""
    k.inputs[1:] = [Halves(buffer, "float16") for buffer in k.inputs[1:]]
    k.outputs[:] = [Halves(buffer, "float16") for buffer in k.outputs]


class HalfTile:
    """As float_tile.Tile; float32 sums lie in scratch from `sums_at` bytes on."""

    def __init__(self, k: Any, shape: Shape, source: Any, taps: int, step: int, groups: int,
                 sums_at: int) -> None:
        self.k, self.shape, self.source, self.taps, self.step = k, shape, source, taps, step
        self.biases = k.weights("float32", HEADER_BYTES)
        self.weights = k.weights("float16", HEADER_BYTES + 4 * groups * shape.blocks * shape.block)
        self.scale = word(k, SCALE_WORD, "float32")
        self.sums = k.area("float32", sums_at) if is_long(taps) else None
        self.weights_at: Any = 0
        self.rows = self.columns = 0
        self.acc: Any = None

    def emit(self, index: Any, rows: int, valid: int, taps: Taps, finish: Any) -> None:
        """Block `index` (counted through all groups); finish(value, row, channel, lanes)."""
        from edgecc.kernels import tir

        s = self.shape
        self.rows, self.columns = rows, -(-valid // s.lanes)
        self.acc = tir.local(rows * self.columns * s.lanes, "float16")
        self.weights_at = tir.let(index * (self.taps * s.block))
        self._clear()
        if self.sums is not None:
            self._start(index)
        taps(self._run)
        for r in range(rows):
            for at, lanes in pieces(valid, s.lanes):
                place = r * self.columns * s.lanes + at
                value = tir.load(self.sums, place, lanes) if self.sums is not None else (
                    self._wide(place, lanes) + tir.load(self.biases, index * s.block + at, lanes))
                finish(value, r, at, lanes)

    def _places(self) -> list[int]:
        return [i * self.shape.lanes for i in range(self.rows * self.columns)]

    def _clear(self) -> None:
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        for place in self._places():
            tir.store(self.acc, place, tir.splat(tir.T.float16(0.0), lanes), lanes)

    def _start(self, index: Any) -> None:
        """float32 sums start with the biases."""
        from edgecc.kernels import tir

        s = self.shape
        for c in range(self.columns):
            bias = tir.let(tir.load(self.biases, index * s.block + c * s.lanes, s.lanes))
            for r in range(self.rows):
                tir.store(self.sums, (r * self.columns + c) * s.lanes, bias, s.lanes)

    def _wide(self, place: int, lanes: int) -> Any:
        """Halves of the accumulators as the float32 sums that they stand for."""
        from edgecc.kernels import tir

        half = tir.load(self.acc, place, lanes)
        return tir.T.cast(half, tir.vector("float32", lanes)) * tir.splat(self.scale, lanes)

    def _flush(self) -> None:
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        for place in self._places():
            total = tir.load(self.sums, place, lanes) + self._wide(place, lanes)
            tir.store(self.sums, place, total, lanes)
        self._clear()

    def _run(self, source: Any, first: Any, count: int) -> None:
        """Multiply `count` neighbouring taps, `first` being the first one's number."""
        from edgecc.kernels import tir

        if self.sums is None:
            self._steps(source, first, count)
            return
        parts = -(-count // LONGEST)
        size = -(-count // (parts * 8)) * 8
        whole, rest = divmod(count, size)
        if whole:
            with tir.loop(0, whole) as part:
                self._steps(source + part * size, first + part * size, size)
                self._flush()
        if rest:
            self._steps(source + whole * size, first + whole * size, rest)
            self._flush()

    def _steps(self, source: Any, first: Any, count: int) -> None:
        from edgecc.kernels import tir

        group = self.shape.isa.lanes if self.shape.isa.by_lane else 1
        whole = count // group
        if whole:
            with tir.loop(0, whole) as turn:
                self._step(source + turn * group, first + turn * group, group)
        if count % group:
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
                    tir.store(self.acc, place, acc + tir.splat(one, lanes) * weight, lanes)
