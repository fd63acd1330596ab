"""int8 depthwise convolutions for x86 with VPDPBUSD: kernel rows woven by fours.

Four rows of 64 (AVX-VNNI: 32) channels of a column become four vectors of channels x 4 rows
(eight unpacks), which every output over that column multiplies. Unpacking works within 128 bits,
so a vector holds four channels of each; packing the sums to int8 puts them back in order. Rows go
through a ring in scratch, unsigned.

Packed constants: header, then per block of channels bias int32, scale float32 and the weights:
[four kernel rows][kernel column][vector][channel][kernel row].
Source: Intel 64 and IA-32 Software Developer's Manual, VPDPBUSD, VPUNPCK, VPACKSS, VCVTPS2DQ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.depthwise_plan import refused
from edgecc.kernels.int8_packing import HEADER_BYTES, header, wrapped
from edgecc.kernels.isa.avx_vnni import AvxVnni
from edgecc.kernels.isa.vnni import Vnni
from edgecc.kernels.isa.weave import LANE, VECTORS, Weave
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, RingShape, chained, padded
from edgecc.kernels.spec import Conv2d

ROWS = 4  # of the kernel in a product
TILES = ((Vnni(), (2, 4, 6)), (AvxVnni(), (2, 3, 4)))  # outputs of a row at a time


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution in tiles of `mr` neighbouring outputs."""

    spec: Conv2d
    isa: Vnni
    mr: int

    @property
    def width(self) -> int:
        """Channels of a block."""
        return VECTORS * self.isa.lanes

    @property
    def blocks(self) -> list[tuple[int, int, int]]:
        """(first channel, width, channels in use) of every block."""
        found, at, width = [], 0, self.width
        while at < self.spec.c:
            while width > padded(self.spec.c - at, LANE):
                width //= 2
            found.append((at, width, min(width, self.spec.c - at)))
            at += width
        return found

    @property
    def roomy(self) -> bool:
        """Whether registers hold the sums of all outputs over a column."""
        return self.isa.registers >= 32

    @property
    def ring(self) -> RingShape:
        return RingShape(self.spec, slack=self.width)

    @property
    def fours(self) -> int:
        return -(-self.spec.kh // ROWS)

    @property
    def extent(self) -> int:
        return self.spec.n * self.spec.oh

    def over_input(self) -> int | None:
        return distance_bytes(self.spec, self.spec.ow)

    def weight_bytes(self) -> int:
        """Per channel."""
        return self.fours * self.spec.kw * ROWS

    def block_bytes(self, width: int) -> int:
        return width * (8 + self.weight_bytes())

    def scratch_bytes(self) -> int:
        return self.ring.elements

    def accepts(self) -> str | None:
        return refused(self.spec)

    def cost(self) -> float:
        """Estimated instructions: columns woven, products, and the way to int8."""
        spec = self.spec
        whole, rest = divmod(spec.ow, self.mr)
        woven = whole * self._columns(self.mr) + (self._columns(rest) if rest else 0)
        loads = spec.kh if self.roomy else 2 * spec.kh
        ends = 20 if spec.short_sums else 24
        per_row = (woven * (loads + 8 * self.fours)
                   + spec.ow * (VECTORS * self.fours * spec.kw + ends + 2 * spec.clamp)
                   + 12 * (whole + 1))
        copied = spec.strides[0] * spec.w * spec.c / self.isa.copy_lanes * 5
        return self.extent * (len(self.blocks) * per_row + copied + 20)

    def _columns(self, outputs: int) -> int:
        """Distinct columns under neighbouring outputs."""
        return len({i * self.spec.strides[1] + kx * self.spec.dilations[1]
                    for i in range(outputs) for kx in range(self.spec.kw)})

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec = self.spec
        kernel = np.asarray(constants["weights"], np.int8).reshape(spec.c, spec.kh, spec.kw)
        offset = int(constants["input_zero_point"]) + self.isa.activation_offset
        total = kernel.sum(axis=(1, 2), dtype=np.int64)
        bias = wrapped(np.asarray(constants["bias"], np.int64) - offset * total)
        scale = np.asarray(constants["scale"], np.float32)
        parts = [header(constants, spec.clamp, False, self.isa)]
        for first, width, used in self.blocks:
            channels = slice(first, first + used)
            rows = np.zeros((width, self.fours * ROWS, spec.kw), np.int8)
            rows[:used, : spec.kh] = kernel[channels]
            order = np.arange(width).reshape(-1, VECTORS, 4).swapaxes(0, 1).ravel()
            for each in (bias, scale):
                held = np.zeros(width, each.dtype)
                held[:used] = each[channels]
                parts.append(held[order].view(np.uint8))
            woven = rows[order].reshape(width, self.fours, ROWS, spec.kw).transpose(1, 3, 0, 2)
            parts.append(np.ascontiguousarray(woven).view(np.uint8).ravel())
        return np.concatenate(parts)


def build(plan: Plan, symbol: str) -> Any:
    with open_kernel(plan.spec, symbol, ("uint8", plan.scratch_bytes())) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one depthwise convolution."""

    def __init__(self, k: Any, plan: Plan) -> None:
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        words = k.weights("int32")
        self.zero_point = tir.let(tir.T.cast(words[1], "int16"))
        self.bounds = [tir.let(tir.T.cast(words[i], "int8")) for i in (4, 5)]
        self.ring = Ring(k, plan.ring, tir.let(tir.T.cast(words[0], "uint8")),
                         plan.isa.to_activation, copy_lanes=plan.isa.copy_lanes)

    def emit(self) -> None:
        from edgecc.kernels import tir

        spec = self.spec
        self.ring.clear()
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // spec.oh), tir.let(row % spec.oh)
            self.ring.advance(row == self.k.begin, image, y)
            lines = chained(self.ring.slot(y * spec.strides[0]), spec.kh,
                            lambda slot: self.ring.below(slot, spec.dilations[0]))
            self._blocks(row, lines)

    def _blocks(self, row: Any, lines: list[Any]) -> None:
        from edgecc.kernels import tir

        plan, at = self.plan, HEADER_BYTES
        whole = self.spec.c // plan.width
        size = plan.block_bytes(plan.width)
        if whole:
            with tir.loop(0, whole) as j:
                self._row(row, lines, tir.let(at + j * size), tir.let(j * plan.width),
                          plan.width, plan.width)
        for first, width, used in plan.blocks[whole:]:
            self._row(row, lines, at + whole * size, first, width, used)
            at += plan.block_bytes(width)

    def _row(self, row: Any, lines: list[Any], block: Any, channel: Any, width: int,
             used: int) -> None:
        """A row of outputs of one block of channels."""
        from edgecc.kernels import tir

        spec, mr = self.spec, self.plan.mr
        whole, rest = divmod(spec.ow, mr)

        def tile(x: Any, count: int) -> None:
            across = channel + x * (spec.strides[1] * spec.c)
            out = (row * spec.ow + x) * spec.c + channel
            self._tile([tir.let(line + across) for line in lines], block, width, used, count,
                       tir.let(out))

        if whole:
            with tir.loop(0, whole) as t:
                tile(t * mr, mr)
        if rest:
            tile(whole * mr, rest)

    def _tile(self, lines: list[Any], block: Any, width: int, used: int, count: int,
              out: Any) -> None:
        """`count` neighbouring outputs; with 16 registers their vectors two at a time."""
        weave = Weave(width)
        step = VECTORS if self.plan.roomy else VECTORS // 2
        sums = [self._sums(weave, lines, block, count, range(first, first + step))
                for first in range(0, VECTORS, step)]
        for i in range(count):
            value = weave.bytes(*(pair for some in sums for pair in some[i]))
            self._store(out + i * self.spec.c, self._bounded(value, width), width, used)

    def _sums(self, weave: Weave, lines: list[Any], block: Any, count: int,
              vectors: range) -> list[list[Any]]:
        """Of every output, int16 about the zero point of some vectors, two by two."""
        from edgecc.kernels import tir

        spec, lanes, found = self.spec, weave.lanes, []
        acc = tir.local(count * VECTORS * lanes, "int32")
        bias = self.k.weights("int32")
        taps = [(i, kx, i * spec.strides[1] + kx * spec.dilations[1])
                for i in range(count) for kx in range(spec.kw)]
        for column in sorted({column for _, _, column in taps}):
            users = [(i, kx) for i, kx, at in taps if at == column]
            weave.apart(self.k)
            for i in (i for i, kx in users if kx == 0):
                for v in vectors:
                    value = tir.load(bias, block // 4 + v * lanes, lanes)
                    tir.store(acc, (i * VECTORS + v) * lanes, value, lanes)
            self._column(weave, acc, lines, column * spec.c, block, users, vectors)
            for i in (i for i, kx in users if kx == spec.kw - 1):
                found.append(self._ended(weave, acc, block, i, vectors))
        return found

    def _column(self, weave: Weave, acc: Any, lines: list[Any], at: int, block: Any,
                users: list[tuple[int, int]], vectors: range) -> None:
        """Add what a column gives the outputs over it: (output, kernel column)."""
        from edgecc.kernels import tir

        spec, width, lanes = self.spec, weave.width, weave.lanes
        weights = self.k.weights("int8")
        for four in range(self.plan.fours):
            rows = [tir.let(tir.load(self.k.scratch, line + at, width))
                    for line in lines[four * ROWS : (four + 1) * ROWS]]
            woven = weave.fours(rows, vectors)
            for i, kx in users:
                first = block + 8 * width + (four * spec.kw + kx) * ROWS * width
                for v, values in zip(vectors, woven, strict=True):
                    place = (i * VECTORS + v) * lanes
                    taps = tir.load(weights, first + v * width, width)
                    value = weave.added(tir.load(acc, place, lanes), values, taps)
                    tir.store(acc, place, value, lanes)

    def _ended(self, weave: Weave, acc: Any, block: Any, i: int, vectors: range) -> list[Any]:
        from edgecc.kernels import tir

        lanes, scale = weave.lanes, self.k.weights("float32")
        kind = tir.vector("float32", lanes)
        real = [tir.T.cast(tir.load(acc, (i * VECTORS + v) * lanes, lanes), kind)
                * tir.load(scale, block // 4 + (VECTORS + v) * lanes, lanes) for v in vectors]
        zero_point, fits = self._zero_point(), self.spec.short_sums
        return [weave.shorts(real[j], real[j + 1], zero_point, fits)
                for j in range(0, len(real), 2)]

    def _zero_point(self) -> Any:
        """Of few registers none holds it."""
        return self.zero_point if self.plan.roomy else self.k.weights("int16")[2]

    def _bounded(self, value: Any, width: int) -> Any:
        from edgecc.kernels import tir

        if not self.spec.clamp:
            return value
        low, high = (tir.splat(bound, width) for bound in self.bounds)
        return tir.T.min(tir.T.max(value, low), high)

    def _store(self, at: Any, value: Any, width: int, used: int) -> None:
        """The first `used` bytes of a vector."""
        from edgecc.kernels import tir

        kept, first, part = tir.let(value), 0, used
        while first < used:
            part = 1 << ((used - first).bit_length() - 1)
            lanes = list(range(first, first + part))
            some = kept if part == width else tir.T.Shuffle([kept], lanes)
            tir.store(self.k.outputs[0], at + first, some, part)
            first += part


def record(isa: Vnni, mr: int) -> KernelRecord:
    return planned(f"depthwise_woven_{mr}x{VECTORS * isa.lanes}", "conv2d", isa,
                   lambda spec: Plan(spec, isa, mr), build)


KERNELS = tuple(record(isa, mr) for isa, outputs in TILES for mr in outputs)
