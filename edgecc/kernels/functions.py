"""Functions of one real number, in double: the law of float32 kernels and of int8 tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Numbers = Mapping[str, Any]
SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875  # ONNX's defaults
PARAMETERS: dict[str, tuple[str, ...]] = {
    "clip": ("lo", "hi"), "leaky_relu": ("alpha",), "hard_sigmoid": ("alpha", "beta"),
    "elu": ("alpha",), "celu": ("alpha",), "selu": ("alpha", "gamma"), "pow": ("exponent",),
    "reciprocal": ("numerator",), "threshold": ("alpha",),
}
"""Which numbers each function takes besides x, in the order in which kernels pack them."""


def sigmoid_of(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def softplus_of(x: np.ndarray) -> np.ndarray:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def erf_of(x: np.ndarray) -> np.ndarray:
    """The error function."""
    values = np.asarray(x, np.float64)
    return np.array([math.erf(v) for v in values.reshape(-1)]).reshape(values.shape)


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1.0 + erf_of(x * math.sqrt(0.5)))


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def _below_zero(x: np.ndarray, alpha: float, inner: float) -> np.ndarray:
    """x, or alpha * (exp(x / inner) - 1) for negative x."""
    return np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0.0) / inner))


PLAIN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0), "sigmoid": sigmoid_of, "tanh": np.tanh, "exp": np.exp,
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "log": np.log, "floor": np.floor,
    "ceil": np.ceil, "round": np.rint, "sign": np.sign, "sin": np.sin, "cos": np.cos,
    "erf": erf_of, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "softplus": softplus_of,
    "softsign": lambda x: x / (1.0 + np.abs(x)), "silu": lambda x: x * sigmoid_of(x),
    "mish": lambda x: x * np.tanh(softplus_of(x)),
    "hard_swish": lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0),
}
WITH_NUMBERS: dict[str, Callable[..., np.ndarray]] = {
    "clip": np.clip,
    "leaky_relu": lambda x, alpha: np.where(x >= 0, x, x * alpha),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(x * alpha + beta, 0.0, 1.0),
    "elu": lambda x, alpha: _below_zero(x, alpha, 1.0),
    "celu": lambda x, alpha: _below_zero(x, alpha, alpha),
    "selu": lambda x, alpha, gamma: gamma * _below_zero(x, alpha, 1.0),
    "pow": lambda x, exponent: np.power(x, exponent),
    "reciprocal": lambda x, numerator: numerator / x,
    "threshold": lambda x, alpha: np.where(x > alpha, x, 0.0),
}


def unary_of(kind: str, x: np.ndarray, numbers: Numbers) -> np.ndarray:
    """The function `kind` of double `x`, in double."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if kind in PLAIN:
            return PLAIN[kind](x)
        given = (float(numbers[name]) for name in PARAMETERS[kind])
        return WITH_NUMBERS[kind](x, *given)
