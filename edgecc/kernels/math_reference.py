"""The law of the operators in math_spec: see reference.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.kernels import math_spec as specs
from edgecc.kernels.requantize import FULL, bounds, requantize, saturate, scaled, wrap_int32

Constants = Mapping[str, Any]
Arrays = Sequence[np.ndarray]
FLOAT = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
         "min": np.minimum, "max": np.maximum}


def arithmetic(spec: Any, a: np.ndarray, b: np.ndarray, constants: Constants) -> np.ndarray:
    """`spec.kind` of two arrays that broadcast, int8 or float32, clamped where the spec says."""
    if spec.dtype == "int8":
        return arithmetic_int8(spec, a, b, constants)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = FLOAT[spec.kind](a.astype(np.float32), b.astype(np.float32))
    return limited(spec, y, constants)


def limited(spec: Any, y: np.ndarray, constants: Constants) -> np.ndarray:
    """float32 within the clamp, if there is one."""
    if not spec.clamp:
        return y
    return np.clip(y, np.float32(constants["lo"]), np.float32(constants["hi"]))


def arithmetic_int8(spec: Any, a: np.ndarray, b: np.ndarray, constants: Constants) -> np.ndarray:
    lo, hi = bounds(constants, spec.clamp)
    za, zb = int(constants["a_zero_point"]), int(constants["b_zero_point"])
    zero = constants["output_zero_point"]
    if spec.kind == "mul":
        product = (a.astype(np.int32) - za) * (b.astype(np.int32) - zb)
        return requantize(product, constants["ratio"], zero, lo, hi)
    left = scaled(a, za, constants["ratio"])
    if spec.kind == "div":
        divisor = (b.astype(np.int32) - zb).astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            return saturate(left / divisor, zero, lo, hi)
    return saturate(FLOAT[spec.kind](left, scaled(b, zb, constants["residual_ratio"])), zero, lo,
                    hi)


def _spread(values: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Flat values as an array of `shape` with these strides (in elements)."""
    flat = np.ascontiguousarray(values).reshape(-1)
    steps = tuple(s * flat.itemsize for s in strides)
    return np.lib.stride_tricks.as_strided(flat, shape, steps)


def broadcast(spec: specs.Broadcast, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """Elementwise arithmetic with repeated operands."""
    a = _spread(inputs[0], spec.shape, spec.a_strides)
    b = _spread(inputs[1], spec.shape, spec.b_strides)
    return [arithmetic(spec, a, b, constants)]


COMPARISONS: dict[str, Any] = {
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "equal": np.equal, "and": np.logical_and,
    "or": np.logical_or, "xor": np.logical_xor,
    "nor": lambda a, b: ~np.logical_or(a, b)}


def compare(spec: specs.Compare, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """Truth of a comparison."""
    a = _spread(inputs[0], spec.shape, spec.a_strides)
    b = _spread(inputs[1], spec.shape, spec.b_strides)
    return [COMPARISONS[spec.kind](a, b)]


def choose(spec: specs.Choose, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """One of two values by a condition."""
    strides = (spec.condition_strides, spec.a_strides, spec.b_strides)
    condition, a, b = (_spread(x, spec.shape, s) for x, s in zip(inputs, strides, strict=True))
    return [np.where(condition, a, b)]


def rowwise(spec: specs.Rowwise, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """Elementwise arithmetic with constants along the middle axis."""
    x = np.asarray(inputs[0]).reshape(spec.outer, spec.n, spec.inner)
    rows = {name: np.asarray(constants[name], np.float32)[:, None]
            for name in ("scale", "shift", "slope", "operand") if name in constants}
    if spec.dtype == "int8":
        return [_rowwise_int8(spec, x, rows, constants)]
    wide = {name: row.astype(np.float64) for name, row in rows.items()}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = rowwise_of(spec.kind, x.astype(np.float64), wide).astype(np.float32)
    return [limited(spec, y, constants)]


def rowwise_of(kind: str, x: np.ndarray, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """The function `kind` in double."""
    if kind == "affine":
        return x * rows["scale"] + rows["shift"]
    if kind == "prelu":
        return np.where(x >= 0, x, x * rows["slope"])
    if kind == "rdiv":
        return rows["operand"] / x
    return FLOAT[kind](x, rows["operand"])


def _rowwise_int8(spec: specs.Rowwise, x: np.ndarray, rows: Mapping[str, np.ndarray],
                  constants: Constants) -> np.ndarray:
    lo, hi = bounds(constants, spec.clamp)
    centred = (x.astype(np.int32) - int(constants["input_zero_point"])).astype(np.float32)
    if spec.kind == "affine":
        real = centred * rows["scale"] + rows["shift"]
    else:
        real = centred * np.where(centred >= 0, np.float32(constants["ratio"]), rows["slope"])
    return saturate(real, constants["output_zero_point"], lo, hi)


REDUCTIONS: dict[str, Any] = {
    "mean": np.mean, "sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod,
    "l1": lambda x, axis: np.abs(x).sum(axis), "sum_square": lambda x, axis: (x * x).sum(axis)}


def reduce(spec: specs.Reduce, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """One value in the place of every n; float32 sums in double."""
    x = np.asarray(inputs[0]).reshape(spec.outer, spec.n, spec.inner)
    if spec.kind in ("max", "min"):
        return [REDUCTIONS[spec.kind](x, axis=1)]
    if spec.dtype == "float32":
        with np.errstate(over="ignore"):
            return [REDUCTIONS[spec.kind](x.astype(np.float64), axis=1).astype(np.float32)]
    sums = (x.astype(np.int64) - int(constants["input_zero_point"])).sum(axis=1)
    divisor = np.float32(constants["output_scale"])
    if spec.kind == "mean":
        divisor = divisor * np.float32(spec.n)
    ratio = np.float32(constants["input_scale"]) / divisor
    return [requantize(wrap_int32(sums), ratio, constants["output_zero_point"])]


def arg_reduce(spec: specs.ArgReduce, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """Indices of extremes along n."""
    x = np.asarray(inputs[0]).reshape(spec.outer, spec.n, spec.inner)
    find = np.argmax if spec.kind == "max" else np.argmin
    found = spec.n - 1 - find(x[:, ::-1], axis=1) if spec.last else find(x, axis=1)
    return [found.astype(spec.output)]


def normalize(spec: specs.Normalize, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """Zero mean and unit variance over n and m, then scale and shift."""
    x = np.asarray(inputs[0]).reshape(spec.outer, spec.n, spec.groups, spec.m)
    scale, shift = (np.asarray(constants[name], np.float32).reshape(spec.groups, spec.m)
                    for name in ("scale", "shift"))
    if spec.dtype == "int8":
        return [_normalize_int8(spec, x, scale, shift, constants)]
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=(1, 3), keepdims=True)
    variance = (centred * centred).mean(axis=(1, 3), keepdims=True)
    unit = centred / np.sqrt(variance + float(constants["epsilon"]))
    return [(unit * scale + shift).astype(np.float32)]


def _normalize_int8(spec: specs.Normalize, x: np.ndarray, scale: np.ndarray, shift: np.ndarray,
                    constants: Constants) -> np.ndarray:
    centred = x.astype(np.int64) - int(constants["input_zero_point"])
    total = centred.sum(axis=(1, 3), keepdims=True)
    squares = (centred * centred).sum(axis=(1, 3), keepdims=True)
    spread = (spec.count * squares - total * total).astype(np.float32)
    inverse = np.float32(1) / np.sqrt(spread + np.float32(constants["floor"]))
    unit = (spec.count * centred - total).astype(np.float32) * inverse
    return saturate(unit * scale + shift, constants["output_zero_point"], *FULL)


def matmul(spec: specs.MatMul, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """Products of computed matrices; exact sums in int8, sums in double in float32."""
    a = _spread(inputs[0], (*spec.batch, spec.m, spec.k), spec.a_strides)
    b = _spread(inputs[1], (*spec.batch, spec.k, spec.n), spec.b_strides)
    if spec.dtype == "float32":
        y = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
        return [limited(spec, y, constants)]
    left = a.astype(np.float64) - int(constants["a_zero_point"])
    right = b.astype(np.float64) - int(constants["b_zero_point"])
    acc = wrap_int32((left @ right).astype(np.int64))
    lo, hi = bounds(constants, spec.clamp)
    return [requantize(acc, constants["scale"], constants["output_zero_point"], lo, hi)]


REFERENCES: dict[str, Any] = {
    "broadcast": broadcast, "compare": compare, "choose": choose, "rowwise": rowwise,
    "reduce": reduce, "arg_reduce": arg_reduce, "normalize": normalize, "matmul": matmul}
