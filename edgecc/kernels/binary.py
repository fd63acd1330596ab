"""Elementwise arithmetic of two tensors, int8 and float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import (
    accept_all,
    across,
    block_count,
    bounded,
    header,
    nothing,
    scaled,
    sweep,
    to_float,
    to_int8,
    vector_bytes,
    widened,
    word,
)
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Binary


def pack_int8(spec: Any, constants: Mapping[str, Any]) -> np.ndarray:
    """ratio, residual_ratio (0 for mul and div), three zero points, lo, hi."""
    other = constants.get("residual_ratio", 0.0)
    limits = (constants["lo"], constants["hi"]) if spec.clamp else (-128, 127)
    zero_points = (constants[f"{n}_zero_point"] for n in ("a", "b", "output"))
    return header(np.float32(constants["ratio"]), np.float32(other),
                  *(int(v) for v in (*zero_points, *limits)))


def pack_float(spec: Any, constants: Mapping[str, Any]) -> np.ndarray:
    if not spec.clamp:
        return nothing(spec, constants)
    return header(np.float32(constants["lo"]), np.float32(constants["hi"]))


def extent(spec: Binary) -> int:
    """Blocks of elements, or rows of `channels`."""
    return spec.size // spec.channels if spec.broadcast == "channel" else block_count(spec.size)


def _sweep(k: Any, spec: Binary, lanes: int, compute: Callable[[Any, Any, int], Any],
           unroll: int) -> None:
    """Store compute(offset in a, offset in b or None, lanes) for every element."""
    from edgecc.kernels import tir

    if spec.broadcast != "channel":
        scalar = spec.broadcast == "scalar"
        sweep(k, spec.size, lanes, lambda at, n: compute(at, None if scalar else at, n), unroll)
        return
    with tir.loop(k.begin, k.end) as row:
        first = row * spec.channels

        def body(at: Any, n: int) -> None:
            tir.store(k.outputs[0], first + at, compute(first + at, at, n), n)

        across(spec.channels, lanes, body)


def _open(spec: Binary, symbol: str, weights: bool) -> Any:
    from edgecc.kernels import tir

    width = {"same": spec.size, "channel": spec.channels, "scalar": 1}[spec.broadcast]
    operands = [(spec.dtype, spec.size), (spec.dtype, width)]
    return tir.kernel(symbol, inputs=operands, outputs=operands[:1], weights=weights,
                      may_alias=True)


def _second(k: Any, spec: Binary) -> Callable[[Any, int], Any]:
    """How the second operand is read; a lone value is read once."""
    from edgecc.kernels import tir

    if spec.broadcast == "scalar":
        value = tir.let(tir.load(k.inputs[1], 0))
        return lambda at, lanes: tir.splat(value, lanes)
    return lambda at, lanes: tir.load(k.inputs[1], at, lanes)


def build_int8(spec: Binary, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with _open(spec, symbol, weights=True) as k:
        arithmetic = Int8(k, spec, target)
        second = _second(k, spec)

        def compute(at: Any, other: Any, lanes: int) -> Any:
            return arithmetic(tir.load(k.inputs[0], at, lanes), second(other, lanes), lanes)

        _sweep(k, spec, vector_bytes(target), compute, unroll=1)  # more would spill
    return k.func


class Int8:
    """The parameters in registers, and the operator on int8 vectors."""

    def __init__(self, k: Any, spec: Any, target: Any) -> None:
        from edgecc.kernels import tir

        self.spec, self.target = spec, target
        self.ratios = [word(k, i, "float32") for i in (0, 1)]
        a, b, y, lo, hi = (word(k, i, "int32") for i in range(2, 7))
        self.a, self.b, lo, hi = (tir.let(tir.T.cast(v, "int8")) for v in (a, b, lo, hi))
        self.y = tir.let(tir.T.cast(y, "int16"))
        self.limits = (lo, hi) if spec.clamp else None

    def __call__(self, a: Any, b: Any, lanes: int) -> Any:
        left, right = widened(a, self.a, lanes), widened(b, self.b, lanes)
        form = {"mul": self._product, "div": self._quotient}.get(self.spec.kind, self._sum)
        real = form(left, right, lanes)
        return to_int8(self.target, real, self.y, lanes, self.limits)

    def _product(self, left: Any, right: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        wide = tir.vector("int32", lanes)
        product = tir.T.cast(left, wide) * tir.T.cast(right, wide)
        return scaled(to_float(product, lanes), self.ratios[0], lanes)

    def _sum(self, left: Any, right: Any, lanes: int) -> Any:
        mine = scaled(to_float(left, lanes), self.ratios[0], lanes)
        other = scaled(to_float(right, lanes), self.ratios[1], lanes)
        return FLOAT[self.spec.kind](mine, other)

    def _quotient(self, left: Any, right: Any, lanes: int) -> Any:
        mine = scaled(to_float(left, lanes), self.ratios[0], lanes)
        return mine / to_float(right, lanes)


def _smaller(a: Any, b: Any) -> Any:
    from edgecc.kernels import tir

    return tir.T.min(a, b)


def _larger(a: Any, b: Any) -> Any:
    from edgecc.kernels import tir

    return tir.T.max(a, b)


FLOAT = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
         "div": lambda a, b: a / b, "min": _smaller, "max": _larger}


def build_float(spec: Binary, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with _open(spec, symbol, weights=spec.clamp) as k:
        limits = [word(k, i, "float32") for i in range(2)] if spec.clamp else []
        second = _second(k, spec)

        def compute(at: Any, other: Any, lanes: int) -> Any:
            y = FLOAT[spec.kind](tir.load(k.inputs[0], at, lanes), second(other, lanes))
            return bounded(y, limits[0], limits[1], lanes) if limits else y

        _sweep(k, spec, vector_bytes(target) // 4, compute, unroll=4)
    return k.func


KERNELS = (
    KernelRecord("int8_binary_vector__generic", "binary", "int8", frozenset(), accept_all,
                 lambda spec: 30 + 3.5 * spec.size, extent, pack_int8, build_int8, fast=True),
    KernelRecord("float32_binary_vector__generic", "binary", "float32", frozenset(), accept_all,
                 lambda spec: 20 + spec.size, extent, pack_float, build_float, fast=True),
)
