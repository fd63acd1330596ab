"""Elementwise arithmetic where an operand is repeated, and arithmetic with rows of constants.

The innermost axis runs in vectors; an operand that stands still along it is one number there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from edgecc.kernels import binary
from edgecc.kernels.elementwise import (
    accept_all,
    across,
    block_count,
    bounded,
    header,
    sweep,
    to_float,
    to_int8,
    vector_bytes,
    widened,
    word,
)
from edgecc.kernels.math_spec import Broadcast, Rowwise
from edgecc.kernels.registry import KernelRecord

HEADER_WORDS = 8


def extent(spec: Any) -> int:
    """The outermost axis, or blocks of the only one."""
    return spec.shape[0] if len(spec.shape) > 1 else block_count(spec.shape[0])


Strides = Sequence[tuple[int, ...]]


def nest(k: Any, shape: tuple[int, ...], strides: Strides, lanes: int,
         compute: Callable[..., Any]) -> None:
    """Store compute(offset in each operand..., lanes) for every element: loops over all axes but
    the innermost, which runs in vectors."""
    from edgecc.kernels import tir

    if len(shape) == 1:
        sweep(k, shape[0], lanes, lambda at, n: compute(*(at * s[0] for s in strides), n),
              unroll=1)
        return
    with ExitStack() as stack:
        at, starts = tir.T.int32(0), [tir.T.int32(0) for _ in strides]
        for axis, size in enumerate(shape[:-1]):
            limits = (k.begin, k.end) if axis == 0 else (0, size)
            i = stack.enter_context(tir.loop(*limits))
            at = at * size + i
            starts = [start + i * s[axis] for start, s in zip(starts, strides, strict=True)]
        first, starts = tir.let(at * shape[-1]), [tir.let(start) for start in starts]

        def body(inner: Any, n: int) -> None:
            offsets = [start + inner * s[-1] for start, s in zip(starts, strides, strict=True)]
            tir.store(k.outputs[0], first + inner, compute(*offsets, n), n)

        across(shape[-1], lanes, body)


def operand(buffer: Any, step: int) -> Callable[[Any, int], Any]:
    """How an operand is read along the innermost axis: in vectors, or as one number."""
    from edgecc.kernels import tir

    if step:
        return lambda at, lanes: tir.load(buffer, at, lanes)
    return lambda at, lanes: tir.splat(tir.load(buffer, at), lanes)


def _open(spec: Broadcast, symbol: str, weights: bool) -> Any:
    from edgecc.kernels import tir

    a, b = spec.sizes
    return tir.kernel(symbol, inputs=[(spec.dtype, a), (spec.dtype, b)],
                      outputs=[(spec.dtype, spec.size)], weights=weights, may_alias=True)


def build_int8(spec: Broadcast, symbol: str, target: Any) -> Any:
    with _open(spec, symbol, weights=True) as k:
        arithmetic = binary.Int8(k, spec, target)
        a, b = (operand(k.inputs[i], s[-1]) for i, s in
                enumerate((spec.a_strides, spec.b_strides)))
        nest(k, spec.shape, (spec.a_strides, spec.b_strides), vector_bytes(target),
             lambda at, other, n: arithmetic(a(at, n), b(other, n), n))
    return k.func


def build_float(spec: Broadcast, symbol: str, target: Any) -> Any:
    with _open(spec, symbol, weights=spec.clamp) as k:
        limits = [word(k, i, "float32") for i in range(2)] if spec.clamp else []
        a, b = (operand(k.inputs[i], s[-1]) for i, s in
                enumerate((spec.a_strides, spec.b_strides)))

        def compute(at: Any, other: Any, n: int) -> Any:
            y = binary.FLOAT[spec.kind](a(at, n), b(other, n))
            return bounded(y, limits[0], limits[1], n) if limits else y

        nest(k, spec.shape, (spec.a_strides, spec.b_strides), vector_bytes(target) // 4, compute)
    return k.func


ROWS = {"affine": ("scale", "shift"), "prelu": ("slope",)}


def pack_rows(spec: Rowwise, constants: Mapping[str, Any]) -> np.ndarray:
    """lo, hi; for int8 zero points and ratio; padding to HEADER_WORDS; then the rows."""
    if spec.dtype == "int8":
        limits = (constants["lo"], constants["hi"]) if spec.clamp else (-128, 127)
        front = header(*(int(v) for v in limits), int(constants["input_zero_point"]),
                       int(constants["output_zero_point"]),
                       np.float32(constants.get("ratio", 1.0)), 0, 0, 0)
    else:
        limits = (constants["lo"], constants["hi"]) if spec.clamp else (0.0, 0.0)
        front = header(*(np.float32(v) for v in limits), 0, 0, 0, 0, 0, 0)
    rows = [np.ascontiguousarray(constants[name], np.float32).view(np.uint8)
            for name in ROWS.get(spec.kind, ("operand",))]
    return np.concatenate([front, *rows])


def rows_extent(spec: Rowwise) -> int:
    if spec.inner > 1 and spec.n == 1:
        return block_count(spec.size)
    return spec.outer if spec.inner == 1 else spec.outer * spec.n


def _over_rows(k: Any, spec: Rowwise, lanes: int, compute: Callable[..., Any]) -> None:
    """compute(offset, constants(lanes), lanes) for every vector."""
    from edgecc.kernels import tir

    data, count = k.weights("float32", 4 * HEADER_WORDS), len(ROWS.get(spec.kind, ("operand",)))

    def lone(row: Any) -> Callable[[int], list[Any]]:
        values = [tir.let(tir.load(data, i * spec.n + row)) for i in range(count)]
        return lambda n: [tir.splat(v, n) for v in values]

    if spec.inner > 1 and spec.n == 1:
        single = lone(0)
        sweep(k, spec.size, lanes, lambda at, n: compute(at, single(n), n), unroll=1)
        return
    with tir.loop(k.begin, k.end) as line:
        width = spec.inner if spec.inner > 1 else spec.n
        first = tir.let(line * width)
        fixed = lone(tir.let(line % spec.n)) if spec.inner > 1 else None

        def body(at: Any, n: int) -> None:
            rows = fixed(n) if fixed else [tir.load(data, i * spec.n + at, n)
                                           for i in range(count)]
            tir.store(k.outputs[0], first + at, compute(first + at, rows, n), n)

        across(width, lanes, body)


def _open_rows(spec: Rowwise, symbol: str) -> Any:
    from edgecc.kernels import tir

    operand = [(spec.dtype, spec.size)]
    return tir.kernel(symbol, inputs=operand, outputs=operand, weights=True, may_alias=True)


def build_rows_int8(spec: Rowwise, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with _open_rows(spec, symbol) as k:
        lo, hi, zx = (tir.let(tir.T.cast(word(k, i, "int32"), "int8")) for i in range(3))
        zy = tir.let(tir.T.cast(word(k, 3, "int32"), "int16"))
        ratio = word(k, 4, "float32")

        def compute(at: Any, rows: list[Any], n: int) -> Any:
            x = tir.let(to_float(widened(tir.load(k.inputs[0], at, n), zx, n), n))
            if spec.kind == "affine":
                product = tir.fenced(x * rows[0], tir.vector("float32", n))
                real = product + rows[1]
            else:
                zero = tir.splat(tir.T.float32(0.0), n)
                real = x * tir.T.Select(x >= zero, tir.splat(ratio, n), rows[0])
            return to_int8(target, real, zy, n, (lo, hi) if spec.clamp else None)

        _over_rows(k, spec, vector_bytes(target), compute)
    return k.func


def build_rows_float(spec: Rowwise, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with _open_rows(spec, symbol) as k:
        limits = [word(k, i, "float32") for i in range(2)]

        def compute(at: Any, rows: list[Any], n: int) -> Any:
            y = _row_function(spec.kind, tir.let(tir.load(k.inputs[0], at, n)), rows, n)
            return bounded(y, limits[0], limits[1], n) if spec.clamp else y

        _over_rows(k, spec, vector_bytes(target) // 4, compute)
    return k.func


def _row_function(kind: str, x: Any, rows: list[Any], lanes: int) -> Any:
    from edgecc.kernels import tir

    if kind == "affine":
        return x * rows[0] + rows[1]
    if kind == "prelu":
        return tir.T.Select(x >= tir.splat(tir.T.float32(0.0), lanes), x, x * rows[0])
    if kind == "rdiv":
        return rows[0] / x
    return binary.FLOAT[kind](x, rows[0])


def accepts_rows_int8(spec: Rowwise) -> str | None:
    return None if spec.kind in ROWS else f"int8 {spec.kind} with a row is not defined"


KERNELS = (
    KernelRecord("int8_broadcast_vector__generic", "broadcast", "int8", frozenset(), accept_all,
                 lambda spec: 40 + 4.0 * spec.size, extent, binary.pack_int8, build_int8,
                 fast=True),
    KernelRecord("float32_broadcast_vector__generic", "broadcast", "float32", frozenset(),
                 accept_all, lambda spec: 30 + 1.2 * spec.size, extent, binary.pack_float,
                 build_float, fast=True),
    KernelRecord("int8_rowwise_vector__generic", "rowwise", "int8", frozenset(),
                 accepts_rows_int8, lambda spec: 40 + 3.0 * spec.size, rows_extent, pack_rows,
                 build_rows_int8, fast=True),
    KernelRecord("float32_rowwise_vector__generic", "rowwise", "float32", frozenset(), accept_all,
                 lambda spec: 30 + 1.2 * spec.size, rows_extent, pack_rows, build_rows_float,
                 fast=True),
)
