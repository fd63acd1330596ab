"""Elementwise float32 functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgecc.kernels import float_functions as ff
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
from edgecc.kernels.functions import PARAMETERS
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Unary
from edgecc.kernels.square_root import square_root

INSTRUCTIONS = {"sigmoid": 26, "tanh": 34, "exp": 26, "sqrt": 6, "log": 34, "erf": 45, "sin": 30,
                "cos": 30, "silu": 28, "gelu": 48, "gelu_tanh": 40, "mish": 36, "softplus": 60,
                "elu": 28, "celu": 28, "selu": 28, "pow": 60, "softsign": 6, "reciprocal": 4,
                "floor": 8, "ceil": 8, "round": 6}  # a vector, roughly


def words(kind: str) -> int:
    """Numbers packed beside a function."""
    return 2 if kind == "pow" else len(PARAMETERS.get(kind, ()))


def pack(spec: Unary, constants: Mapping[str, Any]) -> np.ndarray:
    """The function's parameters as float32, in the order of PARAMETERS.

    pow also gets what negative numbers are multiplied by: 1, -1 or not a number.
    """
    names = PARAMETERS.get(spec.kind, ())
    values = [np.float32(constants[n]) for n in names]
    if spec.kind == "pow":
        odd = float(values[0]) % 2.0
        values.append(np.float32({0.0: 1.0, 1.0: -1.0}.get(odd, np.nan)))
    return header(*values) if values else nothing(spec, {})


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


def _threshold(x: Any, lanes: int, alpha: Any) -> Any:
    from edgecc.kernels import tir

    return tir.T.Select(x > tir.splat(alpha, lanes), x, fm.constant(0.0, lanes))


def _reciprocal(x: Any, lanes: int, numerator: Any) -> Any:
    from edgecc.kernels import tir

    return tir.splat(numerator, lanes) / x


def _celu(x: Any, lanes: int, alpha: Any) -> Any:
    from edgecc.kernels import tir

    inverse = tir.let(tir.T.float32(1.0) / alpha)
    return ff.below_zero(x, lanes, alpha, tir.splat(inverse, lanes))


def _selu(x: Any, lanes: int, alpha: Any, gamma: Any) -> Any:
    from edgecc.kernels import tir

    y = ff.below_zero(x, lanes, alpha, fm.constant(1.0, lanes))
    return y * tir.splat(gamma, lanes)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": ff.log, "erf": ff.erf, "sin": ff.sin, "cos": ff.cos, "round": ff.nearest,
    "floor": ff.floor, "ceil": ff.ceil, "sign": ff.sign, "softplus": ff.softplus,
    "mish": ff.mish, "gelu": ff.gelu, "gelu_tanh": ff.gelu_tanh, "silu": ff.silu,
    "softsign": ff.softsign, "pow": ff.power, "threshold": _threshold,
    "reciprocal": _reciprocal, "celu": _celu, "selu": _selu,
    "elu": lambda x, lanes, alpha: ff.below_zero(x, lanes, alpha, fm.constant(1.0, lanes)),
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

    count = words(spec.kind)
    operand = [("float32", spec.size)]
    with tir.kernel(symbol, inputs=operand, outputs=operand, weights=bool(count),
                    may_alias=True) as k:
        parameters = [word(k, i, "float32") for i in range(count)]
        function = FUNCTIONS[spec.kind] if spec.kind != "sqrt" else square_root(k, target)

        def compute(at: Any, lanes: int) -> Any:
            x = tir.let(tir.load(k.inputs[0], at, lanes))
            return function(x, lanes, *parameters)

        heavy = spec.kind in INSTRUCTIONS
        sweep(k, spec.size, vector_bytes(target) // 4, compute, unroll=2 if heavy else 4)
    return k.func


KERNELS = (
    KernelRecord("float32_unary_vector__generic", "unary", "float32", frozenset(), accept_all,
                 lambda spec: 20 + spec.size * (1 + INSTRUCTIONS.get(spec.kind, 2) / 4),
                 lambda spec: block_count(spec.size), pack, build, fast=True),
)
