"""RISC-V V 1.0: VWMACC.VX, int16 times int16 into int32.

A row of weights is widened to int16 once and multiplied by one activation per row of the tile.
An accumulator is a group of registers: the more columns it has, the fewer instructions there are
per column, and the fewer rows find room. A last block of few columns takes a narrower group.
Source: RISC-V "V" Vector Extension, version 1.0, §3.4.2 and §11.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, cast

import numpy as np

from edgecc.kernels.isa.base import MAGIC, Isa

REGISTERS = 32


class Rvv(Isa):
    """What all lengths of registers share; `least` lanes are two registers of int32."""

    least: ClassVar[int]
    column_cost: ClassVar[float] = 3.0
    turns: ClassVar[int] = 3  # with four, weights on their way are spilled
    fast: ClassVar[bool] = True
    leaves_rows_out: ClassVar[bool] = True

    def fitted(self, columns: int) -> Isa:
        lanes, kind = self.least, cast(Any, type(self))
        while lanes < min(columns, self.lanes):
            lanes *= 2
        return _of_lanes(kind, lanes)

    def crowded(self, rows: int, columns: int, values: int) -> bool:
        """Of `least` lanes, int32 take two registers, int16 one, int8 half of one."""
        groups, columns = columns // self.lanes, self.lanes // self.least
        sums, wide, narrow = 2 * columns, columns, max(columns // 2, 1)
        return groups * (rows * sums + values * narrow) + wide > REGISTERS

    def parts(self, count: int) -> list[tuple[int, int]]:
        """At once: vectors are as long as they are said to be."""
        return [(0, count)] if count > 0 else []

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        """One int16 scalar kept in a local: a cast alone would move behind the broadcast."""
        from edgecc.kernels import tir

        held = tir.local(1, "int16")
        tir.store(held, 0, tir.T.cast(tir.load(buffer, offset), "int16"))
        return [held[0]]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        wide = tir.vector("int32", self.lanes)
        spread = tir.T.cast(tir.splat(activation, self.lanes), wide)
        return acc + tir.T.cast(weights, wide) * spread

    def inner(self, value: Any, params: Any) -> Any:
        return self.rounded(self._bounded(value, params.inner_lo, params.inner_hi))

    def narrow(self, values: Sequence[Any], params: Any, clamp: bool) -> list[tuple[Any, int]]:
        """The rounded value is in the low bits of value + MAGIC; its zero point is added last."""
        from edgecc.kernels import tir

        whole, byte = tir.vector("int32", self.lanes), tir.vector("int8", self.lanes)
        magic = tir.splat(tir.T.float32(MAGIC), self.lanes)
        zero_point = tir.splat(tir.T.cast(params.zero_point, "int8"), self.lanes)
        bits = [tir.T.reinterpret(whole, self._bounded(value, params.lo, params.hi) + magic)
                for value in values]
        return [(tir.T.cast(each, byte) + zero_point, self.lanes) for each in bits]

    def _bounded(self, value: Any, low: Any, high: Any) -> Any:
        """One instruction per bound: a comparison and a choice would hold the bounds in vectors."""
        from edgecc.kernels import tir

        kind, suffix = tir.vector("float32", self.lanes), f"v{self.lanes}f32"
        above = tir.llvm(kind, f"llvm.maxnum.{suffix}", value, tir.splat(low, self.lanes))
        return tir.llvm(kind, f"llvm.minnum.{suffix}", above, tir.splat(high, self.lanes))


@cache
def _of_lanes(kind: Any, lanes: int) -> Rvv:
    """`kind` with accumulators of `lanes` columns."""
    made: Rvv = type(f"{kind.__name__}Of{lanes}", (kind,), {"lanes": lanes})()
    return made


class Pairs(Rvv):
    """For one row: two products are summed in int16 from int8 weights as they are, so no weight
    is widened and half as many int32 are added. Two pairs in turn share the changes of width."""

    group: ClassVar[int] = 4
    piece: ClassVar[int] = 4
    turns: ClassVar[int] = 1
    multiply_cost: ClassVar[float] = 9.5
    column_cost: ClassVar[float] = 8.0
    narrow_weights: ClassVar[bool] = True

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        one = super().load
        return [[one(buffer, offset + i, 1)[0] for i in range(width)]]

    def arranged(self, steps: np.ndarray) -> np.ndarray:
        """All columns of a vector for the first activation, then for the second, and so on."""
        *outer, width, group = steps.shape
        vectors = steps.reshape(*outer, width // self.lanes, self.lanes, group)
        return vectors.swapaxes(-1, -2).reshape(steps.shape)

    def column(self, weights: Any, offset: Any, chunk: int) -> Any:
        from edgecc.kernels import tir

        return [tir.let(tir.load(weights, offset + i * self.lanes, self.lanes))
                for i in range(chunk)]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        half, wide = tir.vector("int16", self.lanes), tir.vector("int32", self.lanes)
        products = [tir.T.cast(w, half) * tir.splat(a, self.lanes)
                    for a, w in zip(activation, weights, strict=True)]
        for first, second in zip(products[::2], products[1::2], strict=True):
            acc = acc + tir.T.cast(first + second, wide)
        return acc


class Rvv256(Rvv):
    """VLEN 256. 32 columns: an accumulator is a group of four registers, so eight of them exist."""

    name: ClassVar[str] = "rvv256"
    requires: ClassVar[frozenset[str]] = frozenset({"rvv256"})
    least: ClassVar[int] = 16
    lanes: ClassVar[int] = 32
    registers: ClassVar[int] = 16


class Rvv256Half(Rvv256):
    """16 columns, for layers with fewer outputs and taller tiles."""

    lanes: ClassVar[int] = 16
    registers: ClassVar[int] = 30
    turns: ClassVar[int] = 2  # the activations of 14 rows need registers too


class Rvv256Double(Rvv256):
    """64 columns: three accumulators, and the weights in the group that is left."""

    lanes: ClassVar[int] = 64
    registers: ClassVar[int] = 9


class Rvv256Pairs(Pairs, Rvv256Double):
    """Two accumulators, two groups of int16 sums."""


class Rvv128(Rvv):
    """VLEN 128 (or more): half the columns for the same groups."""

    name: ClassVar[str] = "rvv128"
    requires: ClassVar[frozenset[str]] = frozenset({"rvv128"})
    least: ClassVar[int] = 8
    lanes: ClassVar[int] = 16
    registers: ClassVar[int] = 16


class Rvv128Half(Rvv128):
    """8 columns."""

    lanes: ClassVar[int] = 8
    registers: ClassVar[int] = 30
    turns: ClassVar[int] = 2


class Rvv128Double(Rvv128):
    """32 columns."""

    lanes: ClassVar[int] = 32
    registers: ClassVar[int] = 9


class Rvv128Pairs(Pairs, Rvv128Double):
    """32 columns, for one row."""
