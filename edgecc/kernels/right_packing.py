"""The right operand of a product, brought at run time into the order in which tiles read weights:
blocks of columns, in each K by K step, column by column, the values of a step side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edgecc.kernels.elementwise import pieces
from edgecc.kernels.matmul_plan import Plan
from edgecc.kernels.ring import in_vectors

VECTOR = 16  # bytes that are rearranged at once


class Right:
    """Emits the packing of b into `area`, elements of the instruction set's weights."""

    def __init__(self, k: Any, plan: Plan, area: Any) -> None:
        self.k, self.plan, self.area = k, plan, area
        self.dtype = plan.isa.weight_dtype
        self.down, self.across = plan.spec.b_strides[-2:]
        self.chunk = plan.isa.chunk(plan.isa.widths(plan.depth)[0][1])

    def clear(self) -> None:
        """Zeros where b has no values; they stay, whatever is packed."""
        from edgecc.kernels import tir

        plan = self.plan
        if plan.depth == plan.spec.k and plan.wide == plan.spec.n:
            return

        def store(at: Any, lanes: int) -> None:
            tir.store(self.area, at, tir.splat(tir.T.cast(0, self.dtype), lanes), lanes)

        if plan.isa.lanes > 1:
            in_vectors(plan.depth * plan.wide, store, VECTOR)
        else:
            with tir.loop(0, plan.depth * plan.wide) as at:
                store(at, 1)

    def pack(self, b: Any) -> None:
        """The matrix that begins at element `b` of the second input."""
        from edgecc.kernels import tir

        columns, depth = self.plan.columns, self.plan.depth
        if columns.whole:
            with tir.loop(0, columns.whole) as j:
                self._block(tir.let(b + j * (columns.nr * self.across)),
                            tir.let(j * (columns.nr * depth)), columns.nr, columns.nr)
        if columns.rest:
            first = columns.whole * columns.nr
            self._block(tir.let(b + first * self.across), first * depth, columns.rest_width,
                        columns.rest)

    def _block(self, b: Any, to: Any, width: int, used: int) -> None:
        """`used` columns from element b on, into a block of `width` from element `to` on."""
        from edgecc.kernels import tir

        chunk, done = self.chunk, 0
        whole = self.plan.spec.k // chunk
        if self.plan.isa.lanes > 1 and self.across == 1 and whole:
            with tir.loop(0, whole) as step:
                at = tir.let(b + step * (chunk * self.down))
                self._interleave(at, tir.let(to + step * (chunk * width)), used)
            done = whole * chunk
        elif self.plan.isa.lanes > 1 and self.down == 1 and chunk > 1:
            done = self._turn(b, to, width, used)
        self._singly(b, to, done, width, used)

    def _interleave(self, b: Any, to: Any, used: int) -> None:
        """One step of K of adjacent columns: as many rows of b, woven together."""
        from edgecc.kernels import tir

        chunk = self.chunk
        for j, lanes in pieces(used, VECTOR):
            rows = [self._load(b + i * self.down + j, lanes) for i in range(chunk)]
            for v, vector in enumerate(woven(rows, lanes)):
                tir.store(self.area, to + j * chunk + v * lanes, vector, lanes)

    def _turn(self, b: Any, to: Any, width: int, used: int) -> int:
        """Columns whose values are adjacent, vectors of K at a time; how many of K are done."""
        from edgecc.kernels import tir

        chunk, run = self.chunk, max(VECTOR // np.dtype(self.dtype).itemsize, self.chunk)
        together = run // chunk
        whole = self.plan.spec.k // run
        if not whole or used % together:
            return 0
        with tir.loop(0, whole) as i, tir.loop(0, used // together) as j:
            at = tir.let(b + j * (together * self.across) + i * run)
            target = tir.let(to + i * (run * width) + j * run)
            unit = f"int{8 * chunk * np.dtype(self.dtype).itemsize}"
            units = [tir.T.reinterpret(tir.vector(unit, together),
                                       self._load(at + c * self.across, run))
                     if together > 1 else self._load(at, run) for c in range(together)]
            for step, vector in enumerate(woven(units, together)):
                values = tir.T.reinterpret(tir.vector(self.dtype, run), vector) if (
                    together > 1) else vector
                tir.store(self.area, target + step * (chunk * width), values, run)
        return whole * run

    def _singly(self, b: Any, to: Any, first: int, width: int, used: int) -> None:
        """Value by value, from value `first` of K on."""
        from edgecc.kernels import tir

        k, chunk = self.plan.spec.k, self.chunk
        whole = k // chunk
        if first < whole * chunk:
            with tir.loop(first // chunk, whole) as step:
                self._step(b, tir.let(to + step * (chunk * width)), step * chunk, chunk, used)
        if k % chunk:
            at, length = next((at, n) for at, n in self.plan.isa.widths(self.plan.depth)
                              if at <= whole * chunk < at + n)
            self._step(b, to + whole * chunk * width, whole * chunk, k % chunk, used,
                       self.plan.isa.chunk(length))

    def _step(self, b: Any, to: Any, start: Any, count: int, used: int, chunk: int = 0) -> None:
        """`count` values of K of every column, from value `start` on."""
        from edgecc.kernels import tir

        with tir.loop(0, used) as j, tir.loop(0, count) as i:
            value = self._load(b + (start + i) * self.down + j * self.across, 1)
            tir.store(self.area, to + j * (chunk or self.chunk) + i, value)

    def _load(self, at: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        value = tir.load(self.k.inputs[1], at, lanes)
        return tir.let(tir.T.cast(value, tir.vector(self.dtype, lanes)))


def woven(vectors: list[Any], lanes: int) -> list[Any]:
    """Vectors whose number is a power of two, transposed: first the first elements of all, then
    the second ones. Each round shuffles the whole like a deck of cards."""
    count = len(vectors)
    while count > 1:
        half, deck = len(vectors) // 2, []
        for first, second in zip(vectors[:half], vectors[half:], strict=True):
            deck += _riffled(first, second, lanes)
        vectors, count = deck, count // 2
    return vectors


def _riffled(first: Any, second: Any, lanes: int) -> list[Any]:
    from edgecc.kernels import tir

    if lanes == 1:
        return [first, second]
    order = [n for i in range(lanes) for n in (i, lanes + i)]
    return [tir.let(tir.T.Shuffle([first, second], part))
            for part in (order[:lanes], order[lanes:])]
