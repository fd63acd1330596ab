"""Comparisons and logic to truth (one byte of 0 or 1), and the choice between two by a truth."""

from __future__ import annotations

from math import prod
from typing import Any

from edgecc.kernels.broadcast import extent, nest, operand
from edgecc.kernels.elementwise import accept_all, nothing, vector_bytes
from edgecc.kernels.math_spec import Choose, Compare, touched
from edgecc.kernels.registry import KernelRecord

ORDER = {"less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b,
         "greater": lambda a, b: a > b, "greater_equal": lambda a, b: a >= b,
         "equal": lambda a, b: a == b}


def _truth(kind: str, a: Any, b: Any, lanes: int) -> Any:
    """A vector of bytes, 0 or 1, from floats or from such bytes."""
    from edgecc.kernels import tir

    T, one, zero = tir.T, *(tir.splat(tir.T.int8(v), lanes) for v in (1, 0))
    if kind in ORDER:
        return T.Select(ORDER[kind](a, b), one, zero)
    if kind == "and":
        return T.bitwise_and(a, b)
    if kind == "xor":
        return T.bitwise_xor(a, b)
    either = T.bitwise_or(a, b)
    return either if kind == "or" else T.bitwise_xor(either, one)


def build_compare(spec: Compare, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    kind = "float32" if spec.dtype == "float32" else "int8"
    strides = (spec.a_strides, spec.b_strides)
    with tir.kernel(symbol, inputs=[(kind, touched(spec.shape, s)) for s in strides],
                    outputs=[("int8", prod(spec.shape))], weights=False, may_alias=True) as k:
        a, b = (operand(buffer, s[-1]) for buffer, s in zip(k.inputs, strides, strict=True))
        lanes = vector_bytes(target) // (4 if kind == "float32" else 1)
        nest(k, spec.shape, strides, lanes,
             lambda at, other, n: _truth(spec.kind, a(at, n), b(other, n), n))
    return k.func


def build_choose(spec: Choose, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    strides = (spec.condition_strides, spec.a_strides, spec.b_strides)
    kinds = ("int8", spec.dtype, spec.dtype)
    inputs = [(kind, touched(spec.shape, s)) for kind, s in zip(kinds, strides, strict=True)]
    with tir.kernel(symbol, inputs=inputs, outputs=[(spec.dtype, prod(spec.shape))],
                    weights=False, may_alias=True) as k:
        read = [operand(buffer, s[-1]) for buffer, s in zip(k.inputs, strides, strict=True)]

        def compute(at: Any, first: Any, second: Any, n: int) -> Any:
            holds = read[0](at, n) != tir.splat(tir.T.int8(0), n)
            return tir.T.Select(holds, read[1](first, n), read[2](second, n))

        lanes = vector_bytes(target) // (4 if spec.dtype == "float32" else 1)
        nest(k, spec.shape, strides, lanes, compute)
    return k.func


def _cost(spec: Compare | Choose) -> float:
    return 30 + 2.0 * prod(spec.shape)


def _record(op: str, dtype: str, build: Any) -> KernelRecord:
    return KernelRecord(f"{dtype}_{op}_vector__generic", op, dtype, frozenset(), accept_all, _cost,
                        lambda spec: extent(spec), nothing, build, fast=True)


KERNELS = (
    _record("compare", "float32", build_compare), _record("compare", "bool", build_compare),
    _record("choose", "float32", build_choose), _record("choose", "int8", build_choose),
)
