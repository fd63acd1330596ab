"""Convolutions that are a product of matrices: all positions, which lie one after the other, times
the channels of one block of columns after the other.

Where an instruction set wants activations in a form of its own, a panel of positions at a time is
copied to scratch in that form, before all of its tiles: once, instead of in the inner loop of
every block.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from edgecc.kernels.conv2d_plan import Plan
from edgecc.kernels.int8_packing import HEADER_BYTES, block_bytes
from edgecc.kernels.ring import in_vectors


class Flat:
    """Emits the loops over positions and columns; `code` (of conv2d_int8) emits tiles."""

    def __init__(self, k: Any, plan: Plan, code: Any):
        self.k, self.plan, self.code = k, plan, code
        self.whole, self.rest = divmod(plan.row_length, plan.mr)
        self.tile_elements = plan.mr * plan.spec.c

    def emit(self) -> None:
        from edgecc.kernels import tir

        begin, end, tiles = self.k.begin, self.k.end, self.plan.part_tiles
        if self.plan.by_columns:
            self._some_blocks(begin, end)
        elif tiles >= self.plan.row_tiles:
            self._some_rows(begin, end)
        else:
            with tir.loop(0, (end - begin + (tiles - 1)) // tiles) as turn:
                first = tir.let(begin + turn * tiles)
                self._some_rows(first, tir.let(tir.T.min(first + tiles, end)))

    def _some_rows(self, begin: Any, end: Any) -> None:
        """The tiles of positions [begin, end) by all blocks of columns."""
        from edgecc.kernels import tir

        rows = (begin, tir.T.min(end, self.whole))
        rest = end > tir.T.max(begin, self.whole)
        self._fill(rows, rest)
        self.code.every_block(0, rows, rest, partial(self._tiles, begin))

    def _some_blocks(self, begin: Any, end: Any) -> None:
        """All positions by the blocks of columns [begin, end)."""
        from edgecc.kernels import tir

        plan, columns = self.plan, self.plan.columns
        size = block_bytes(plan.isa, plan.nr, plan.depth)
        rows = (0, self.whole)

        def block(j: Any, widths: tuple[int, int]) -> None:
            self._tiles(0, 0, rows, None, HEADER_BYTES + j * size, j * plan.nr, widths)

        self._fill(rows, None)
        if columns.whole:
            with tir.loop(begin, tir.T.min(end, columns.whole)) as j:
                block(j, (plan.nr, plan.nr))
        if columns.rest:
            with tir.when(end > tir.T.max(begin, columns.whole)):
                block(columns.whole, (columns.rest_width, columns.rest))

    def _tiles(self, origin: Any, group: Any, rows: Any, with_rest: Any, block: Any, channel: Any,
               widths: Any) -> None:
        """The tiles from rows[0] to rows[1] of one block, then the rest if `with_rest` holds
        (None: it does). A panel begins with tile `origin`."""
        from edgecc.kernels import tir

        spec, plan = self.plan.spec, self.plan

        def tile(t: Any, count: int) -> None:
            place = t - origin if plan.panelled else t
            self.code.tile(count, widths, block, (tir.T.int32(0), place * self.tile_elements),
                           t * (plan.mr * spec.k) + channel)

        self._each(rows, with_rest, tile)

    def _fill(self, rows: Any, with_rest: Any) -> None:
        """Copy the positions of those tiles to the panel, if there is one."""
        from edgecc.kernels import tir

        isa = self.plan.isa

        def copy(t: Any, count: int) -> None:
            source, target = t * self.tile_elements, (t - rows[0]) * self.tile_elements

            def move(at: Any, lanes: int) -> None:
                values = tir.load(self.k.inputs[0], source + at, lanes)
                tir.store(self.k.scratch, target + at, isa.to_activation(values, lanes), lanes)

            in_vectors(count * self.plan.spec.c, move, isa.copy_lanes)

        if self.plan.panelled:
            self._each(rows, with_rest, copy)

    def _each(self, rows: Any, with_rest: Any, body: Any) -> None:
        """body(t, positions) for the whole tiles rows[0] to rows[1], and for the rest."""
        from edgecc.kernels import tir

        if self.whole:
            with tir.loop(*rows) as t:
                body(t, self.plan.mr)
        if self.rest and with_rest is None:
            body(self.whole, self.rest)
        elif self.rest:
            with tir.when(with_rest):
                body(self.whole, self.rest)
