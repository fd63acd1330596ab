"""Softmax over rows: int8 through an integer table of exponentials, float32 by polynomial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels import float_functions as ff
from edgecc.kernels import float_math as fm
from edgecc.kernels import folding
from edgecc.kernels.elementwise import (
    accept_all,
    across,
    header,
    nothing,
    pieces,
    scaled,
    to_int8,
    vector_bytes,
    word,
)
from edgecc.kernels.halves import Halves
from edgecc.kernels.reference import softmax_table
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Softmax

TABLE_AT = 16  # bytes: the header is two words, the table stays aligned
GROUP = 8  # table entries scaled together


def pack_int8(spec: Softmax, constants: Mapping[str, Any]) -> np.ndarray:
    """inverse output scale, zero point, two words of nothing; then 256 int32."""
    table = constants.get("table")
    if table is None:
        table = softmax_table(constants["input_scale"], spec.n)
    inverse = constants.get("inverse_output_scale")
    if inverse is None:
        inverse = np.float32(1) / np.float32(constants["output_scale"])
    front = header(np.float32(inverse), int(constants["output_zero_point"]), 0, 0)
    return np.concatenate([front, np.ascontiguousarray(table, np.int32).view(np.uint8)])


def _open(spec: Softmax, symbol: str, weights: bool) -> Any:
    from edgecc.kernels import tir

    operand = [(spec.dtype, spec.rows * spec.n)]
    return tir.kernel(symbol, inputs=operand, outputs=operand, weights=weights, may_alias=True)


def build_int8(spec: Softmax, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with _open(spec, symbol, weights=True) as k:
        inverse = word(k, 0, "float32")
        zero_point = tir.let(tir.T.cast(word(k, 1, "int32"), "int16"))
        table = k.weights("int32", TABLE_AT)
        with tir.loop(k.begin, k.end) as row:
            first = tir.let(row * spec.n)
            top = _largest(k.inputs[0], first, spec.n, vector_bytes(target))

            def term(at: Any) -> Any:
                x = tir.T.cast(tir.load(k.inputs[0], first + at), "int32")
                return tir.load(table, top - x)

            total = _total(term, spec.n)
            ratio = tir.let(inverse / tir.T.cast(total, "float32"))

            def finish(at: Any, lanes: int) -> None:
                terms = [tir.let(term(at + i)) for i in range(lanes)]
                real = scaled(_as_float(terms), ratio, lanes)
                tir.store(k.outputs[0], first + at, to_int8(target, real, zero_point, lanes), lanes)

            across(spec.n, GROUP, finish)
    return k.func


def _as_float(terms: list[Any]) -> Any:
    from edgecc.kernels import tir

    if len(terms) == 1:
        return tir.T.cast(terms[0], "float32")
    whole = tir.T.Shuffle(terms, list(range(len(terms))))
    return tir.T.cast(whole, tir.vector("float32", len(terms)))


def _largest(x: Any, first: Any, n: int, lanes: int) -> Any:
    """int32 maximum of a row of int8."""
    from edgecc.kernels import tir

    best = tir.local(1, "int32")
    tir.store(best, 0, tir.T.int32(-128))

    def join(value: Any) -> None:
        tir.store(best, 0, tir.T.max(tir.load(best, 0), tir.T.cast(value, "int32")))

    whole = n // lanes
    if whole:
        run = tir.local(lanes, "int8")
        tir.store(run, 0, tir.load(x, first, lanes), lanes)
        with tir.loop(1, whole) as step:
            value = tir.load(x, first + step * lanes, lanes)
            tir.store(run, 0, tir.T.max(tir.load(run, 0, lanes), value), lanes)
        join(_reduced("smax", "int8", tir.load(run, 0, lanes), lanes))
    for at, width in pieces(n - whole * lanes, lanes):
        at += whole * lanes
        if width >= 8:
            join(_reduced("smax", "int8", tir.load(x, first + at, width), width))
        else:
            for i in range(width):
                join(tir.load(x, first + at + i))
    return tir.let(tir.load(best, 0))


def _reduced(kind: str, dtype: str, value: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    short = {"int8": "i8", "float32": "f32"}[dtype]
    return tir.llvm(dtype, f"llvm.vector.reduce.{kind}.v{lanes}{short}", value)


def _total(term: Any, n: int) -> Any:
    """The int32 sum of the row's table entries, in four chains."""
    from edgecc.kernels import tir

    chains = min(4, n)
    sums = tir.local(chains, "int32")
    for i in range(chains):
        tir.store(sums, i, tir.T.int32(0))

    def add(at: Any, lanes: int) -> None:
        values = [tir.let(term(at + i)) for i in range(lanes)]
        for i, value in enumerate(values):
            tir.store(sums, i % chains, tir.load(sums, i % chains) + value)

    across(n, GROUP, add)
    total = tir.load(sums, 0)
    for i in range(1, chains):
        total = total + tir.load(sums, i)
    return tir.let(total)


def build_float(spec: Softmax, symbol: str, target: Any) -> Any:
    """Three passes over a row; the output holds the exponentials in between, where it does not
    round them.

    The logarithm is what is left of x - largest when log(sum) is taken away.
    """
    from edgecc.kernels import tir

    lanes = vector_bytes(target) // 4
    with _open(spec, symbol, weights=False) as k:
        x, y = k.inputs[0], k.outputs[0]
        kept = not spec.log and not isinstance(y, Halves)  # otherwise x is needed again
        with tir.loop(k.begin, k.end) as row:
            first = tir.let(row * spec.n)
            top = folding.folded(
                spec.n, lanes, lambda at, n: tir.load(x, first + at, n),
                tir.T.min_value("float32"), tir.T.max, "float32", lanes)

            def exponential(at: Any, n: int) -> Any:
                e = fm.exp_negative(tir.load(x, first + at, n) - tir.splat(top, n), n)
                if kept:
                    tir.store(y, first + at, e, n)
                return e

            if kept and lanes == 1:  # the chains of the sum would each have their exponential
                across(spec.n, lanes, exponential)
                total = folding.total(spec.n, lanes, "float32",
                                      lambda at, n: tir.load(y, first + at, n))
            else:
                total = folding.total(spec.n, lanes, "float32", exponential)
            ratio = tir.let(tir.T.float32(1.0) / total) if not spec.log else (
                tir.let(top + ff.log(total, 1)))

            def finish(at: Any, n: int) -> None:
                if spec.log:
                    value = tir.load(x, first + at, n) - tir.splat(ratio, n)
                else:
                    e = tir.load(y, first + at, n) if kept else exponential(at, n)
                    value = e * tir.splat(ratio, n)
                tir.store(y, first + at, value, n)

            across(spec.n, lanes, finish)
    return k.func


KERNELS = (
    KernelRecord("int8_softmax_table__generic", "softmax", "int8", frozenset(), accept_all,
                 lambda spec: 20 + spec.rows * (30 + 10.0 * spec.n), lambda spec: spec.rows,
                 pack_int8, build_int8, fast=True),
    KernelRecord("float32_softmax_vector__generic", "softmax", "float32", frozenset(), accept_all,
                 lambda spec: 20 + spec.rows * (60 + 9.0 * spec.n), lambda spec: spec.rows,
                 nothing, build_float, fast=True),
)
