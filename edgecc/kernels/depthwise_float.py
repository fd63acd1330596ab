"""float32 depthwise convolution, NHWC, multiplier 1: vectors over channels, one multiply a tap.

The input is read where it lies: windows that stand out of the image leave those taps out. Columns
of the window that do are known when the kernel is written, rows when it runs. Neighbouring pixels
share the loads of the columns that they have in common.

Packed constants: lo, hi; bias (c,); weights (taps, c).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.elementwise import across, header, joined, vector_bytes
from edgecc.kernels.float_tile import HEADER_BYTES, Epilogue
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Conv2d

IN_REGISTERS = 10  # weights kept in registers along a row; more are read again for every pixel
UNROLLED = 32  # taps written out one by one
PIXELS = 4  # side by side, where vectors have this many registers to spare
ROOMY = frozenset({"avx2", "avx512f", "neon", "rvv128", "rvv256"})


@dataclass(frozen=True)
class Columns:
    """Output columns from `begin` to `end`, of whose windows columns `first` to `last` are in the
    image."""

    begin: int
    end: int
    first: int
    last: int


def accepts(spec: Conv2d) -> str | None:
    if spec.depthwise:
        return None
    return "only for depthwise layers of multiplier 1"


def pack(spec: Conv2d, constants: Mapping[str, Any]) -> np.ndarray:
    limits = (constants["lo"], constants["hi"]) if spec.clamp else (0.0, 0.0)
    front = header(np.float32(limits[0]), np.float32(limits[1]), 0, 0)
    weights = np.asarray(constants["weights"], spec.dtype).reshape(spec.k, -1).T
    bias = np.asarray(constants["bias"], np.float32).ravel()
    return joined(front, bias, weights)


def columns(spec: Conv2d) -> list[Columns]:
    """All output columns, in runs that leave out the same."""
    found: list[Columns] = []
    for x in range(spec.ow):
        at = x * spec.strides[1] - spec.pads[1]
        inside = [kx for kx in range(spec.kw) if 0 <= at + kx * spec.dilations[1] < spec.w]
        taps = (inside[0], inside[-1] + 1) if inside else (0, 0)
        if found and (found[-1].first, found[-1].last) == taps:
            found[-1] = Columns(found[-1].begin, x + 1, *taps)
        else:
            found.append(Columns(x, x + 1, *taps))
    return found


def whole_rows(spec: Conv2d) -> range:
    """The output rows all of whose window is in the image."""
    reach = (spec.kh - 1) * spec.dilations[0]
    found = [y for y in range(spec.oh)
             if 0 <= y * spec.strides[0] - spec.pads[0] <= spec.h - 1 - reach]
    return range(found[0], found[-1] + 1) if found else range(0)


def build(spec: Conv2d, symbol: str, target: Any) -> Any:
    with open_kernel(spec, symbol, None, "float32") as k:
        pixels = PIXELS if target.features & ROOMY else 1
        Row(k, spec, vector_bytes(target) // 4, pixels).emit_all()
    return k.func


class Row:
    """One output row, a vector of channels at a time, computed in `kind`."""

    kind = "float32"

    def __init__(self, k: Any, spec: Conv2d, lanes: int, pixels: int) -> None:
        self.k, self.spec, self.lanes, self.pixels = k, spec, lanes, pixels
        self.unrolled = spec.kh * spec.kw <= UNROLLED
        self.columns = columns(spec)
        bytes_each = np.dtype(self.kind).itemsize
        self.biases = k.weights(self.kind, HEADER_BYTES)
        self.weights = k.weights(spec.dtype, HEADER_BYTES + bytes_each * spec.c)
        self.epilogue: Any = self.ending()
        self.first: Any = 0
        self.base: Any = 0

    def ending(self) -> Any:
        """What is done with a sum: see Epilogue."""
        return Epilogue(self.k, self.spec.clamp, self.spec.residual)

    def emit_all(self) -> None:
        from edgecc.kernels import tir

        s = self.spec
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // s.oh), tir.let(row % s.oh)
            top = tir.let(y * s.strides[0] - s.pads[0])
            self.first = tir.let(row * s.ow)
            self.base = tir.let((image * s.h + top) * (s.w * s.c))
            self._row(y, top)

    def _row(self, y: Any, top: Any) -> None:
        """With the rows of the window written out where all are in the image, else a loop."""
        from edgecc.kernels import tir

        s, whole = self.spec, whole_rows(self.spec)
        if not self.unrolled:
            self._channels(self._inside(top))
        elif len(whole) == s.oh:
            self._channels(range(s.kh))
        else:
            with tir.when(tir.T.And(y >= whole.start, y < whole.stop)):
                self._channels(range(s.kh))
            with tir.when(tir.T.Or(y < whole.start, y >= whole.stop)):
                self._channels(self._inside(top))

    def _inside(self, top: Any) -> tuple[Any, Any]:
        """The first row of a window that is in the image, and the one after the last."""
        return clipped(top, self.spec.dilations[0], self.spec.kh, self.spec.h)

    def _channels(self, rows: Any) -> None:
        across(self.spec.c, self.lanes, lambda at, lanes: self._columns(rows, at, lanes))

    def _columns(self, rows: Any, at: Any, lanes: int) -> None:
        from edgecc.kernels import tir

        s = self.spec
        kept = self._kept(at, lanes) if isinstance(rows, range) else None
        bias = tir.let(tir.load(self.biases, at, lanes))
        for run in self.columns if self.unrolled else [Columns(0, s.ow, 0, s.kw)]:
            count = run.end - run.begin
            tiles = count // self.pixels if self.unrolled else 0
            for begin, times, pixels in ((run.begin, tiles, self.pixels),
                                         (run.begin + tiles * self.pixels,
                                          count - tiles * self.pixels, 1)):
                with tir.loop(0, times) as number:
                    first = tir.let(begin + number * pixels)
                    _Tile(self, first, pixels, at, lanes).emit(bias, rows, run, kept)

    def _kept(self, at: Any, lanes: int) -> list[Any] | None:
        taps = self.spec.kh * self.spec.kw
        return [self.weight(i, at, lanes) for i in range(taps)] if taps <= IN_REGISTERS else None

    def added(self, acc: Any, value: Any, weights: Any, lanes: int) -> Any:
        """A sum and one more product."""
        return acc + value * weights

    def weight(self, tap: Any, at: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        return tir.let(tir.load(self.weights, tap * self.spec.c + at, lanes))


class _Tile:
    """`pixels` of a row from output column x on, `lanes` channels from `at` on."""

    def __init__(self, row: Row, x: Any, pixels: int, at: Any, lanes: int) -> None:
        from edgecc.kernels import tir

        self.row, self.spec, self.x, self.pixels = row, row.spec, x, pixels
        self.at, self.lanes = at, lanes
        self.sums = tir.local(pixels * lanes, row.kind)
        self.left = tir.let(x * self.spec.strides[1] - self.spec.pads[1])

    def emit(self, bias: Any, rows: Any, run: Columns, kept: list[Any] | None) -> None:
        from edgecc.kernels import tir

        for i in range(self.pixels):
            tir.store(self.sums, i * self.lanes, bias, self.lanes)
        if isinstance(rows, range):
            for ky in rows:
                self._window_row(ky, run, kept)
        else:
            with tir.loop(*rows) as ky:
                self._window_row(ky, run, None)
        for i in range(self.pixels):
            to = (self.row.first + self.x + i) * self.spec.c + self.at
            self.row.epilogue(tir.load(self.sums, i * self.lanes, self.lanes), to, self.lanes)

    def _window_row(self, ky: Any, run: Columns, kept: list[Any] | None) -> None:
        from edgecc.kernels import tir

        s = self.spec
        line = ky * (s.dilations[0] * s.w * s.c) + self.row.base + self.at
        begin = tir.let(line + self.left * s.c)
        if self.row.unrolled:
            self._written_out(begin, ky * s.kw, run, kept)
            return
        with tir.loop(*clipped(self.left, s.dilations[1], s.kw, s.w)) as kx:
            value = tir.load(self.row.k.inputs[0], begin + kx * (s.dilations[1] * s.c), self.lanes)
            self._add(0, value, self.row.weight(ky * s.kw + kx, self.at, self.lanes))

    def _written_out(self, begin: Any, first_tap: Any, run: Columns, kept: Any) -> None:
        """Columns from left to right, each loaded once; every sum takes its taps in order."""
        from edgecc.kernels import tir

        s = self.spec
        taps = range(run.first, run.last)
        weights = {kx: kept[first_tap + kx] if kept else
                   self.row.weight(first_tap + kx, self.at, self.lanes) for kx in taps}
        for column, uses in by_column(s, taps, self.pixels):
            value = tir.let(tir.load(self.row.k.inputs[0], begin + column * s.c, self.lanes))
            for pixel, kx in uses:
                self._add(pixel, value, weights[kx])

    def _add(self, pixel: int, value: Any, weight: Any) -> None:
        from edgecc.kernels import tir

        at, lanes = pixel * self.lanes, self.lanes
        total = self.row.added(tir.load(self.sums, at, lanes), value, weight, lanes)
        tir.store(self.sums, at, total, lanes)


Use = tuple[int, int]  # pixel, tap


def by_column(spec: Conv2d, taps: range, pixels: int) -> Iterable[tuple[int, list[Use]]]:
    """Columns, counted from the first pixel's window, and who uses each."""
    found: dict[int, list[Use]] = {}
    for pixel in range(pixels):
        for kx in taps:
            column = pixel * spec.strides[1] + kx * spec.dilations[1]
            found.setdefault(column, []).append((pixel, kx))
    return sorted(found.items())


def clipped(begin: Any, step: int, taps: int, size: int) -> tuple[Any, Any]:
    """Which taps, `step` apart from `begin` on, are in [0, size): the first, and one past the
    last."""
    from edgecc.kernels import tir

    T = tir.T
    first = tir.let(T.max((step - 1 - begin) // step, 0))
    return first, tir.let(T.max(T.min((size - 1 - begin) // step + 1, taps), first))


def cost(spec: Conv2d) -> float:
    return 50 + spec.macs * 0.5


KERNELS = (
    KernelRecord("float32_conv2d_depthwise__generic", "conv2d", "float32", frozenset(), accepts,
                 cost, lambda spec: spec.n * spec.oh, pack, build, fast=True,
                 over_input=lambda spec: distance_bytes(spec, spec.ow)),
)
