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

from typing import Any, ClassVar

import numpy as np

from edgecc.kernels.elementwise import word
from edgecc.kernels.float_tile import RVV_GROUPS, FloatIsa, Shape, Tile
from edgecc.kernels.halves import Halves

LONGEST = 48  # products that are summed in float16
FLUSH = 7  # instructions that add a vector of halves to its float32 sums
SCALE_WORD = 2  # of the header

ISAS = (
    FloatIsa("neon_fp16", frozenset({"neon", "fp16"}), 8, 2, 16, by_lane=True, half=True),
    *(FloatIsa(f"rvv{bits}_zvfh", frozenset({f"rvv{bits}", "zvfh"}), bits // 16 * group, columns,
               accumulators, half=True, weight=0.5)  # as many lanes in half the registers
      for bits in (128, 256) for group, columns, accumulators in RVV_GROUPS),
)


def is_long(taps: int) -> bool:
    """Whether a sum of so many products is added up in float32."""
    return taps > LONGEST


def scaled(weights: np.ndarray, most: int | None = None) -> tuple[np.ndarray, float]:
    """Halves (outputs, taps) times a power of two, and what undoes it: 2^`most` at most."""
    sums = np.cumsum(np.abs(weights.astype(np.float64)), axis=1)
    sums[:, LONGEST:] -= sums[:, :-LONGEST].copy() if is_long(weights.shape[1]) else 0.0
    largest = float(sums.max(initial=0.0))
    power = int(np.ceil(np.log2(2 * largest))) if np.isfinite(largest) and largest > 0 else 0
    power = power if most is None else min(power, most)
    return np.ldexp(weights.astype(np.float32), -power).astype(np.float16), float(2.0**power)


def wrap_ends(k: Any) -> None:
    """Outputs and residual of a kernel of halves are written and read as float32."""
    k.inputs[1:] = [Halves(buffer, "float16") for buffer in k.inputs[1:]]
    k.outputs[:] = [Halves(buffer, "float16") for buffer in k.outputs]


class HalfTile(Tile):
    """As Tile, with sums of halves; float32 sums lie in scratch from `sums_at` bytes on."""

    sum_dtype: ClassVar[str] = "float16"

    def __init__(self, k: Any, shape: Shape, source: Any, taps: int, step: int, groups: int,
                 sums_at: int) -> None:
        super().__init__(k, shape, source, taps, step, groups, "float16")
        self.scale = word(k, SCALE_WORD, "float32")
        self.sums = k.area("float32", sums_at) if is_long(taps) else None

    def begin(self, index: Any) -> None:
        """float32 sums start with the biases, halves at zero."""
        self._clear()
        if self.sums is not None:
            self.start(self.sums, index)

    def added(self, acc: Any, one: Any, weight: Any) -> Any:
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        return tir.fused(tir.splat(one, lanes), weight, acc, tir.vector("float16", lanes))

    def total(self, index: Any, row: int, at: int, lanes: int) -> Any:
        from edgecc.kernels import tir

        place = row * self.columns * self.shape.lanes + at
        if self.sums is not None:
            return tir.load(self.sums, place, lanes)
        bias = tir.load(self.biases, index * self.shape.block + at, lanes)
        return self._wide(place, lanes) + bias

    def run(self, source: Any, first: Any, count: int) -> None:
        """As Tile's, in parts of at most LONGEST taps where sums are long."""
        from edgecc.kernels import tir

        if self.sums is None:
            super().run(source, first, count)
            return
        parts = -(-count // LONGEST)
        size = -(-count // (parts * 8)) * 8
        whole, rest = divmod(count, size)
        if whole:
            with tir.loop(0, whole) as part:
                self._part(source + part * size, first + part * size, size)
        if rest:
            self._part(source + whole * size, first + whole * size, rest)

    def _part(self, source: Any, first: Any, count: int) -> None:
        super().run(source, first, count)
        self._flush()

    def _places(self) -> list[int]:
        return [i * self.shape.lanes for i in range(self.rows * self.columns)]

    def _clear(self) -> None:
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        for place in self._places():
            tir.store(self.acc, place, tir.splat(tir.T.float16(0.0), lanes), lanes)

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
