"""Average and max pooling, NHWC: channels in vectors, windows cut to the image.

Columns fall into three spans: those whose window hangs over the left or right edge (limits found
at run time) and the interior (limits known). Windows of whole rows become one run of positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import header, nothing, vector_bytes, word
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.pool_law import averaged
from edgecc.kernels.pool_window import VECTORS, Counts, Pooling, across_channels
from edgecc.kernels.reference import pool_counts, pool_ratio
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Pool2d

HEADER_WORDS = 4
MOST_IN_INT16 = 256  # positions of -128 that an int16 sum holds


def flattened(spec: Pool2d) -> Pool2d:
    """Windows of whole rows, as windows one row high on an image one row wide."""
    whole = (spec.kw == spec.w and not any(spec.pads) and spec.dilations == (1, 1)
             and spec.ow == 1 and spec.oh == 1 and spec.kh == spec.h)
    if not whole:
        return spec
    run = spec.h * spec.w
    return replace(spec, h=1, w=run, kh=1, kw=run, strides=(1, 1), ceil_mode=False)


def in_words(target: Any) -> bool:
    """Whether bytes go four at a time, each in a register of its own."""
    return vector_bytes(target) == 4


def side_by_side(spec: Pool2d, target: Any) -> int:
    """Vectors of channels in one pass over a window."""
    return 1 if spec.dtype == "int8" and in_words(target) else VECTORS


def extent(spec: Pool2d) -> int:
    return spec.n * spec.oh


def factors(spec: Pool2d) -> np.ndarray:
    """Every divisor that occurs: the only one, or 1..kh*kw by position."""
    counts = np.unique(pool_counts(spec))
    return counts if len(counts) == 1 else np.arange(1, counts.max() + 1)


def pack_average(spec: Pool2d, constants: Mapping[str, Any]) -> np.ndarray:
    """input and output zero point, lo, hi, then sx / (sy * count) for each count."""
    front = header(int(constants["input_zero_point"]), int(constants["output_zero_point"]),
                   int(constants.get("lo", -128)), int(constants.get("hi", 127)))
    ratios = pool_ratio(constants["input_scale"], constants["output_scale"], factors(spec))
    return np.concatenate([front, np.asarray(ratios, np.float32).view(np.uint8)])


def _open(spec: Pool2d, symbol: str, weights: bool) -> Any:
    from edgecc.kernels import tir

    source = [(spec.dtype, spec.n * spec.h * spec.w * spec.c)]
    result = [(spec.dtype, spec.n * spec.oh * spec.ow * spec.c)]
    return tir.kernel(symbol, inputs=source, outputs=result, weights=weights, may_alias=True)


def build_max(spec: Pool2d, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    flat, lanes = flattened(spec), vector_bytes(target) // (1 if spec.dtype == "int8" else 4)
    with _open(flat, symbol, weights=False) as k:
        lowest = tir.T.int8(-128) if spec.dtype == "int8" else _minus_infinity()

        def window(pool: Pooling, out: Any, counts: Counts) -> None:
            def chunk(at: Any, widths: list[int]) -> None:
                best = [tir.local(n, spec.dtype) for n in widths]
                for buffer, n in zip(best, widths, strict=True):
                    tir.store(buffer, 0, tir.splat(lowest, n), n)

                def join(position: Any) -> None:
                    for offset, buffer, n in _spans(position + at, best, widths):
                        value = tir.load(k.inputs[0], offset, n)
                        tir.store(buffer, 0, tir.T.max(tir.load(buffer, 0, n), value), n)

                pool.positions(join)
                for offset, buffer, n in _spans(out + at, best, widths):
                    tir.store(k.outputs[0], offset, tir.load(buffer, 0, n), n)

            across_channels(flat.c, lanes, chunk, side_by_side(spec, target))

        Pooling(k, flat, spec).emit(window)
    return k.func


def _minus_infinity() -> Any:
    from edgecc.kernels import tir

    return tir.T.reinterpret("float32", tir.T.int32(-(1 << 23)))


def _spans(first: Any, buffers: list[Any], widths: list[int]) -> list[tuple[Any, Any, int]]:
    """(offset, buffer, lanes) of vectors that lie side by side."""
    at, found = 0, []
    for buffer, n in zip(buffers, widths, strict=True):
        found.append((first + at, buffer, n))
        at += n
    return found


def build_average_float(spec: Pool2d, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    flat = flattened(spec)
    with _open(flat, symbol, weights=False) as k:

        def window(pool: Pooling, out: Any, counts: Counts) -> None:
            share = tir.let(tir.T.float32(1.0) / tir.T.cast(counts.divisor, "float32"))

            def chunk(at: Any, widths: list[int]) -> None:
                sums = _summed(k, pool, at, widths, "float32")
                for offset, buffer, n in _spans(out + at, sums, widths):
                    tir.store(k.outputs[0], offset, tir.load(buffer, 0, n) * tir.splat(share, n), n)

            across_channels(flat.c, vector_bytes(target) // 4, chunk)

        Pooling(k, flat, spec).emit(window)
    return k.func


def _summed(k: Any, pool: Pooling, at: Any, widths: list[int], dtype: str,
            parts: bool = True) -> list[Any]:
    """Registers with the window's sums; `parts`: sums of a long run first go to int16."""
    from edgecc.kernels import tir

    sums = _cleared(widths, dtype)

    def add(position: Any) -> None:
        for offset, buffer, n in _spans(position + at, sums, widths):
            value = tir.T.cast(tir.load(k.inputs[0], offset, n), tir.vector(dtype, n))
            tir.store(buffer, 0, tir.load(buffer, 0, n) + value, n)

    if dtype != "int32" or not pool.is_run or not parts:
        pool.positions(add)
        return sums
    return _summed_in_parts(k, pool, at, widths, sums)


def _summed_in_parts(k: Any, pool: Pooling, at: Any, widths: list[int], sums: list[Any]):
    """A long run: int16 sums of MOST_IN_INT16 positions, added to the int32 ones."""
    from edgecc.kernels import tir

    def part(first: Any, count: int) -> None:
        short = _cleared(widths, "int16")
        with tir.loop(0, count) as i:
            position = pool.run_position(first + i)
            for offset, buffer, n in _spans(position + at, short, widths):
                value = tir.T.cast(tir.load(k.inputs[0], offset, n), tir.vector("int16", n))
                tir.store(buffer, 0, tir.load(buffer, 0, n) + value, n)
        for total, buffer, n in zip(sums, short, widths, strict=True):
            value = tir.T.cast(tir.load(buffer, 0, n), tir.vector("int32", n))
            tir.store(total, 0, tir.load(total, 0, n) + value, n)

    whole, rest = divmod(pool.spec.kw, MOST_IN_INT16)
    with tir.loop(0, whole) as turn:
        part(turn * MOST_IN_INT16, MOST_IN_INT16)
    if rest:
        part(whole * MOST_IN_INT16, rest)
    return sums


def _cleared(widths: list[int], dtype: str) -> list[Any]:
    from edgecc.kernels import tir

    made = [tir.local(n, dtype) for n in widths]
    for buffer, n in zip(made, widths, strict=True):
        zero = tir.T.cast(0, dtype)
        tir.store(buffer, 0, tir.splat(zero, n), n)
    return made


def build_average_int8(spec: Pool2d, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    flat, words = flattened(spec), in_words(target)
    narrow = spec.kh * spec.kw <= MOST_IN_INT16 and not words
    with _open(flat, symbol, weights=True) as k:
        finish = _Finish(k, spec, target)

        def window(pool: Pooling, out: Any, counts: Counts) -> None:
            finish.prepare(counts)

            def chunk(at: Any, widths: list[int]) -> None:
                sums = _summed(k, pool, at, widths, "int16" if narrow else "int32", not words)
                for offset, buffer, n in _spans(out + at, sums, widths):
                    tir.store(k.outputs[0], offset, finish(tir.load(buffer, 0, n), n), n)

            across_channels(flat.c, vector_bytes(target), chunk, side_by_side(spec, target))

        Pooling(k, flat, spec).emit(window)
    return k.func


class _Finish:
    """From a window's sum to int8: the parameters in registers, ratio and bias of the window."""

    def __init__(self, k: Any, spec: Pool2d, target: Any) -> None:
        from edgecc.kernels import tir

        self.k, self.target, self.only = k, target, len(factors(spec)) == 1
        self.input_zero = word(k, 0, "int32")
        self.zero_point = tir.let(tir.T.cast(word(k, 1, "int32"), "int16"))
        self.limits = [tir.let(tir.T.cast(word(k, i, "int32"), "int8")) for i in (2, 3)]
        self.ratio = word(k, HEADER_WORDS, "float32") if self.only else None
        self.bias: Any = None

    def prepare(self, counts: Counts) -> None:
        from edgecc.kernels import tir

        self.bias = tir.let(self.input_zero * counts.inside)
        if not self.only:
            index = HEADER_WORDS - 1 + counts.divisor
            self.ratio = tir.let(tir.load(self.k.weights("float32"), index))

    def __call__(self, total: Any, lanes: int) -> Any:
        from edgecc.kernels import tir
        from edgecc.kernels.elementwise import scaled, to_float, to_int8

        wide = tir.T.cast(total, tir.vector("int32", lanes)) - tir.splat(self.bias, lanes)
        real = scaled(to_float(wide, lanes), self.ratio, lanes)
        return to_int8(self.target, real, self.zero_point, lanes, self.limits)


def _accepts(kind: str) -> Any:
    def accepts(spec: Pool2d) -> str | None:
        return None if spec.kind == kind else f"computes {kind} pooling only"

    return accepts


def _cost(per_position: float, per_output: float) -> Any:
    def cost(spec: Pool2d) -> float:
        outputs = spec.n * spec.oh * spec.ow
        window = 8 + spec.c * (per_position * spec.kh * spec.kw + per_output)
        return 20 + outputs * window

    return cost


def _over_input(spec: Pool2d) -> int | None:
    return distance_bytes(spec, spec.ow)


KERNELS = (
    KernelRecord("int8_pool2d_max__generic", "pool2d", "int8", frozenset(), _accepts("max"),
                 _cost(0.15, 0.2), extent, nothing, build_max, fast=True,
                 over_input=_over_input),
    KernelRecord("int8_pool2d_average__generic", "pool2d", "int8", frozenset(),
                 _accepts("average"), _cost(0.2, 2.0), extent, pack_average, build_average_int8,
                 fast=True, over_input=_over_input),
    KernelRecord("float32_pool2d_max__generic", "pool2d", "float32", frozenset(), _accepts("max"),
                 _cost(0.6, 0.5), extent, nothing, build_max, fast=True,
                 over_input=_over_input),
    KernelRecord("float32_pool2d_average__generic", "pool2d", "float32", frozenset(),
                 _accepts("average"), _cost(0.6, 1.0), extent, nothing, build_average_float,
                 fast=True, law=averaged, over_input=_over_input),
)
