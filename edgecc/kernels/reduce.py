"""Reductions of (outer, n, inner) along n, and indices of extremes.

With an inner axis, vectors of it run down n in registers; without, vectors run along n
(`folding.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgecc.kernels import float_math as fm
from edgecc.kernels import folding
from edgecc.kernels.elementwise import (
    accept_all,
    across,
    header,
    nothing,
    scaled,
    to_float,
    to_int8,
    vector_bytes,
    word,
)
from edgecc.kernels.math_spec import ArgReduce, Reduce
from edgecc.kernels.reference import pool_ratio
from edgecc.kernels.registry import KernelRecord

EXTREMES = ("max", "min")
Join = Callable[[Any, Any], Any]


def pack_int8(spec: Reduce, constants: Mapping[str, Any]) -> np.ndarray:
    """Zero point times n, output zero point, ratio; nothing for extremes."""
    if spec.kind in EXTREMES:
        return nothing(spec, constants)
    count = spec.n if spec.kind == "mean" else 1
    ratio = np.float32(pool_ratio(constants["input_scale"], constants["output_scale"], count))
    bias = np.int64(int(constants["input_zero_point"]) * spec.n).astype(np.int32)
    return header(bias, int(constants["output_zero_point"]), ratio)


def accepts_int8(spec: Reduce) -> str | None:
    return None if spec.kind in (*EXTREMES, "sum", "mean") else f"int8 {spec.kind} is not defined"


class _Folding:
    """How one kind joins values, over registers of `dtype`."""

    def __init__(self, spec: Reduce) -> None:
        self.spec = spec
        sums = spec.dtype == "int8" and spec.kind not in EXTREMES
        self.dtype = "int32" if sums else spec.dtype

    def start(self, lanes: int) -> Any:
        from edgecc.kernels import tir

        T, kind = tir.T, self.spec.kind
        if kind in EXTREMES:
            value = T.min_value(self.dtype) if kind == "max" else T.max_value(self.dtype)
        else:
            value = T.cast(1 if kind == "prod" else 0, self.dtype)
        return tir.splat(value, lanes)

    def term(self, x: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        if self.dtype != self.spec.dtype:
            return tir.T.cast(x, tir.vector(self.dtype, lanes))
        if self.spec.kind == "l1":
            return fm.magnitude(x, lanes)
        if self.spec.kind == "sum_square":
            x = tir.let(x)
            return x * x
        return x

    def join(self, a: Any, b: Any) -> Any:
        from edgecc.kernels import tir

        kind = self.spec.kind
        if kind in EXTREMES:
            return tir.T.max(a, b) if kind == "max" else tir.T.min(a, b)
        return a * b if kind == "prod" else a + b

    def chains(self, lanes: int) -> int:
        """Partial results along n."""
        exact = self.spec.kind in EXTREMES or self.dtype != "float32"
        return lanes if exact else folding.CHAINS


def build(spec: Reduce, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    outputs = spec.outer * spec.inner
    weights = spec.dtype == "int8" and spec.kind not in EXTREMES
    with tir.kernel(symbol, inputs=[(spec.dtype, outputs * spec.n)],
                    outputs=[(spec.dtype, outputs)], weights=weights) as k:
        kind, finish = _Folding(spec), _finish(k, spec, target)
        lanes = vector_bytes(target) // (1 if spec.dtype == "int8" else 4)
        with tir.loop(k.begin, k.end) as line:
            if spec.inner == 1:
                _along(k, spec, kind, finish, line, lanes)
            else:
                _down(k, spec, kind, finish, line, lanes)
    return k.func


def _finish(k: Any, spec: Reduce, target: Any) -> Callable[[Any, int], Any]:
    """From the joined values to the output's."""
    from edgecc.kernels import tir

    if spec.dtype == "int8" and spec.kind not in EXTREMES:
        bias, ratio = word(k, 0, "int32"), word(k, 2, "float32")
        zero_point = tir.let(tir.T.cast(word(k, 1, "int32"), "int16"))

        def requantized(total: Any, lanes: int) -> Any:
            real = to_float(total - tir.splat(bias, lanes), lanes)
            return to_int8(target, scaled(real, ratio, lanes), zero_point, lanes)

        return requantized
    if spec.kind == "mean":
        return lambda total, lanes: total * fm.constant(1.0 / spec.n, lanes)
    return lambda total, lanes: total


def _down(k: Any, spec: Reduce, kind: _Folding, finish: Callable[[Any, int], Any], line: Any,
          lanes: int) -> None:
    """Vectors of the inner axis."""
    from edgecc.kernels import tir

    first = tir.let(line * (spec.n * spec.inner))

    def chunk(at: Any, width: int) -> None:
        best = tir.local(width, kind.dtype)
        tir.store(best, 0, kind.start(width), width)
        with tir.loop(0, spec.n) as i:
            x = tir.load(k.inputs[0], first + i * spec.inner + at, width)
            joined = kind.join(tir.load(best, 0, width), kind.term(x, width))
            tir.store(best, 0, joined, width)
        y = finish(tir.load(best, 0, width), width)
        tir.store(k.outputs[0], line * spec.inner + at, y, width)

    across(spec.inner, lanes, chunk)


def _along(k: Any, spec: Reduce, kind: _Folding, finish: Callable[[Any, int], Any], line: Any,
           lanes: int) -> None:
    """Vectors along n."""
    from edgecc.kernels import tir

    first = tir.let(line * spec.n)
    whole = folding.folded(
        spec.n, lanes, lambda at, n: kind.term(tir.load(k.inputs[0], first + at, n), n),
        kind.start(1), kind.join, kind.dtype, kind.chains(lanes))
    tir.store(k.outputs[0], line, finish(whole, 1))


def build_arg(spec: ArgReduce, symbol: str, target: Any) -> Any:
    """One comparison after the other: the first of equals wins, or the last."""
    from edgecc.kernels import tir

    T, outputs = tir.T, spec.outer * spec.inner
    opened = tir.kernel(symbol, inputs=[(spec.dtype, outputs * spec.n)],
                        outputs=[(spec.output, outputs)], weights=False)
    with opened as k, tir.loop(k.begin, k.end) as line:
        first = tir.let(line // spec.inner * (spec.n * spec.inner) + line % spec.inner)
        best, index = tir.local(1, spec.dtype), tir.local(1, "int32")
        tir.store(best, 0, tir.load(k.inputs[0], first))
        tir.store(index, 0, T.int32(0))
        with tir.loop(1, spec.n) as i:
            x = tir.let(tir.load(k.inputs[0], first + i * spec.inner))
            with tir.when(_beats(spec, x, tir.load(best, 0))):
                tir.store(best, 0, x)
                tir.store(index, 0, i)
        tir.store(k.outputs[0], line, T.cast(tir.load(index, 0), spec.output))
    return k.func


def _beats(spec: ArgReduce, x: Any, best: Any) -> Any:
    if spec.kind == "max":
        return x >= best if spec.last else x > best
    return x <= best if spec.last else x < best


def _cost(spec: Reduce) -> float:
    return 30 + spec.outer * (10 + spec.inner * (2 + 0.5 * spec.n))


KERNELS = (
    KernelRecord("int8_reduce_vector__generic", "reduce", "int8", frozenset(), accepts_int8,
                 _cost, lambda spec: spec.outer, pack_int8, build, fast=True),
    KernelRecord("float32_reduce_vector__generic", "reduce", "float32", frozenset(), accept_all,
                 _cost, lambda spec: spec.outer, nothing, build, fast=True),
    *(KernelRecord(f"{dtype}_arg_reduce_scalar__generic", "arg_reduce", dtype, frozenset(),
                   accept_all, lambda spec: 30 + 4.0 * spec.outer * spec.n * spec.inner,
                   lambda spec: spec.outer * spec.inner, nothing, build_arg)
      for dtype in ("int8", "float32")),
)
