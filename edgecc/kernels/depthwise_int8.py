"""int8 depthwise convolution, NHWC, multiplier 1.

dotprod: SDOT adds four taps of one channel at once, so four positions of 16 channels are
interleaved (eight ZIPs) into vectors of 4 channels x 4 taps. Neighbouring outputs share the
interleaved vectors: an output that starts on an odd column uses the vectors of the even column
before it with its weights shifted by one tap.
Elsewhere: vectors over channels, one widening multiply per tap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.depthwise_plan import Plan, block_of
from edgecc.kernels.int8_packing import HEADER_BYTES
from edgecc.kernels.int8_parameters import Parameters
from edgecc.kernels.int8_tile import Tile
from edgecc.kernels.isa import avx2, base, dotprod, mve, neon, rvv, scalar, vnni, woven
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, chained


def build(plan: Plan, symbol: str) -> Any:
    scratch = ("int8", plan.ring.elements) if plan.ringed else None
    with open_kernel(plan.spec, symbol, scratch) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one depthwise convolution."""

    def __init__(self, k: Any, plan: Plan):
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        self.params = Parameters(k, plan.isa, self.spec.residual, self.spec.short_sums)
        self.buffer = k.scratch if plan.ringed else k.inputs[0]
        pad = tir.T.cast(self.params.pad_value, "int8")
        self.ring = Ring(k, plan.ring, pad, lambda values, lanes: values,
                         vectors=plan.isa.lanes > 1, copy_lanes=plan.isa.copy_lanes)

    def emit(self) -> None:
        from edgecc.kernels import tir

        if self.plan.ringed:
            self.ring.clear()
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // self.spec.oh), tir.let(row % self.spec.oh)
            if self.plan.ringed:
                self.ring.advance(row == self.k.begin, image, y)
            self._blocks(row, self._lines(image, y * self.spec.strides[0]))

    def _lines(self, image: Any, first: Any) -> list[Any]:
        """Element offsets of the input rows under the rows of the kernel."""
        from edgecc.kernels import tir

        spec, down = self.spec, self.spec.dilations[0]
        if self.plan.ringed:
            return chained(self.ring.slot(first), spec.kh,
                           lambda slot: self.ring.below(slot, down))
        return [tir.let((image * spec.h + first + ky * down) * (spec.w * spec.c))
                for ky in range(spec.kh)]

    def _blocks(self, row: Any, lines: list[Any]) -> None:
        from edgecc.kernels import tir

        blocks = self.plan.blocks
        width = blocks[0][1]
        start, size = HEADER_BYTES, self.plan.block_bytes(width)
        same = sum(1 for first, w in blocks if w == width and first + w <= self.spec.c)
        if same > 1:
            with tir.loop(0, same) as j:
                self._tiles(row, lines, start + j * size, j * width, width, width)
            blocks, start = blocks[same:], start + same * size
        for first, w in blocks:
            self._tiles(row, lines, start, first, w, min(w, self.spec.c - first))
            start += self.plan.block_bytes(w)

    def _tiles(self, row: Any, lines: list[Any], block: Any, channel: Any, width: int, used: int):
        from edgecc.kernels import tir

        spec = self.spec
        whole, rest = divmod(spec.ow, self.plan.mr)
        out = row * (spec.ow * spec.k) + channel

        def at(x: Any, rows: int) -> None:
            self._tile(lines, block, channel + x * (spec.strides[1] * spec.c), width, used, rows,
                       out + x * spec.k)

        if whole == 1:
            at(0, self.plan.mr)
        elif whole:
            with tir.loop(0, whole) as t:
                at(t * self.plan.mr, self.plan.mr)
        if rest:
            at(whole * self.plan.mr, rest)

    def _tile(self, lines: list[Any], block: Any, across: Any, width: int, used: int, rows: int,
              out: Any) -> None:
        spec = self.spec
        isa = self.plan.isa.fitted(width)
        tile = Tile(isa, rows, width, used)
        residual = self.k.inputs[1] if spec.residual else None
        if isinstance(self.plan.isa, dotprod.DotProd):
            scaled = self._quads(lines, block, across, width, rows)
            tile.store(self.k, scaled, self.params, out, spec.k, spec.clamp, residual)
            return
        acc = tile.start(self.k, block)
        self._taps(isa.lanes, acc, lines, block, across, width, rows)
        tile.finish(self.k, acc, block, self.params, out, spec.k, spec.clamp, residual)

    def _taps(self, lanes: int, acc: Any, lines: list[Any], block: Any, across: Any, width: int,
              rows: int) -> None:
        from edgecc.kernels import tir

        spec = self.spec
        weights, wide = self.k.weights("int8"), tir.vector("int32", lanes)
        for ky in range(spec.kh):
            for kx in range(spec.kw):
                at = block + 8 * width + (ky * spec.kw + kx) * width
                for j in range(0, width, lanes):
                    w = tir.let(tir.T.cast(tir.load(weights, at + j, lanes), wide))
                    for i in range(rows):
                        column = i * spec.strides[1] + kx * spec.dilations[1]
                        x = tir.load(self.buffer, lines[ky] + across + column * spec.c + j, lanes)
                        value = tir.load(acc, i * width + j, lanes) + tir.T.cast(x, wide) * w
                        tir.store(acc, i * width + j, value, lanes)

    def _quads(self, lines: list[Any], block: Any, across: Any, width: int,
               rows: int) -> Callable[[int], list[Any]]:
        """All products as one statement: what gives the scaled sums of a row."""
        from edgecc.kernels import tir

        spec = self.spec
        work = self.plan.work(width, rows)
        given = [tir.T.address_of(self.buffer[line + across]) for line in lines]
        given.append(tir.T.address_of(self.k.weights("int8")[block]))
        acc = tir.local(4 * work.accumulators, "float32")
        name = f"edgecc_woven_{rows}_{width}_{spec.c}"
        woven.add_products(self.k, acc, work, name, given)
        return lambda i: [tir.load(acc, i * width + j, 4) for j in range(0, width, 4)]


ISAS: tuple[tuple[base.Isa, tuple[int, ...]], ...] = (
    (dotprod.DotProd(), (1, 2, 4, 5)),
    (neon.NeonEnd(), (1, 2)),
    (rvv.Rvv256Double(), (1,)),
    (rvv.Rvv256(), (2,)),
    (rvv.Rvv256Half(), (4,)),
    (rvv.Rvv128Double(), (1,)),
    (rvv.Rvv128(), (2,)),
    (vnni.Vnni(), (2,)),
    (avx2.Avx2(), (2,)),
    (mve.MveEnd(), (1, 2)),
    (scalar.Scalar(), (4, 2)),
    (scalar.SoftScalar(), (2, 1)),
    (base.Isa(), (1,)),
)


def record(isa: base.Isa, mr: int) -> KernelRecord:
    return planned(f"depthwise_{mr}x{block_of(isa)}", "conv2d", isa,
                   lambda spec: Plan(spec, isa, mr), build)


KERNELS = tuple(record(isa, mr) for isa, rows in ISAS for mr in rows)
