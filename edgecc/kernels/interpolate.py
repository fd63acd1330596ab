"""Interpolation along two axes: a few weighted pixels for each pixel, channels in vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import (
    accept_all,
    across,
    header,
    to_float,
    to_int8,
    vector_bytes,
    widened,
    word,
)
from edgecc.kernels.movement_spec import Interpolate
from edgecc.kernels.registry import KernelRecord

HEADER_WORDS = 2  # zero points


def pack(spec: Interpolate, constants: Mapping[str, Any]) -> np.ndarray:
    """Zero points, then rows, row weights, columns and column weights."""
    zero = [constants.get(f"{end}_zero_point", 0) for end in ("input", "output")]
    rows, columns = (np.asarray(constants[n], np.int32) for n in ("rows", "columns"))
    weights = (np.asarray(constants[f"{n}_weights"], np.float32) for n in ("row", "column"))
    high, wide = weights
    parts = (rows, high, columns, wide)
    return np.concatenate([header(*zero), *(p.reshape(-1).view(np.uint8) for p in parts)])


def extent(spec: Interpolate) -> int:
    return spec.n * spec.oh


def cost(spec: Interpolate) -> float:
    return 20.0 + 2.0 * spec.n * spec.oh * spec.ow * spec.c * spec.taps[0] * spec.taps[1]


def build(spec: Interpolate, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    inputs = [(spec.dtype, spec.n * spec.h * spec.w * spec.c)]
    outputs = [(spec.dtype, spec.n * spec.oh * spec.ow * spec.c)]
    with tir.kernel(symbol, inputs=inputs, outputs=outputs, weights=True) as k:
        work = _Interpolating(k, spec, target)
        with tir.loop(k.begin, k.end) as row, tir.loop(0, spec.ow) as column:
            work.pixel(row, column)
    return k.func


class _Interpolating:
    """Code for one output pixel."""

    def __init__(self, k: Any, spec: Interpolate, target: Any):
        from edgecc.kernels import tir

        self.k, self.spec, self.target = k, spec, target
        self.integers, self.floats = k.weights("int32"), k.weights("float32")
        self.rows = HEADER_WORDS
        self.columns = self.rows + 2 * spec.oh * spec.taps[0]
        if spec.dtype == "int8":
            self.zero = tir.let(tir.T.cast(word(k, 0, "int32"), "int8"))
            self.offset = tir.let(tir.T.cast(word(k, 1, "int32"), "int16"))

    def _taps(self, base: int, at: Any, count: int, size: int) -> list[tuple[Any, Any]]:
        """(index, weight) of every tap of one output row or column."""
        from edgecc.kernels import tir

        first = base + at * count
        return [(tir.let(tir.load(self.integers, first + i)),
                 tir.let(tir.load(self.floats, first + size * count + i))) for i in range(count)]

    def pixel(self, row: Any, column: Any) -> None:
        from edgecc.kernels import tir

        spec = self.spec
        image, at = tir.T.floordiv(row, spec.oh), tir.T.floormod(row, spec.oh)
        high = self._taps(self.rows, at, spec.taps[0], spec.oh)
        wide = self._taps(self.columns, column, spec.taps[1], spec.ow)
        taps = [(tir.let(((image * spec.h + y) * spec.w + x) * spec.c), tir.let(a * b))
                for y, a in high for x, b in wide]
        out = (row * spec.ow + column) * spec.c
        lanes = 8 if spec.dtype == "int8" else vector_bytes(self.target) // 4
        across(spec.c, lanes, lambda c, n: tir.store(
            self.k.outputs[0], out + c, self._value(taps, c, n), n))

    def _value(self, taps: list[tuple[Any, Any]], c: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        total: Any = None
        for source, weight in taps:
            x = tir.load(self.k.inputs[0], source + c, lanes)
            if self.spec.dtype == "int8":
                x = to_float(widened(x, self.zero, lanes), lanes)
            product = x * tir.splat(weight, lanes)
            if self.spec.dtype == "int8":  # never contracted: the sum is the law's
                product = tir.fenced(product, tir.vector("float32", lanes))
            total = product if total is None else tir.let(total + product)
        if self.spec.dtype == "float32":
            return total
        return to_int8(self.target, total, self.offset, lanes)


KERNELS = tuple(
    KernelRecord(f"{dtype}_interpolate_taps__generic", "interpolate", dtype, frozenset(),
                 accept_all, cost, extent, pack, build, fast=True)
    for dtype in ("int8", "float32")
)
