"""int8 convolutions and matrix products for MVE (Cortex-M55, M85): whole windows by VMLADAVA.

The windows of `mr` positions are laid side by side, each padded to vectors of 16 values, unless
they lie so already; then all of a tile's sums go through scratch and are requantized four output
channels at a time. So neither short kernel rows nor the tile's width waste lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgecc.kernels.conv2d_mve_plan import Plan
from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.fully_connected_int8 import as_conv2d
from edgecc.kernels.int8_packing import HEADER_BYTES
from edgecc.kernels.isa.mve import Mve
from edgecc.kernels.isa.mve_loop import STEP
from edgecc.kernels.mve_end import LANES, End
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, padded

TILES = ((3, 2), (2, 3), (1, 6))  # six accumulators: MVE sums in even registers only
UNROLLED_ROWS = 4


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    with (open_kernel(plan.spec, symbol, ("int8", plan.scratch_bytes())) as k,
          tir.imported([plan.loop.text()])):
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one convolution."""

    def __init__(self, k: Any, plan: Plan) -> None:
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        self.end = End(k, plan.spec.residual, bounds=True)
        pad = tir.T.cast(self.end.params.pad_value, "int8")
        self.ring = Ring(k, plan.ring, pad, lambda values, lanes: values)
        self.windows = k.area("int8", plan.ring_bytes)
        self.sums = k.area("int32", plan.ring_bytes + plan.window_bytes)
        self.lines: list[Any] = []

    def emit(self) -> None:
        from edgecc.kernels import tir

        if self.plan.ringed:
            self.ring.clear()
        with tir.loop(self.k.begin, self.k.end) as row:
            if self.plan.flat:
                self.lines = [0]
                self._tile(0, 0, row * self.plan.mr, 0)
                return
            image, y = tir.let(row // self.spec.oh), tir.let(row % self.spec.oh)
            if self.plan.ringed:
                self.ring.advance(row == self.k.begin, image, y)
            if self.spec.kh <= UNROLLED_ROWS:
                self.lines = [tir.let(self._line(image, y, ky)) for ky in range(self.spec.kh)]
            with tir.loop(0, -(-self.spec.ow // self.plan.mr)) as t:
                self._tile(image, y, t * self.plan.mr, row * self.spec.ow)

    def _tile(self, image: Any, y: Any, first: Any, before: Any) -> None:
        """Positions first.. of a row that `before` positions precede. Those past the end are the
        last one again, with the same result."""
        from edgecc.kernels import tir

        plan = self.plan
        positions = [tir.let(tir.T.min(first + i, plan.row_length - 1)) for i in range(plan.mr)]
        if plan.direct:
            bases = [tir.let(self._place(image, y, x)) for x in positions]
        else:
            self._gather(image, y, first)
            bases = [i * plan.steps * STEP for i in range(plan.mr)]
        self._columns(bases, [tir.let((before + x) * self.spec.k) for x in positions])

    def _place(self, image: Any, y: Any, x: Any) -> Any:
        """Element offset of position x where windows are read in place."""
        spec = self.spec
        if self.plan.flat:
            return x * spec.c
        row = (image * spec.h + y * spec.strides[0]) * spec.w
        return (row + x * spec.strides[1]) * spec.c

    def _gather(self, image: Any, y: Any, first: Any) -> None:
        """Lay the windows of a tile side by side."""
        from edgecc.kernels import tir

        spec, plan = self.spec, self.plan
        source = self.k.scratch if plan.ringed else self.k.inputs[0]
        dense = spec.dilations[1] == 1
        length = spec.c * (spec.kw if dense else 1)


        def row(ky: Any, line: Any, across: Any, target: Any) -> None:
            for kx in range(1 if dense else spec.kw):
                start = target + (ky * spec.kw + kx) * spec.c
                _copy(source, line + across + kx * spec.dilations[1] * spec.c, self.windows,
                      start, length)

        with tir.loop(0, plan.mr) as i:
            x = tir.let(tir.T.min(first + i, plan.row_length - 1))
            across, target = tir.let(x * (spec.strides[1] * spec.c)), i * (plan.steps * STEP)
            if spec.kh <= UNROLLED_ROWS:
                for ky, line in enumerate(self.lines):
                    row(ky, line, across, target)
                return
            with tir.loop(0, spec.kh) as ky:
                row(ky, tir.let(self._line(image, y, ky)), across, target)

    def _line(self, image: Any, y: Any, ky: Any) -> Any:
        """Element offset of the input row under kernel row ky."""
        line = y * self.spec.strides[0] + ky * self.spec.dilations[0]
        if self.plan.ringed:
            return self.ring.slot(line)
        return (image * self.spec.h + line) * (self.spec.w * self.spec.c)

    def _columns(self, bases: list[Any], outs: list[Any]) -> None:
        """All columns of the windows at `bases`, to elements `outs` of the output."""
        from edgecc.kernels import tir

        plan, kept = self.plan, self.plan.columns_kept
        if plan.spec.k <= kept:
            self._some_columns(bases, outs, 0, plan.spec.k)
            return
        whole, rest = divmod(plan.spec.k, kept)
        with tir.loop(0, whole) as turn:
            self._some_columns(bases, outs, turn * kept, kept)
        if rest:
            self._some_columns(bases, outs, whole * kept, rest)

    def _some_columns(self, bases: list[Any], outs: list[Any], first: Any, columns: int) -> None:
        """Sums of all rows and `columns` columns, then their end."""
        from edgecc.kernels import tir

        plan = self.plan
        size = plan.steps * plan.nr * STEP
        start = HEADER_BYTES + 8 * padded(plan.spec.k, LANES)
        with tir.loop(0, -(-columns // plan.nr)) as b:
            at = start + (first // plan.nr + b) * size
            self._sums(bases, tir.let(at), b * plan.nr)
        _in_fours(columns, lambda j, lanes: self._finish(first, j, lanes, outs))

    def _sums(self, bases: list[Any], at: Any, column: Any) -> None:
        from edgecc.kernels import tir

        address, buffer = tir.T.address_of, self.windows
        if self.plan.direct:
            buffer = self.k.inputs[0]
        tir.T.evaluate(tir.T.call_extern(
            "void", self.plan.loop.symbol, address(self.sums[column]),
            address(self.k.weights("int8")[at]), *(address(buffer[base]) for base in bases)))

    def _finish(self, first: Any, j: Any, lanes: int, outs: list[Any]) -> None:
        from edgecc.kernels import tir

        at = HEADER_BYTES // 4 + first + j
        bias = tir.let(tir.load(self.k.weights("int32"), at, LANES))
        scale = tir.let(
            tir.load(self.k.weights("float32"), at + padded(self.spec.k, LANES), LANES))
        totals = [tir.load(self.sums, i * self.plan.columns_kept + j, LANES) + bias
                  for i in range(self.plan.mr)]
        self.end.rows(totals, scale, [out + first + j for out in outs], lanes)


def _in_fours(count: int, emit: Callable[[Any, int], None]) -> None:
    """emit(offset, lanes) for whole vectors, then for what is left."""
    from edgecc.kernels import tir

    whole, rest = divmod(count, LANES)
    if whole:
        with tir.loop(0, whole) as v:
            emit(v * LANES, LANES)
    if rest:
        emit(whole * LANES, rest)


def _copy(source: Any, at: Any, target: Any, to: Any, length: int) -> None:
    """`length` bytes by vectors, words and bytes; nothing past them."""
    from edgecc.kernels import tir

    def move(offset: Any, lanes: int) -> None:
        tir.store(target, to + offset, tir.load(source, at + offset, lanes), lanes)

    whole = length // STEP
    if whole > 4:
        with tir.loop(0, whole) as v:
            move(v * STEP, STEP)
    else:
        for v in range(whole):
            move(v * STEP, STEP)
    offset = whole * STEP
    for lanes in (4, 4, 4, 1, 1, 1):
        if length - offset >= lanes:
            move(offset, lanes)
            offset += lanes


def records(mr: int, nr: int) -> tuple[KernelRecord, KernelRecord]:
    """Of convolutions and of matrix products."""
    name = f"window_{mr}x{nr}"
    return (planned(f"conv2d_{name}", "conv2d", Mve(), lambda spec: Plan(spec, mr, nr), build),
            planned(f"fully_connected_{name}", "fully_connected", Mve(),
                    lambda spec: Plan(as_conv2d(spec), mr, nr), build))


KERNELS = tuple(record for mr, nr in TILES for record in records(mr, nr))
