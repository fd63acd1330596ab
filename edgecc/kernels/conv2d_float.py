"""float32 and float16 convolution, NHWC, any stride, dilation, padding and groups.

A line of output pixels is cut into register tiles. Padded layers read a ring of padded rows in
scratch; others read the input where it lies. A pointwise layer (1x1, stride 1, no padding) has no
rows: its pixels are one long line, about LINE of them at a time. Elsewhere a line is a row, and
where weights are more than a cache keeps, some rows take turns over each block of them (a band).

The parallel loop runs over bands (or lines) times blocks of output channels: threads get equal
shares of layers with few rows too.
"""

from __future__ import annotations

from typing import Any

from edgecc.kernels import half_reference, half_tile
from edgecc.kernels.conv2d_float_plan import Plan
from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.elementwise import accept_all
from edgecc.kernels.float_tile import ISAS, Epilogue, FloatIsa, Taps, Tile
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, RingShape
from edgecc.kernels.spec import Conv2d


class Rows:
    """Where a tap of an output row lies: in the ring, or in the input itself. `shape`: the ring's,
    if there is one."""

    def __init__(self, k: Any, spec: Conv2d, shape: RingShape | None,
                 kind: str = "float32") -> None:
        from edgecc.kernels import tir

        self.spec = spec
        self.ring = None
        self.source = k.inputs[0] if shape is None else k.scratch
        if shape is not None:
            zero = tir.T.cast(0.0, kind)
            self.ring = Ring(k, shape, zero, lambda values, lanes: values)
            self.ring.clear()
        self.image: Any = 0
        self.y: Any = 0

    def enter(self, number: Any, rows: int, fresh: Any) -> None:
        """Make ready for a band of `rows` output rows; `fresh`: it follows none."""
        from edgecc.kernels import tir

        bands = -(-self.spec.oh // rows)
        self.image = tir.let(tir.T.floordiv(number, bands))
        self.y = tir.let(tir.T.floormod(number, bands) * rows)
        if self.ring:
            self.ring.advance(fresh, self.image, self.y)

    def base(self, ky: Any) -> Any:
        """Element of the first column that tap row `ky` of the first output pixel reads."""
        s = self.spec
        line = self.y * s.strides[0] + ky * s.dilations[0]
        if self.ring:
            return self.ring.slot(line)
        return (self.image * s.h + line) * (s.w * s.c)


def build(plan: Plan, symbol: str) -> Any:
    kind = "float16" if plan.isa.half else "float32"
    words = plan.scratch_bytes // (2 if plan.isa.half else 4)
    with open_kernel(plan.spec, symbol, (kind, words) if words else None, kind) as k:
        if plan.isa.half:
            half_tile.wrap_ends(k)
        if plan.pointwise:
            _pointwise(k, plan)
        else:
            _by_bands(k, plan, kind)
    return k.func


class _Shares:
    """The thread's shares, which are counted band by band: bands from `first` to `end`, and of
    the blocks of a band those that `blocks` tells. Numbers are read from memory: TVM's simplifier
    would look for bounds beyond int32."""

    def __init__(self, k: Any, each: int) -> None:
        from edgecc.kernels import tir

        self.k, self.each = k, each
        bands = tir.local(2, "int32")
        tir.store(bands, 0, k.begin // each)
        tir.store(bands, 1, (k.end - 1) // each + 1)
        self.first, self.end = tir.let(bands[0]), tir.let(bands[1])

    def blocks(self, band: Any) -> tuple[Any, Any] | None:
        """From which block of a band to which; None if it has but one share."""
        from edgecc.kernels import tir

        if self.each == 1:
            return None
        first, found = tir.let(band * self.each), tir.local(2, "int32")
        tir.store(found, 0, tir.T.max(self.k.begin - first, 0))
        tir.store(found, 1, tir.T.min(self.k.end - first, self.each))
        return tir.let(found[0]), tir.let(found[1])


def _pointwise(k: Any, plan: Plan) -> None:
    from edgecc.kernels import tir

    s, line = plan.spec, plan.line
    whole, rest = divmod(plan.pixels, line)
    work, shares = _Line(k, plan, k.inputs[0], s.c), _Shares(k, plan.shares)

    def emit(number: Any, pixels: int) -> None:
        first = tir.let(number * line)

        def taps(pixel: Any, group: Any) -> Taps:
            return lambda run: run(tir.let((first + pixel) * s.c), 0, s.c)

        work.emit(pixels, shares.blocks(number), lambda tiles: tiles(first, taps))

    with tir.loop(shares.first, tir.T.min(shares.end, whole)) as number:
        emit(number, line)
    if rest:
        with tir.when(shares.end > whole):
            emit(tir.T.int32(whole), rest)


def _by_bands(k: Any, plan: Plan, kind: str) -> None:
    from edgecc.kernels import tir

    s = plan.spec
    rows = Rows(k, s, plan.ring_shape if plan.ringed else None, kind)
    work, shares = _Line(k, plan, rows.source, s.c * s.strides[1]), _Shares(k, plan.shares)
    with tir.loop(shares.first, shares.end) as number:
        rows.enter(number, plan.band, number == shares.first)
        work.emit(s.ow, shares.blocks(number), lambda tiles: _in_turn(plan, rows, tiles))


def _in_turn(plan: Plan, rows: Rows, tiles: Any) -> None:
    """The rows of a band, one after the other."""
    from edgecc.kernels import tir

    s, top = plan.spec, rows.y

    def emit(y: Any) -> None:
        rows.y = y
        tiles(tir.let((rows.image * s.oh + y) * s.ow),
              lambda pixel, group: _window(rows, s, pixel, group))

    if plan.band == 1:
        emit(top)
        return
    with tir.loop(0, tir.T.min(plan.band, s.oh - top)) as row:
        emit(tir.let(top + row))
    rows.y = top


def _window(rows: Rows, s: Conv2d, pixel: Any, group: Any) -> Taps:
    """The taps of a window as runs: a row of it if it is contiguous, else one position."""
    from edgecc.kernels import tir

    per_group = s.c // s.groups
    runs = 1 if s.groups == 1 and s.dilations[1] == 1 else s.kw
    count = s.kw * s.c if runs == 1 else per_group

    def taps(run: Any) -> None:
        column = tir.let(pixel * (s.strides[1] * s.c) + group * per_group)
        with tir.loop(0, s.kh) as ky:
            base = tir.let(rows.base(ky) + column)
            with tir.loop(0, runs) as kx:
                source = tir.let(base + kx * (s.dilations[1] * s.c))
                run(source, tir.let((ky * runs + kx) * count), count)

    return taps


class _Line:
    """All output channels of lines of pixels, tile by tile."""

    def __init__(self, k: Any, plan: Plan, source: Any, step: int) -> None:
        s = plan.spec
        self.k, self.spec, self.shape = k, s, plan.shape
        if plan.isa.half:
            self.tile: Any = half_tile.HalfTile(k, plan.shape, source, plan.taps, step, s.groups,
                                                2 * plan.ring)
        else:
            self.tile = Tile(k, plan.shape, source, plan.taps, step, s.groups, s.dtype)
        self.epilogue = Epilogue(k, s.clamp, s.residual)

    def emit(self, pixels: int, blocks: Any, lines: Any) -> None:
        """All blocks of output channels, or those from blocks[0] to blocks[1], of some lines:
        lines(tiles) calls tiles(first, taps) for each, whose first output pixel is `first`;
        taps(pixel, group) says where to read."""
        from edgecc.kernels import tir

        shape = self.shape
        whole, rest = divmod(shape.outputs, shape.block)
        begin, end = (0, whole) if blocks is None else (blocks[0], tir.T.min(blocks[1], whole))
        with tir.loop(0, self.spec.groups) as group:
            if whole:
                with tir.loop(begin, end) as block:
                    self._block(pixels, group, block, shape.block, lines)
            if rest and blocks is None:
                self._block(pixels, group, whole, rest, lines)
            elif rest:
                with tir.when(blocks[1] > whole):
                    self._block(pixels, group, whole, rest, lines)

    def _block(self, pixels: int, group: Any, block: Any, valid: int, lines: Any) -> None:
        from edgecc.kernels import tir

        shape = self.shape
        channel = tir.let(group * shape.outputs + block * shape.block)
        index = tir.let(group * shape.blocks + block)

        def tiles(first: Any, taps: Any) -> None:
            def tile(pixel: Any, rows: int) -> None:
                out = tir.let((first + pixel) * self.spec.k + channel)

                def finish(value: Any, row: int, at: int, lanes: int) -> None:
                    self.epilogue(value, out + row * self.spec.k + at, lanes)

                self.tile.emit(index, rows, valid, taps(pixel, group), finish)

            rows = min(shape.rows, pixels)
            with tir.loop(0, pixels // rows) as number:
                tile(tir.let(number * rows), rows)
            if pixels % rows:
                tile(tir.T.int32(pixels // rows * rows), pixels % rows)

        lines(tiles)


def record(isa: FloatIsa) -> KernelRecord:
    dtype = "float16" if isa.half else "float32"
    return KernelRecord(
        f"{dtype}_conv2d_{isa.accumulators // isa.columns}x{isa.columns * isa.lanes}__{isa.name}",
        "conv2d", dtype, isa.requires, accept_all,
        cost=lambda spec: Plan(spec, isa).cost(),
        extent=lambda spec: Plan(spec, isa).extent,
        pack=lambda spec, constants: Plan(spec, isa).pack(constants),
        build=lambda spec, symbol, target: build(Plan(spec, isa), symbol),
        scratch_bytes=lambda spec: Plan(spec, isa).scratch_bytes,
        fast=isa.lanes > 1 and isa.name != "generic",
        wants=isa.wants,
        half=isa.half,
        over_input=lambda spec: Plan(spec, isa).over_input(),
        law=half_reference.tiled if isa.half else None,
    )


KERNELS = tuple(record(isa) for isa in (*ISAS, *half_tile.ISAS))
