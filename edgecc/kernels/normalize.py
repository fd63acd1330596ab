"""Layer, instance and group normalization of (outer, n, groups, m).

Sums first, then the deviations from the mean: in float32 by a second pass, in int8 exactly in
integers. Rows (n = 1) run in vectors along m; images in vectors of channels, whose sums wait in
scratch until their group's are together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgecc.kernels import float_math as fm
from edgecc.kernels.elementwise import (
    across,
    header,
    to_int8,
    vector_bytes,
    widened,
    word,
)
from edgecc.kernels.math_spec import Normalize
from edgecc.kernels.registry import KernelRecord

HEADER_WORDS = 4
MOST_EXACT = 33025  # values whose squares an int32 holds: 255^2 * 33025 < 2^31


def accepts_int8(spec: Normalize) -> str | None:
    if spec.count > MOST_EXACT:
        return f"squares of {spec.count:,} values do not fit int32, {MOST_EXACT:,} do"
    return None


def pack_int8(spec: Normalize, constants: Mapping[str, Any]) -> np.ndarray:
    """Zero points, floor; then scale and shift."""
    front = header(int(constants["input_zero_point"]), int(constants["output_zero_point"]),
                   np.float32(constants["floor"]), 0)
    return _packed(front, constants)


def pack_float(spec: Normalize, constants: Mapping[str, Any]) -> np.ndarray:
    return _packed(header(np.float32(constants["epsilon"]), 0, 0, 0), constants)


def _packed(front: np.ndarray, constants: Mapping[str, Any]) -> np.ndarray:
    rows = [np.ascontiguousarray(constants[name], np.float32).view(np.uint8)
            for name in ("scale", "shift")]
    return np.concatenate([front, *rows])


def scratch_words(spec: Normalize) -> int:
    """Images: two words for every channel; rows need none."""
    return 0 if spec.n == 1 else 2 * spec.groups * spec.m


class _Work:
    """The kernel under construction: where things lie, and the two passes over a slice."""

    def __init__(self, k: Any, spec: Normalize, target: Any) -> None:
        self.k, self.spec, self.target = k, spec, target
        self.channels = spec.groups * spec.m
        self.lanes = vector_bytes(target) // (4 if spec.dtype == "float32" else 1)
        self.rows = k.weights("float32", 4 * HEADER_WORDS)

    def constant_rows(self, at: Any, lanes: int) -> tuple[Any, Any]:
        from edgecc.kernels import tir

        return tuple(tir.load(self.rows, i * self.channels + at, lanes)  # type: ignore
                     for i in (0, 1))


def total_along(lanes: int, count: int, dtype: str, term: Callable[[Any, int], Any]) -> Any:
    """Sum of term(offset, lanes) over a row: one partial sum per lane, joined in order."""
    from edgecc.kernels import tir

    lanes = min(lanes, 1 << (count.bit_length() - 1))
    partial = tir.local(lanes, dtype)
    tir.store(partial, 0, tir.splat(tir.T.cast(0, dtype), lanes), lanes)

    def add(at: Any, width: int) -> None:
        value = term(at, width)
        tir.store(partial, 0, tir.load(partial, 0, width) + value, width)

    across(count, lanes, add)
    total = tir.load(partial, 0)
    for i in range(1, lanes):
        total = total + tir.load(partial, i)
    return tir.let(total)


def build(spec: Normalize, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    operand = [(spec.dtype, spec.size)]
    words = scratch_words(spec)
    kind = "int32" if spec.dtype == "int8" else "float32"
    with tir.kernel(symbol, inputs=operand, outputs=operand, weights=True,
                    scratch=(kind, words) if words else None, may_alias=True) as k:
        form = _Int8 if spec.dtype == "int8" else _Float
        work = form(k, spec, target)
        with tir.loop(k.begin, k.end) as line:
            (_row if spec.n == 1 else _image)(work, line)
    return k.func


def _row(work: Any, line: Any) -> None:
    """One row of m values; its constants are those of its group."""
    from edgecc.kernels import tir

    spec = work.spec
    first = tir.let(line * spec.m)
    own = tir.let(line % spec.groups * spec.m)
    work.measure_row(first)

    def finish(at: Any, n: int) -> None:
        scale, shift = work.constant_rows(own + at, n)
        tir.store(work.k.outputs[0], first + at, work.finished(first + at, scale, shift, n), n)

    across(spec.m, work.lanes, finish)


def _image(work: Any, line: Any) -> None:
    """One image: sums of every channel, joined into those of its group, then the output."""
    from edgecc.kernels import tir

    spec, c = work.spec, work.channels
    first = tir.let(line * (spec.n * c))
    work.measure_image(first)
    with tir.loop(0, spec.n) as i:
        def finish(at: Any, n: int) -> None:
            scale, shift = work.constant_rows(at, n)
            place = first + i * c + at
            tir.store(work.k.outputs[0], place, work.finished_at(place, at, scale, shift, n), n)

        across(c, work.lanes, finish)


class _Float(_Work):
    """float32: mean, then the mean square of what is left."""

    def __init__(self, k: Any, spec: Normalize, target: Any) -> None:
        super().__init__(k, spec, target)
        self.epsilon = word(k, 0, "float32")
        self.mean: Any = None
        self.inverse: Any = None

    def _inverse(self, squares: Any) -> Any:
        from edgecc.kernels import tir

        variance = squares * tir.T.float32(1.0 / self.spec.count) + self.epsilon
        return tir.let(tir.T.float32(1.0) / fm.square_root(variance, 1))

    def measure_row(self, first: Any) -> None:
        from edgecc.kernels import tir

        m, x = self.spec.m, self.k.inputs[0]
        total = total_along(self.lanes, m, "float32", lambda at, n: tir.load(x, first + at, n))
        self.mean = tir.let(total * tir.T.float32(1.0 / m))

        def square(at: Any, n: int) -> Any:
            d = tir.let(tir.load(x, first + at, n) - tir.splat(self.mean, n))
            return d * d

        self.inverse = self._inverse(total_along(self.lanes, m, "float32", square))

    def finished(self, place: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        d = tir.load(self.k.inputs[0], place, n) - tir.splat(self.mean, n)
        return d * tir.splat(self.inverse, n) * scale + shift

    def measure_image(self, first: Any) -> None:
        """scratch: mean of every channel, then its inverse deviation."""
        from edgecc.kernels import tir

        c, s = self.channels, self.k.scratch
        self._channel_sums(first, 0, lambda x, at, n: x)
        self._join(0, lambda total: total * tir.T.float32(1.0 / self.spec.count))

        def square(x: Any, at: Any, n: int) -> Any:
            d = tir.let(x - tir.load(s, at, n))
            return d * d

        self._channel_sums(first, c, square)
        self._join(c, self._inverse)

    def _channel_sums(self, first: Any, to: int, term: Callable[[Any, Any, int], Any]) -> None:
        from edgecc.kernels import tir

        spec, c = self.spec, self.channels

        def chunk(at: Any, n: int) -> None:
            total = tir.local(n, "float32")
            tir.store(total, 0, fm.constant(0.0, n), n)
            with tir.loop(0, spec.n) as i:
                x = tir.load(self.k.inputs[0], first + i * c + at, n)
                tir.store(total, 0, tir.load(total, 0, n) + term(x, at, n), n)
            tir.store(self.k.scratch, to + at, tir.load(total, 0, n), n)

        across(c, self.lanes, chunk)

    def _join(self, at: int, finish: Callable[[Any], Any]) -> None:
        """Every channel's sum becomes finish(its group's sum)."""
        from edgecc.kernels import tir

        m, s = self.spec.m, self.k.scratch
        with tir.loop(0, self.spec.groups) as g:
            first = tir.let(at + g * m)
            value = tir.let(finish(total_along(1, m, "float32",
                                               lambda i, n: tir.load(s, first + i, n))))
            with tir.loop(0, m) as i:
                tir.store(s, first + i, value)

    def finished_at(self, place: Any, at: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        d = tir.load(self.k.inputs[0], place, n) - tir.load(self.k.scratch, at, n)
        return d * tir.load(self.k.scratch, self.channels + at, n) * scale + shift


class _Int8(_Work):
    """int8: S = sum(x - zx) and Q = sum((x - zx)^2) exactly, the rest in float32 as the law."""

    def __init__(self, k: Any, spec: Normalize, target: Any) -> None:
        from edgecc.kernels import tir

        super().__init__(k, spec, target)
        self.zx = tir.let(tir.T.cast(word(k, 0, "int32"), "int8"))
        self.zy = tir.let(tir.T.cast(word(k, 1, "int32"), "int16"))
        self.floor = word(k, 2, "float32")
        self.total: Any = None
        self.inverse: Any = None

    def centred(self, place: Any, n: int) -> Any:
        from edgecc.kernels import tir

        x = widened(tir.load(self.k.inputs[0], place, n), self.zx, n)
        return tir.T.cast(x, tir.vector("int32", n))

    def _inverse(self, total: Any, squares: Any) -> Any:
        """1 / sqrt(count * Q - S^2 + floor); the int64 goes to float32 in two exact halves."""
        from edgecc.kernels import tir

        T = tir.T
        wide, other = T.cast(total, "int64"), T.cast(squares, "int64")
        spread = tir.let(other * T.int64(self.spec.count) - wide * wide)
        high = T.cast(T.cast(T.shift_right(spread, T.int64(24)), "int32"), "float32")
        low = T.cast(T.cast(T.bitwise_and(spread, T.int64((1 << 24) - 1)), "int32"), "float32")
        real = tir.fenced(high * T.float32(1 << 24) + low, "float32")
        return tir.let(T.float32(1.0) / fm.square_root(real + self.floor, 1))

    def measure_row(self, first: Any) -> None:
        m = self.spec.m
        self.total = total_along(self.lanes, m, "int32", lambda at, n: self.centred(first + at, n))
        self.inverse = self._inverse(self.total, total_along(
            self.lanes, m, "int32", lambda at, n: self._square(first + at, n)))

    def _square(self, place: Any, n: int) -> Any:
        from edgecc.kernels import tir

        x = tir.let(self.centred(place, n))
        return x * x

    def _scaled(self, place: Any, total: Any, inverse: Any, rows: tuple[Any, Any], n: int) -> Any:
        from edgecc.kernels import tir

        kind = tir.vector("float32", n)
        deviation = self.centred(place, n) * tir.splat(tir.T.int32(self.spec.count), n) - total
        unit = tir.fenced(tir.T.cast(deviation, kind) * inverse, kind)
        real = tir.fenced(unit * rows[0], kind) + rows[1]
        return to_int8(self.target, real, self.zy, n)

    def finished(self, place: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        total, inverse = tir.splat(self.total, n), tir.splat(self.inverse, n)
        return self._scaled(place, total, inverse, (scale, shift), n)

    def measure_image(self, first: Any) -> None:
        """scratch: S of every channel's group, then the bits of its inverse deviation."""
        from edgecc.kernels import tir

        spec, c, s = self.spec, self.channels, self.k.scratch

        def chunk(at: Any, n: int) -> None:
            sums = [tir.local(n, "int32") for _ in range(2)]
            for buffer in sums:
                tir.store(buffer, 0, tir.splat(tir.T.int32(0), n), n)
            with tir.loop(0, spec.n) as i:
                x = tir.let(self.centred(first + i * c + at, n))
                for buffer, term in zip(sums, (x, x * x), strict=True):
                    tir.store(buffer, 0, tir.load(buffer, 0, n) + term, n)
            for i, buffer in enumerate(sums):
                tir.store(s, i * c + at, tir.load(buffer, 0, n), n)

        across(c, self.lanes, chunk)
        with tir.loop(0, spec.groups) as g:
            self._join(tir.let(g * spec.m))

    def _join(self, first: Any) -> None:
        from edgecc.kernels import tir

        m, c, s = self.spec.m, self.channels, self.k.scratch
        def along(at: int) -> Any:
            return total_along(1, m, "int32", lambda i, n: tir.load(s, first + at + i, n))

        total, squares = along(0), along(c)
        bits = tir.let(tir.T.reinterpret("int32", self._inverse(total, squares)))
        with tir.loop(0, m) as i:
            tir.store(s, first + i, total)
            tir.store(s, first + c + i, bits)

    def finished_at(self, place: Any, at: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        total = tir.load(self.k.scratch, at, n)
        bits = tir.load(self.k.scratch, self.channels + at, n)
        inverse = tir.T.reinterpret(tir.vector("float32", n), bits)
        return self._scaled(place, total, inverse, (scale, shift), n)


def extent(spec: Normalize) -> int:
    return spec.outer * spec.groups if spec.n == 1 else spec.outer


def _record(dtype: str, accepts: Any, pack: Any, per_value: float) -> KernelRecord:
    return KernelRecord(
        f"{dtype}_normalize_vector__generic", "normalize", dtype, frozenset(), accepts,
        lambda spec: 60 + 60 * extent(spec) + per_value * spec.size, extent, pack, build,
        scratch_bytes=lambda spec: 4 * scratch_words(spec), fast=True)


KERNELS = (
    _record("int8", accepts_int8, pack_int8, 5.0),
    _record("float32", lambda spec: None, pack_float, 2.0),
)
