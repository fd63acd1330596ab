"""int8 convolution, NHWC, any shape: rows of the input times packed weights in register tiles.

Without padding the activations are read where they lie; otherwise each thread keeps the rows that
the kernel covers in a ring in scratch, padded left and right, so the inner loop has no bounds to
check.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from edgecc.kernels.conv2d_plan import Plan
from edgecc.kernels.int8_tile import HEADER_BYTES, Parameters, Tile, block_bytes
from edgecc.kernels.isa import avx2, base, dotprod, dsp, mve, neon, rvv, scalar, vnni
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, padded


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    spec, isa = plan.spec, plan.isa
    size = spec.n * spec.oh * spec.ow * spec.k
    inputs = [("int8", spec.n * spec.h * spec.w * spec.c)]
    inputs += [("int8", size)] if spec.residual else []
    scratch = None if plan.direct else (isa.activation_dtype, plan.ring.elements)
    with tir.kernel(symbol, inputs=inputs, outputs=[("int8", size)], weights=True,
                    scratch=scratch, may_alias=True) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one convolution."""

    def __init__(self, k: Any, plan: Plan):
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        self.params = Parameters(k, plan.isa, self.spec.residual)
        self.buffer = k.inputs[0] if plan.direct else k.scratch
        pad = tir.T.cast(self.params.pad_value, plan.isa.activation_dtype)
        self.ring = Ring(k, plan.ring, pad, plan.isa.to_activation,
                         vectors=plan.isa.lanes > 1)

    def emit(self) -> None:
        from edgecc.kernels import tir

        if self.plan.flat:
            self._flat()
            return
        if not self.plan.direct:
            self.ring.clear()
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // self.spec.oh), tir.let(row % self.spec.oh)
            if not self.plan.direct:
                self.ring.advance(row, image, y)
            self._groups(row, image, y)

    def _groups(self, row: Any, image: Any, y: Any) -> None:
        from edgecc.kernels import tir

        if self.spec.groups == 1:
            self._every_block(0, image, y, partial(self._row_tiles, row), first_column=0)
            return
        with tir.loop(0, self.spec.groups) as group:
            self._every_block(group, image, y, partial(self._row_tiles, row))

    def _every_block(self, group: Any, image: Any, y: Any, tiles: Any, first_column: Any = None):
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

    def _flat(self) -> None:
        from edgecc.kernels import tir

        begin, end = self.k.begin, self.k.end
        whole = self.plan.row_length // self.plan.mr
        if self.plan.by_columns:
            self._some_blocks(begin, end)
            return
        last, rest = tir.T.min(end, whole), end > tir.T.max(begin, whole)
        self._every_block(0, (begin, last), rest, self._flat_tiles)

    def _some_blocks(self, begin: Any, end: Any) -> None:
        """All rows by the blocks of columns [begin, end)."""
        from edgecc.kernels import tir

        plan, columns = self.plan, self.plan.columns
        size = block_bytes(plan.isa, plan.nr, plan.depth)
        rows = (0, plan.row_length // plan.mr)

        def block(j: Any, widths: tuple[int, int]) -> None:
            self._flat_tiles(0, rows, None, HEADER_BYTES + j * size, j * plan.nr, widths)

        if columns.whole:
            with tir.loop(begin, tir.T.min(end, columns.whole)) as j:
                block(j, (plan.nr, plan.nr))
        if columns.rest:
            with tir.when(end > tir.T.max(begin, columns.whole)):
                block(columns.whole, (columns.rest_width, columns.rest))

    def _flat_tiles(self, group: Any, rows: Any, with_rest: Any, block: Any, channel: Any,
                    widths: Any) -> None:
        """Whole tiles from rows[0] to rows[1] of one block, then the rest if `with_rest` holds
        (None: it does)."""
        from edgecc.kernels import tir

        spec, plan = self.spec, self.plan
        whole, rest = divmod(plan.row_length, plan.mr)

        def at(t: Any, count: int) -> None:
            self._tile(count, widths, block, [(t * (plan.mr * spec.c), 0)],
                       t * (plan.mr * spec.k) + channel)

        if whole:
            with tir.loop(*rows) as t:
                at(t, plan.mr)
        if rest and with_rest is None:
            at(whole, rest)
        elif rest:
            with tir.when(with_rest):
                at(whole, rest)

    def _row_tiles(self, row: Any, group: Any, image: Any, y: Any, block: Any, channel: Any,
                   widths: Any):
        from edgecc.kernels import tir

        spec, mr = self.spec, self.plan.mr
        whole, rest = divmod(spec.ow, mr)
        out = row * (spec.ow * spec.k) + channel

        def at(x: Any, rows: int) -> None:
            self._tile(rows, widths, block, self._segments(group, image, y, x), out + x * spec.k)

        if whole == 1:
            at(0, mr)
        elif whole:
            with tir.loop(0, whole) as t:
                at(t * mr, mr)
        if rest:
            at(whole * mr, rest)

    def _segments(self, group: Any, image: Any, y: Any, x: Any) -> Any:
        """A function of (ky, kx): element offset of the first row's segment."""
        spec, plan = self.spec, self.plan
        across = x * (spec.strides[1] * spec.c) + group * (spec.c // spec.groups)

        def offset(ky: Any, kx: Any) -> Any:
            line = y * spec.strides[0] + ky * spec.dilations[0]
            if plan.direct:
                start = (image * spec.h + line) * (spec.w * spec.c)
            else:
                start = self.ring.slot(line)
            return start + across + kx * (spec.dilations[1] * spec.c)

        return offset

    def _tile(self, rows: int, widths: tuple[int, int], block: Any, where: Any, out: Any) -> None:
        from edgecc.kernels import tir

        spec, plan = self.spec, self.plan
        isa = plan.isa if widths[0] == plan.nr else plan.isa.fitted(widths[0])
        tile = Tile(isa, rows, *widths)
        first = block + 8 * widths[0]
        size = np.dtype(plan.isa.weight_dtype).itemsize
        stride = spec.c * (1 if plan.flat else spec.strides[1])
        per_segment = padded(plan.segment, plan.isa.group) * widths[0]
        base_element = tir.let(first // size)
        acc = tile.start(self.k, block)

        def segment(ky: Any, kx: Any) -> None:
            offset = where[0][0] if plan.flat else where(ky, kx)
            at = base_element + (ky * plan.segments_per_row + kx) * per_segment
            tile.accumulate(self.k, acc, self.buffer, tir.let(offset), stride, at, plan.segment)

        self._loops(segment)
        residual = self.k.inputs[1] if spec.residual else None
        tile.finish(self.k, acc, block, self.params, out, spec.k, spec.clamp, residual)

    def _loops(self, segment: Any) -> None:
        from edgecc.kernels import tir

        def across(ky: Any) -> None:
            if self.plan.segments_per_row == 1:
                segment(ky, 0)
                return
            with tir.loop(0, self.plan.segments_per_row) as kx:
                segment(ky, kx)

        if self.spec.kh == 1:
            across(0)
            return
        with tir.loop(0, self.spec.kh) as ky:
            across(ky)


TILES: tuple[tuple[base.Isa, tuple[tuple[int, int], ...]], ...] = (
    (dotprod.DotProd(), ((4, 16), (5, 16), (8, 8), (1, 64))),
    (neon.Neon(), ((4, 4), (1, 16))),
    (rvv.Rvv256Double(), ((3, 64),)),
    (rvv.Rvv256Pairs(), ((1, 128),)),
    (rvv.Rvv256(), ((7, 32), (4, 32))),
    (rvv.Rvv256Half(), ((14, 16), (8, 16))),
    (vnni.Vnni(), ((4, 64), (8, 32), (8, 16), (1, 64))),
    (avx2.Avx2(), ((4, 16), (6, 8), (1, 16))),
    (mve.Mve(), ((1, 4),)),
    (dsp.Dsp(), ((1, 4),)),
    (scalar.Scalar(), ((3, 4), (2, 2), (1, 4))),
    (scalar.SoftScalar(), ((2, 2), (1, 4))),
    (base.Isa(), ((2, 8), (4, 4))),
)


def record(isa: base.Isa, mr: int, nr: int) -> KernelRecord:
    return planned(f"conv2d_{mr}x{nr}", "conv2d", isa, lambda spec: Plan(spec, isa, mr, nr), build)


KERNELS = tuple(record(isa, mr, nr) for isa, tiles in TILES for mr, nr in tiles)
