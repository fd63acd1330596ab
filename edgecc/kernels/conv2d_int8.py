"""int8 convolution, NHWC, any shape: rows of the input times packed weights in register tiles.

Without padding the activations are read where they lie if the instruction set can; otherwise each
thread keeps the rows that the kernel covers in a ring in scratch, padded left and right, so the
inner loop has no bounds to check. 1x1 convolutions are products of matrices (`conv2d_flat.py`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from edgecc.kernels.conv2d_flat import Flat
from edgecc.kernels.conv2d_plan import Plan
from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.edges import between, chosen, inside
from edgecc.kernels.int8_packing import HEADER_BYTES, block_bytes
from edgecc.kernels.int8_parameters import Parameters
from edgecc.kernels.int8_run import Run
from edgecc.kernels.int8_tile import Tile
from edgecc.kernels.isa import (
    avx2,
    avx_vnni,
    base,
    dotprod,
    i8mm,
    mve,
    neon,
    neon32,
    rvv,
    scalar,
    scalar64,
    vnni,
)
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, chained, padded


def build(plan: Plan, symbol: str) -> Any:
    kind = plan.isa.activation_dtype
    scratch = None if plan.direct else (kind, plan.scratch_bytes() // np.dtype(kind).itemsize)
    with open_kernel(plan.spec, symbol, scratch) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one convolution."""

    def __init__(self, k: Any, plan: Plan):
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        self.params = Parameters(k, plan.isa, self.spec.residual, self.spec.short_sums,
                                 self.spec.clamp)
        self.buffer = k.inputs[0] if plan.direct else k.scratch
        pad = tir.T.cast(self.params.pad_value, plan.isa.activation_dtype)
        self.ring = Ring(k, plan.ring, pad, plan.isa.to_activation,
                         vectors=plan.isa.lanes > 1, copy_lanes=plan.isa.copy_lanes)

    def emit(self) -> None:
        from edgecc.kernels import tir

        if self.plan.flat:
            Flat(self.k, self.plan, self).emit()
            return
        if not self.plan.direct:
            self.ring.clear()
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // self.spec.oh), tir.let(row % self.spec.oh)
            if not self.plan.direct:
                self.ring.advance(row == self.k.begin, image, y)
            if self.plan.patched:
                self._fill(y)
            self._groups(row, image, y)

    def _fill(self, y: Any) -> None:
        first = self.ring.slot(y * self.spec.strides[0])
        lines = chained(first, self.spec.kh, self._below)
        self.plan.patches.fill(self.buffer, lines)

    def _groups(self, row: Any, image: Any, y: Any) -> None:
        from edgecc.kernels import tir

        if self.spec.groups == 1:
            self.every_block(0, image, y, partial(self._row_tiles, row))
            return
        with tir.loop(0, self.spec.groups) as group:
            self.every_block(group, image, y, partial(self._row_tiles, row))

    def every_block(self, group: Any, image: Any, y: Any, tiles: Any) -> None:
        """Call tiles(...) for every block of columns: a loop over whole ones, then the rest."""
        from edgecc.kernels import tir

        plan = self.plan
        columns = plan.columns
        start = HEADER_BYTES + group * plan.group_bytes
        channel = group * columns.count
        whole = block_bytes(plan.isa, plan.nr, plan.depth)
        if columns.whole == 1:
            tiles(group, image, y, start, channel, (plan.nr, plan.nr))
        elif columns.whole:
            with tir.loop(0, columns.whole) as j:
                tiles(group, image, y, start + j * whole, channel + j * plan.nr, (plan.nr, plan.nr))
        if columns.rest:
            tiles(group, image, y, start + columns.whole * whole, channel + columns.whole * plan.nr,
                  (columns.rest_width, columns.rest))

    def _row_tiles(self, row: Any, group: Any, image: Any, y: Any, block: Any, channel: Any,
                   widths: Any):
        from edgecc.kernels import tir

        spec, mr = self.spec, self.plan.mr
        whole, rest = divmod(spec.ow, mr)
        out = row * (spec.ow * spec.k) + channel

        def at(x: Any, rows: int, given: Parameters | None = None) -> Parameters:
            return self.tile(rows, widths, block, self._segments(group, image, y, x),
                             out + x * spec.k, self._bias(block, channel, y), y, given)

        given = None
        if whole == 1:
            given = at(0, mr)
        elif whole:
            with tir.loop(0, whole) as t:
                at(t * mr, mr)
        if rest:
            at(whole * mr, rest, given)

    def _segments(self, group: Any, image: Any, y: Any, x: Any) -> Any:
        """(first line, x offset): element offset of the first row's first segment."""
        from edgecc.kernels import tir

        spec, plan = self.spec, self.plan
        across = x * (spec.strides[1] * spec.c) + group * (spec.c // spec.groups)
        line = y * spec.strides[0]
        if plan.edges and not plan.rows_written:
            line += between(spec, plan.edges, y)[0] * spec.dilations[0]
        if plan.patched:
            return tir.T.int32(plan.patches.start), x * plan.patches.pitch
        if plan.direct:
            return (image * spec.h + line) * (spec.w * spec.c), across
        return self.ring.slot(line), across

    def _bias(self, block: Any, channel: Any, y: Any) -> Any:
        """Byte offset of a block's bias: edges have their own, behind all blocks."""
        plan = self.plan
        if not plan.edges:
            return block
        top = HEADER_BYTES + plan.group_bytes + 4 * channel
        return chosen(self.spec, y, top, top + plan.edge_bias_bytes, block)

    def tile(self, rows: int, widths: tuple[int, int], block: Any, where: Any, out: Any,
             bias: Any = None, y: Any = None, given: Parameters | None = None) -> Parameters:
        """`rows` positions by a block of columns (padded width, in use); `where` is the first
        line under the kernel and the offset in it. Takes the parameters that the tile before it
        gave, where there is just one."""
        from edgecc.kernels import tir

        spec, plan = self.spec, self.plan
        isa = plan.isa if widths[0] == plan.nr else plan.isa.fitted(widths[0])
        tile = Tile(isa, rows, *widths)
        size = np.dtype(plan.isa.weight_dtype).itemsize
        first = tir.let((block + 8 * widths[0]) // size)
        acc = tile.start(self.k, block if bias is None else bias)
        run = self._run()
        per_segment = padded(plan.segment, plan.isa.group) * widths[0]

        def row(ky: Any, line: Any) -> None:
            at = first + ky * (plan.segments_per_row * per_segment)
            self._across(lambda kx: tile.accumulate(
                self.k, acc, run, tir.let(line + where[1] + kx * (spec.dilations[1] * spec.c)),
                at + kx * per_segment))

        self._down(where[0], row, y, self._crowded(tile))
        residual = self.k.inputs[1] if spec.residual else None
        params = self._parameters(tile, given)
        tile.finish(self.k, acc, block, params, out, spec.k, spec.clamp, residual)
        return params

    def _crowded(self, tile: Tile) -> bool:
        """Whether a row of the kernel, written out, leaves LLVM few registers."""
        plan = self.plan
        values = padded(plan.segment, plan.isa.group)
        return (plan.segments_per_row == 1 and not tile.turns(self._run())
                and tile.isa.crowded(tile.mr, tile.width, values))

    def _parameters(self, tile: Tile, given: Parameters | None) -> Parameters:
        """What a tile's end takes: what the tile before took, if its vectors stay in registers."""
        if not tile.isa.assembled:
            return self.params
        if given:
            return given.beside(len(tile.untouched(self._run())))
        return self.params.beside(self._untouched())

    def _untouched(self) -> int:
        """Registers that no statement of whole tiles touches, or of any where the rows of a tile
        are in the same loop."""
        plan, run = self.plan, self._run()
        whole, rest = divmod(plan.row_length, plan.mr)
        heights = {plan.mr if whole else 0, 0 if whole > 1 else rest} - {0}
        found = set(range(plan.isa.registers))
        for rows in heights:
            for _, width, used in plan.columns.blocks():
                found &= set(Tile(plan.isa, rows, width, used).untouched(run))
        return len(found)

    def _run(self) -> Run:
        spec, plan = self.spec, self.plan
        if plan.shared:
            return Run(self.buffer, spec.c, spec.c, spec.kw, spec.strides[1])
        if plan.patched:
            return Run(self.buffer, plan.segment, plan.patches.pitch, spare=True)
        stride = 1 if plan.flat else spec.strides[1]
        return Run(self.buffer, plan.segment, spec.c * stride,
                   ends=plan.kernel_rows * plan.segments_per_row == 1)

    def _across(self, segment: Any) -> None:
        from edgecc.kernels import tir

        if self.plan.segments_per_row == 1:
            segment(0)
            return
        with tir.loop(0, self.plan.segments_per_row) as kx:
            segment(kx)

    def _down(self, first: Any, row: Any, y: Any, crowded: bool) -> None:
        """row(ky, element offset of its line) for every row of the kernel that output row y
        has inside the image. `crowded`: the next line is found first, since where that is a
        branch LLVM fetches a whole row in front of it."""
        from edgecc.kernels import tir

        if self.plan.rows_written:
            for ky, line in enumerate(chained(first, self.plan.kernel_rows, self._below)):
                with inside(self.spec, self.plan.edges, ky, y):
                    row(ky, line)
            return
        line = tir.local(1, "int32")
        tir.store(line, 0, first)
        with tir.loop(*between(self.spec, self.plan.edges, y)) as ky:
            here = tir.local(1, "int32")
            tir.store(here, 0, line[0])
            if crowded:
                tir.store(line, 0, self._below(here[0]))
            row(ky, here[0])
            if not crowded:
                tir.store(line, 0, self._below(here[0]))

    def _below(self, line: Any) -> Any:
        """Element offset of the line under the next row of the kernel."""
        spec, down = self.spec, self.spec.dilations[0]
        if self.plan.direct:
            return line + down * spec.w * spec.c
        return self.ring.below(line, down)


TILES: tuple[tuple[base.Isa, tuple[tuple[int, int], ...]], ...] = (
    (i8mm.I8mm(), ((4, 16), (2, 16))),
    (dotprod.DotProd(), ((4, 16), (5, 16), (8, 8), (1, 64))),
    (neon.Neon(), ((4, 4), (1, 16))),
    (neon32.Neon32(), ((2, 4), (1, 8))),
    (rvv.Rvv256Double(), ((3, 64),)),
    (rvv.Rvv256Pairs(), ((1, 128),)),
    (rvv.Rvv256(), ((7, 32), (4, 32))),
    (rvv.Rvv256Half(), ((14, 16), (8, 16))),
    (rvv.Rvv128Double(), ((3, 32),)),
    (rvv.Rvv128Pairs(), ((1, 64),)),
    (rvv.Rvv128(), ((7, 16), (4, 16))),
    (rvv.Rvv128Half(), ((14, 8),)),
    (vnni.Vnni(), ((4, 64), (8, 32), (8, 16), (1, 64))),
    (avx_vnni.AvxVnni(), ((3, 32), (4, 16), (1, 32))),
    (avx2.Avx2(), ((4, 16), (6, 8), (1, 16))),
    (mve.Mve(), ((1, 4),)),
    (scalar64.Scalar64(), ((4, 8), (2, 8), (4, 4))),
    (scalar.Scalar(), ((2, 4), (2, 2), (1, 8))),
    (scalar.SoftScalar(), ((2, 2), (1, 4))),
    (base.Isa(), ((2, 8), (4, 4))),
)


def record(isa: base.Isa, mr: int, nr: int) -> KernelRecord:
    return planned(f"conv2d_{mr}x{nr}", "conv2d", isa, lambda spec: Plan(spec, isa, mr, nr), build)


KERNELS = tuple(record(isa, mr, nr) for isa, tiles in TILES for mr, nr in tiles)
