"""Elementwise float32 functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgecc.kernels import float_math as fm
from edgecc.kernels.elementwise import (
    accept_all,
    block_count,
    bounded,
    header,
    nothing,
    sweep,
    vector_bytes,
    word,
)
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Unary

PARAMETERS = {"clip": ("lo", "hi"), "leaky_relu": ("alpha",), "hard_sigmoid": ("alpha", "beta")}
INSTRUCTIONS = {"sigmoid": 26, "tanh": 34, "exp": 26, "sqrt": 6}  # a vector, roughly


def pack(spec: Unary, constants: Mapping[str, Any]) -> np.ndarray:
    """The function's parameters as float32, in the order of PARAMETERS."""
    names = PARAMETERS.get(spec.kind, ())
    return header(*(np.float32(constants[n]) for n in names)) if names else nothing(spec, {})


def _relu(x: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.T.max(x, fm.constant(0.0, lanes))


def _hard_swish(x: Any, lanes: int) -> Any:
    zero, one = (fm.constant(v, 1) for v in (0.0, 1.0))
    gate = x * fm.constant(1.0 / 6.0, lanes) + fm.constant(0.5, lanes)
    return x * bounded(gate, zero, one, lanes)


def _hard_sigmoid(x: Any, lanes: int, alpha: Any, beta: Any) -> Any:
    from edgecc.kernels import tir

    zero, one = (fm.constant(v, 1) for v in (0.0, 1.0))
    return bounded(x * tir.splat(alpha, lanes) + tir.splat(beta, lanes), zero, one, lanes)


def _leaky_relu(x: Any, lanes: int, alpha: Any) -> Any:
    from edgecc.kernels import tir

    return tir.T.Select(x >= fm.constant(0.0, lanes), x, x * tir.splat(alpha, lanes))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "relu": _relu,
    "clip": lambda x, lanes, lo, hi: bounded(x, lo, hi, lanes),
    "sigmoid": fm.sigmoid,
    "tanh": fm.tanh,
    "exp": fm.exp,
    "hard_sigmoid": _hard_sigmoid,
    "hard_swish": _hard_swish,
    "leaky_relu": _leaky_relu,
    "neg": lambda x, lanes: x * fm.constant(-1.0, lanes),
    "abs": fm.magnitude,
    "sqrt": fm.square_root,
}


def build(spec: Unary, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    names = PARAMETERS.get(spec.kind, ())
    operand = [("float32", spec.size)]
    with tir.kernel(symbol, inputs=operand, outputs=operand, weights=bool(names),
                    may_alias=True) as k:
        parameters = [word(k, i, "float32") for i in range(len(names))]

        def compute(at: Any, lanes: int) -> Any:
            x = tir.let(tir.load(k.inputs[0], at, lanes))
            return FUNCTIONS[spec.kind](x, lanes, *parameters)

        heavy = spec.kind in INSTRUCTIONS
        sweep(k, spec.size, vector_bytes(target) // 4, compute, unroll=2 if heavy else 4)
    return k.func


KERNELS = (
    KernelRecord("float32_unary_vector__generic", "unary", "float32", frozenset(), accept_all,
                 lambda spec: 20 + spec.size * (1 + INSTRUCTIONS.get(spec.kind, 2) / 4),
                 lambda spec: block_count(spec.size), pack, build, fast=True),
)
