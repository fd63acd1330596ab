"""float32 depthwise convolution, NHWC, multiplier 1: vectors over channels, one multiply a tap.

Packed constants: lo, hi; bias (c,); weights (taps, c).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels.conv2d_float import Rows, open_kernel
from edgecc.kernels.elementwise import across, header, joined, vector_bytes
from edgecc.kernels.float_tile import HEADER_BYTES, Epilogue
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import RingShape
from edgecc.kernels.spec import Conv2d

IN_REGISTERS = 10  # weights kept in registers along a row; more are read again for every pixel
UNROLLED = 32  # taps written out one by one


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


def _scratch(spec: Conv2d) -> int:
    return RingShape(spec).elements if any(spec.pads) else 0


def build(spec: Conv2d, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with open_kernel(spec, symbol, _scratch(spec)) as k:
        rows = Rows(k, spec, RingShape(spec) if any(spec.pads) else None)
        work = Row(k, spec, rows)
        with tir.loop(k.begin, k.end) as row:
            rows.enter(row)
            work.enter(tir.let(row * spec.ow))
            across(spec.c, vector_bytes(target) // 4, work.channels)
    return k.func


class Row:
    """One output row, a vector of channels at a time, computed in `kind`."""

    kind = "float32"

    def __init__(self, k: Any, spec: Conv2d, rows: Rows) -> None:
        self.k, self.spec, self.rows, self.first = k, spec, rows, None
        self.unrolled = spec.kh * spec.kw <= UNROLLED
        bytes_each = np.dtype(self.kind).itemsize
        self.biases = k.weights(self.kind, HEADER_BYTES)
        self.weights = k.weights(spec.dtype, HEADER_BYTES + bytes_each * spec.c)
        self.epilogue: Any = self.ending()
        self.bases: list[Any] = []

    def ending(self) -> Any:
        """What is done with a sum: see Epilogue."""
        return Epilogue(self.k, self.spec.clamp, self.spec.residual)

    def enter(self, first: Any) -> None:
        """`first`: the row's first output pixel."""
        from edgecc.kernels import tir

        self.first = first
        if self.unrolled:
            self.bases = [tir.let(self.rows.base(ky)) for ky in range(self.spec.kh)]

    def channels(self, at: Any, lanes: int) -> None:
        from edgecc.kernels import tir

        s = self.spec
        taps = s.kh * s.kw
        bias = tir.let(tir.load(self.biases, at, lanes))
        kept = [self._weights(i, at, lanes) for i in range(taps)] if taps <= IN_REGISTERS else None
        with tir.loop(0, s.ow) as ox:
            acc = tir.local(lanes, self.kind)
            tir.store(acc, 0, bias, lanes)
            column = tir.let(ox * (s.strides[1] * s.c) + at)

            def multiply(base: Any, kx: Any, weights: Any) -> None:
                offset = base + column + kx * (s.dilations[1] * s.c)
                value = tir.load(self.rows.source, offset, lanes)
                tir.store(acc, 0, tir.load(acc, 0, lanes) + value * weights, lanes)

            self._taps(multiply, at, lanes, kept)
            self.epilogue(tir.load(acc, 0, lanes), (self.first + ox) * s.c + at, lanes)

    def _weights(self, tap: Any, at: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        return tir.let(tir.load(self.weights, tap * self.spec.c + at, lanes))

    def _taps(self, multiply: Any, at: Any, lanes: int, kept: list[Any] | None) -> None:
        from edgecc.kernels import tir

        s = self.spec
        if self.unrolled:
            for tap in range(s.kh * s.kw):
                weights = kept[tap] if kept else self._weights(tap, at, lanes)
                multiply(self.bases[tap // s.kw], tap % s.kw, weights)
            return
        with tir.loop(0, s.kh) as ky:
            base = tir.let(self.rows.base(ky))
            with tir.loop(0, s.kw) as kx:
                multiply(base, kx, self._weights(ky * s.kw + kx, at, lanes))


def cost(spec: Conv2d) -> float:
    copies = spec.n * spec.h * spec.w * spec.c / 2 if any(spec.pads) else 0
    return 50 + spec.macs * 0.5 + copies


KERNELS = (
    KernelRecord("float32_conv2d_depthwise__generic", "conv2d", "float32", frozenset(), accepts,
                 cost, lambda spec: spec.n * spec.oh, pack, build,
                 scratch_bytes=lambda spec: 4 * _scratch(spec), fast=True),
)
