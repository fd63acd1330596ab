"""float32 and float16 convolution, NHWC, any stride, dilation, padding and groups.

A line of output pixels is cut into register tiles. Padded layers read a ring of padded rows in
scratch; others read the input where it lies. A pointwise layer (1x1, stride 1, no padding) has no
rows: its pixels are one long line, LINE of them at a time; where that is all of them, the parallel
loop runs over blocks of output channels instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels import float_tile, half_tile
from edgecc.kernels.elementwise import accept_all
from edgecc.kernels.float_tile import ISAS, Epilogue, FloatIsa, Shape, Taps, Tile
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, RingShape
from edgecc.kernels.spec import Conv2d

LINE = 48  # pixels of a pointwise layer that share a pass over the weights


@dataclass(frozen=True)
class Plan:
    """How one layer is computed on one instruction set."""

    spec: Conv2d
    isa: FloatIsa

    @property
    def pointwise(self) -> bool:
        s = self.spec
        return ((s.kh, s.kw, s.groups) == (1, 1, 1) and s.strides == (1, 1) and not any(s.pads))

    @property
    def pixels(self) -> int:
        """Pixels of all lines together, or of a line where lines are rows."""
        return self.spec.line(self.pointwise)

    @property
    def line(self) -> int:
        return min(self.pixels, LINE) if self.pointwise else self.pixels

    @property
    def by_blocks(self) -> bool:
        """Whether the parallel loop is the one over blocks of output channels."""
        return self.pointwise and self.line == self.pixels

    @property
    def extent(self) -> int:
        s = self.spec
        if self.by_blocks:
            return self.shape.blocks
        return -(-self.pixels // self.line) if self.pointwise else s.n * s.oh

    @property
    def ringed(self) -> bool:
        return any(self.spec.pads)

    @property
    def shape(self) -> Shape:
        return Shape(self.isa, self.spec.k // self.spec.groups, self.line)

    @property
    def taps(self) -> int:
        s = self.spec
        return s.kh * s.kw * s.c // s.groups

    @property
    def ring(self) -> int:
        """Elements of the ring of rows."""
        return RingShape(self.spec).elements if self.ringed else 0

    @property
    def sums(self) -> int:
        """float32 sums in scratch: where those of halves are too long to stay halves."""
        shape = self.shape
        return shape.rows * shape.block if self.isa.half and half_tile.is_long(self.taps) else 0

    @property
    def scratch_bytes(self) -> int:
        return (2 if self.isa.half else 4) * self.ring + 4 * self.sums

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        s, scale = self.spec, 0.0
        weights = np.asarray(constants["weights"], s.dtype).reshape(s.k, -1)
        if self.isa.half:
            weights, scale = half_tile.scaled(weights)
        return float_tile.pack(self.shape, s.groups, s.clamp, weights, constants, scale)

    def cost(self) -> float:
        """Instructions: multiplies over the lanes in use, and what surrounds them."""
        s, shape = self.spec, self.shape
        filled = shape.outputs / (shape.blocks * shape.block)
        per_vector = 1 + 1 / shape.columns + 1 / shape.rows
        if self.sums:
            per_vector += half_tile.FLUSH / half_tile.LONGEST
        copies = s.n * s.h * s.w * s.c / 4 if self.ringed else 0
        return 50 + s.macs * per_vector / shape.lanes / filled + copies


def open_kernel(spec: Conv2d, symbol: str, scratch: int, kind: str = "float32") -> Any:
    """`scratch` elements of `kind`, which is what the kernel computes in."""
    from edgecc.kernels import tir

    result = (kind, spec.n * spec.oh * spec.ow * spec.k)
    inputs = [(kind, spec.n * spec.h * spec.w * spec.c)]
    return tir.kernel(symbol, inputs=inputs + [result] * spec.residual, outputs=[result],
                      weights=True, scratch=(kind, scratch) if scratch else None,
                      may_alias=spec.residual)


class Rows:
    """Where a tap of an output row lies: in the ring, or in the input itself."""

    def __init__(self, k: Any, spec: Conv2d, ringed: bool, kind: str = "float32") -> None:
        from edgecc.kernels import tir

        self.spec = spec
        self.ring = None
        self.source = k.scratch if ringed else k.inputs[0]
        if ringed:
            zero = tir.T.cast(0.0, kind)
            self.ring = Ring(k, RingShape(spec), zero, lambda values, lanes: values)
            self.ring.clear()
        self.image: Any = 0
        self.y: Any = 0

    def enter(self, row: Any) -> None:
        """Make ready for output row `row`, counted through all images."""
        from edgecc.kernels import tir

        self.image = tir.let(tir.T.floordiv(row, self.spec.oh))
        self.y = tir.let(tir.T.floormod(row, self.spec.oh))
        if self.ring:
            self.ring.advance(row, self.image, self.y)

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
    with open_kernel(plan.spec, symbol, words, kind) as k:
        if plan.isa.half:
            half_tile.wrap_ends(k)
        if plan.pointwise:
            _pointwise(k, plan)
        else:
            _by_rows(k, plan)
    return k.func


def _pointwise(k: Any, plan: Plan) -> None:
    from edgecc.kernels import tir

    s, line = plan.spec, plan.line
    whole = plan.pixels // line
    work = _Line(k, plan, k.inputs[0], s.c)

    def emit(number: Any, pixels: int) -> None:
        first = tir.let(number * line)

        def taps(pixel: Any, group: Any) -> Taps:
            return lambda run: run(tir.let((first + pixel) * s.c), 0, s.c)

        if plan.by_blocks:
            work.emit_blocks(first, pixels, taps, 0, (k.begin, k.end))
        else:
            work.emit(first, pixels, taps)

    if plan.by_blocks:
        emit(tir.T.int32(0), line)
        return
    with tir.loop(k.begin, tir.T.min(k.end, whole)) as number:
        emit(number, line)
    if plan.pixels % line:
        with tir.when(k.end > tir.T.max(k.begin, whole)):
            emit(tir.T.int32(whole), plan.pixels % line)


def _by_rows(k: Any, plan: Plan) -> None:
    from edgecc.kernels import tir

    s = plan.spec
    rows = Rows(k, s, plan.ringed, "float16" if plan.isa.half else "float32")
    work = _Line(k, plan, rows.source, s.c * s.strides[1])
    with tir.loop(k.begin, k.end) as row:
        rows.enter(row)
        work.emit(tir.let(row * s.ow), s.ow, lambda pixel, group: _window(rows, s, pixel, group))


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
    """All output channels of a line of pixels, tile by tile."""

    def __init__(self, k: Any, plan: Plan, source: Any, step: int) -> None:
        s = plan.spec
        self.k, self.spec, self.shape = k, s, plan.shape
        if plan.isa.half:
            self.tile: Any = half_tile.HalfTile(k, plan.shape, source, plan.taps, step, s.groups,
                                                2 * plan.ring)
        else:
            self.tile = Tile(k, plan.shape, source, plan.taps, step, s.groups, s.dtype)
        self.epilogue = Epilogue(k, s.clamp, s.residual)

    def emit(self, first: Any, pixels: int, taps: Any) -> None:
        """`first` is the line's first output pixel; taps(pixel, group) says where to read."""
        from edgecc.kernels import tir

        with tir.loop(0, self.spec.groups) as group:
            self.emit_blocks(first, pixels, taps, group, None)

    def emit_blocks(self, first: Any, pixels: int, taps: Any, group: Any, limits: Any) -> None:
        """The blocks of one group, or those from limits[0] to limits[1]."""
        from edgecc.kernels import tir

        shape = self.shape
        whole, rest = divmod(shape.outputs, shape.block)
        begin, end = (0, whole) if limits is None else (limits[0], tir.T.min(limits[1], whole))
        if whole:
            with tir.loop(begin, end) as block:
                self._block(first, pixels, taps, group, block, shape.block)
        if rest and limits is None:
            self._block(first, pixels, taps, group, whole, rest)
        elif rest:
            with tir.when(limits[1] > tir.T.max(begin, whole)):
                self._block(first, pixels, taps, group, whole, rest)

    def _block(self, first, pixels: int, taps, group, block, valid: int) -> None:
        from edgecc.kernels import tir

        shape = self.shape
        channel = tir.let(group * shape.outputs + block * shape.block)
        index = tir.let(group * shape.blocks + block)

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
    )


KERNELS = tuple(record(isa) for isa in (*ISAS, *half_tile.ISAS))
