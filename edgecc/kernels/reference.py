"""The law: one numpy reference per operator. Every kernel on every target gives these bytes.

`reference(spec, inputs, constants)` takes arrays of the spec's shapes (or flat ones of the same
size) and gives the list of outputs. int8 results are exact; float32 ones are computed in double
and rounded once, and kernels are held to them within a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.kernels import spec as specs

Constants = Mapping[str, Any]
FULL = (-128, 127)


def requantize(acc: np.ndarray, scale, zero_point: int, lo: int = -128, hi: int = 127):
    """clamp(rint(float32(acc) * scale) + zero_point, lo, hi), the product in float32."""
    scaled = acc.astype(np.float32) * np.float32(scale)
    return saturate(scaled, zero_point, lo, hi)


def saturate(real: np.ndarray, zero_point: int, lo: int = -128, hi: int = 127) -> np.ndarray:
    """int8 of clamp(rint(real) + zero_point, lo, hi), for float32 of any size."""
    rounded = np.clip(np.nan_to_num(np.rint(real)), -(2.0**30), 2.0**30).astype(np.int64)
    return np.clip(rounded + int(zero_point), int(lo), int(hi)).astype(np.int8)


def wrap_int32(values: np.ndarray) -> np.ndarray:
    """Two's complement wrap, as a 32-bit accumulator does."""
    return values.astype(np.int64).astype(np.uint32).view(np.int32)


def _bounds(constants: Constants, clamp: bool) -> tuple[int, int]:
    return (int(constants["lo"]), int(constants["hi"])) if clamp else FULL


def windows(x: np.ndarray, spec, fill) -> np.ndarray:
    """Every window of NHWC `x`: shape (n, oh, ow, kh, kw, c), outside positions = `fill`."""
    (sh, sw), (dh, dw) = spec.strides, spec.dilations
    top, left, _, _ = spec.pads
    rows = (spec.oh - 1) * sh + (spec.kh - 1) * dh + 1
    cols = (spec.ow - 1) * sw + (spec.kw - 1) * dw + 1
    padded = np.full((spec.n, max(rows, top + spec.h), max(cols, left + spec.w), spec.c), fill,
                     x.dtype)
    padded[:, top:top + spec.h, left:left + spec.w] = x
    view = np.lib.stride_tricks.sliding_window_view(
        padded, ((spec.kh - 1) * dh + 1, (spec.kw - 1) * dw + 1), (1, 2))
    view = view[:, :rows:sh, :cols:sw, :, ::dh, ::dw][:, :spec.oh, :spec.ow]
    return view.transpose(0, 1, 2, 4, 5, 3)


def _conv_sums(spec: specs.Conv2d, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums of products in double (exact for int8), shape (n, oh, ow, k)."""
    per_group, outputs = spec.c // spec.groups, spec.k // spec.groups
    patches = windows(x.astype(np.float64), spec, 0.0)
    patches = patches.reshape(spec.n, spec.oh, spec.ow, spec.kh * spec.kw, spec.groups, per_group)
    kernel = weights.reshape(spec.groups, outputs, spec.kh * spec.kw, per_group)
    sums = np.einsum("nhwtgc,gotc->nhwgo", patches, kernel.astype(np.float64), optimize=True)
    return sums.reshape(spec.n, spec.oh, spec.ow, spec.k)


def _finish(spec, sums: np.ndarray, residual: np.ndarray | None, constants: Constants):
    """Bias, residual, clamp and, for int8, requantization of convolution sums."""
    if spec.dtype == "int8":
        acc = wrap_int32(sums.astype(np.int64) + np.asarray(constants["bias"], np.int64))
        return _finish_int8(spec, acc, residual, constants)
    real = sums + np.asarray(constants["bias"], np.float64)
    if residual is not None:
        real = real + residual.astype(np.float64).reshape(real.shape)
    if spec.clamp:
        real = np.clip(real, constants["lo"], constants["hi"])
    return real.astype(np.float32)


def _finish_int8(spec, acc: np.ndarray, residual: np.ndarray | None, constants: Constants):
    lo, hi = _bounds(constants, spec.clamp)
    zero_point = int(constants["output_zero_point"])
    scale = np.asarray(constants["scale"], np.float32)
    if residual is None:
        return requantize(acc, scale, zero_point, lo, hi)
    inner_zero = int(constants["inner_zero_point"])
    inner = requantize(acc, scale, inner_zero, constants["inner_lo"], constants["inner_hi"])
    own = _scaled(inner, inner_zero, constants["ratio"])
    other = _scaled(residual.reshape(acc.shape), constants["residual_zero_point"],
                    constants["residual_ratio"])
    return saturate(own + other, zero_point, lo, hi)


def _scaled(q: np.ndarray, zero_point, ratio) -> np.ndarray:
    """float32(q - zero_point) * ratio, rounded to float32."""
    return (q.astype(np.int32) - int(zero_point)).astype(np.float32) * np.float32(ratio)


def _centred(x: np.ndarray, dtype: str, constants: Constants) -> np.ndarray:
    if dtype == "float32":
        return x
    return x.astype(np.int32) - int(constants["input_zero_point"])


def conv2d(spec: specs.Conv2d, inputs: Sequence[np.ndarray], constants: Constants):
    """Convolution; padding holds the input zero point."""
    x = np.asarray(inputs[0]).reshape(spec.n, spec.h, spec.w, spec.c)
    sums = _conv_sums(spec, _centred(x, spec.dtype, constants), np.asarray(constants["weights"]))
    return [_finish(spec, sums, inputs[1] if spec.residual else None, constants)]


def fully_connected(spec: specs.FullyConnected, inputs: Sequence[np.ndarray], constants: Constants):
    """y = x · weightsᵀ + bias."""
    x = _centred(np.asarray(inputs[0]).reshape(spec.m, spec.k), spec.dtype, constants)
    weights = np.asarray(constants["weights"]).reshape(spec.n, spec.k)
    sums = x.astype(np.float64) @ weights.astype(np.float64).T
    return [_finish(spec, sums, inputs[1] if spec.residual else None, constants)]


def pool2d(spec: specs.Pool2d, inputs: Sequence[np.ndarray], constants: Constants):
    """Max or average over windows; only positions inside the image enter a maximum or a sum."""
    x = np.asarray(inputs[0]).reshape(spec.n, spec.h, spec.w, spec.c)
    if spec.kind == "max":
        lowest = np.int8(-128) if spec.dtype == "int8" else np.float32(-np.inf)
        return [windows(x, spec, lowest).max(axis=(3, 4))]
    count = pool_counts(spec)[None, :, :, None]
    wide = _centred(x, spec.dtype, constants).astype(np.float64)
    sums = windows(wide, spec, 0.0).sum(axis=(3, 4))
    if spec.dtype == "float32":
        return [(sums / count).astype(np.float32)]
    ratio = pool_ratio(constants["input_scale"], constants["output_scale"], count)
    lo, hi = int(constants.get("lo", -128)), int(constants.get("hi", 127))
    return [requantize(sums, ratio, constants["output_zero_point"], lo, hi)]


def pool_ratio(input_scale, output_scale, count) -> np.ndarray:
    """float32(sx / float32(sy * float32(count)))."""
    divisor = np.float32(output_scale) * np.asarray(count, np.float32)
    return np.float32(input_scale) / divisor


def pool_counts(spec: specs.Pool2d) -> np.ndarray:
    """The divisor of every window, shape (oh, ow), at least 1.

    With `count_include_pad`, positions in the declared padding count; those a ceil_mode window
    has beyond the padding never do.
    """
    top, left, bottom, right = spec.pads
    if spec.count_include_pad:
        rows, cols = (-top, spec.h + bottom), (-left, spec.w + right)
    else:
        rows, cols = (0, spec.h), (0, spec.w)
    high = _inside(spec.oh, spec.strides[0], spec.kh, spec.dilations[0], top, rows)
    wide = _inside(spec.ow, spec.strides[1], spec.kw, spec.dilations[1], left, cols)
    return np.maximum(high[:, None] * wide[None, :], 1)


def _inside(out: int, stride: int, kernel: int, dilation: int, before: int, limits) -> np.ndarray:
    at = np.arange(out)[:, None] * stride - before + np.arange(kernel)[None, :] * dilation
    return ((at >= limits[0]) & (at < limits[1])).sum(axis=1)


def softmax_table(input_scale, n: int) -> np.ndarray:
    """int32 (256,): entry d is rint(exp(-d * input_scale) * 2^s), s so that n of them fit."""
    shift = min(23, 30 - int(np.ceil(np.log2(n))))
    steps = np.arange(256, dtype=np.float64) * float(np.float32(input_scale))
    return np.rint(np.exp(-steps) * 2.0**shift).astype(np.int32)


def softmax(spec: specs.Softmax, inputs: Sequence[np.ndarray], constants: Constants):
    """Softmax of each row; int8 by an integer table, one float32 division per row."""
    x = np.asarray(inputs[0]).reshape(spec.rows, spec.n)
    if spec.dtype == "float32":
        exps = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True).astype(np.float64))
        return [(exps / exps.sum(axis=1, keepdims=True)).astype(np.float32)]
    table = constants.get("table")
    if table is None:
        table = softmax_table(constants["input_scale"], spec.n)
    wide = x.astype(np.int32)
    terms = np.asarray(table, np.int32)[wide.max(axis=1, keepdims=True) - wide]
    sums = terms.sum(axis=1, keepdims=True, dtype=np.int32).astype(np.float32)
    inverse = constants.get("inverse_output_scale")
    if inverse is None:
        inverse = np.float32(1) / np.float32(constants["output_scale"])
    ratio = np.float32(inverse) / sums
    return [saturate(terms.astype(np.float32) * ratio, constants["output_zero_point"])]


def _operands(spec: specs.Binary, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    width = {"same": spec.size, "channel": spec.channels, "scalar": 1}[spec.broadcast]
    a = np.asarray(inputs[0]).reshape(spec.size)
    b = np.asarray(inputs[1]).reshape(width)
    return a, np.tile(b, spec.size // width)


def binary(spec: specs.Binary, inputs: Sequence[np.ndarray], constants: Constants):
    """Elementwise arithmetic of two tensors. There is no int8 division."""
    a, b = _operands(spec, inputs)
    if spec.dtype == "int8":
        return [_binary_int8(spec, a, b, constants)]
    functions: dict[str, np.ufunc] = {"add": np.add, "sub": np.subtract, "mul": np.multiply,
                                      "div": np.divide}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = functions[spec.kind](a.astype(np.float32), b.astype(np.float32))
    return [np.clip(y, np.float32(constants["lo"]), np.float32(constants["hi"]))
            if spec.clamp else y]


def _binary_int8(spec: specs.Binary, a: np.ndarray, b: np.ndarray, constants: Constants):
    lo, hi = _bounds(constants, spec.clamp)
    za, zb = int(constants["a_zero_point"]), int(constants["b_zero_point"])
    if spec.kind == "mul":
        product = (a.astype(np.int32) - za) * (b.astype(np.int32) - zb)
        return requantize(product, constants["ratio"], constants["output_zero_point"], lo, hi)
    left = _scaled(a, za, constants["ratio"])
    right = _scaled(b, zb, constants["residual_ratio"])
    real = left + right if spec.kind == "add" else left - right
    return saturate(real, constants["output_zero_point"], lo, hi)


def table(spec: specs.Table, inputs: Sequence[np.ndarray], constants: Constants):
    """y[i] = table[x[i] + 128]."""
    entries = np.asarray(constants["table"], np.int8)
    return [entries[np.asarray(inputs[0]).reshape(spec.size).astype(np.int32) + 128]]


def sigmoid_of(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


FUNCTIONS: dict[str, Any] = {"sigmoid": sigmoid_of, "tanh": np.tanh, "exp": np.exp,
                             "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt}


def unary_of(kind: str, x: np.ndarray, c: Constants) -> np.ndarray:
    """The float function `kind` of double `x`, in double."""
    if kind == "clip":
        return np.clip(x, float(c["lo"]), float(c["hi"]))
    if kind == "leaky_relu":
        return np.where(x >= 0, x, x * float(c["alpha"]))
    if kind == "hard_sigmoid":
        return np.clip(x * float(c["alpha"]) + float(c["beta"]), 0.0, 1.0)
    if kind == "hard_swish":
        return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)
    if kind == "relu":
        return np.maximum(x, 0.0)
    return FUNCTIONS[kind](x)


def unary(spec: specs.Unary, inputs: Sequence[np.ndarray], constants: Constants):
    """Elementwise float32 function."""
    x = np.asarray(inputs[0], np.float32).reshape(spec.size).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return [unary_of(spec.kind, x, constants).astype(np.float32)]


def quantize(spec: specs.Quantize, inputs: Sequence[np.ndarray], constants: Constants):
    """clamp(rint(x / scale) + zero_point), the division in float32."""
    x = np.asarray(inputs[0], np.float32).reshape(spec.size)
    with np.errstate(over="ignore"):
        return [saturate(x / np.float32(constants["scale"]), constants["zero_point"])]


def dequantize(spec: specs.Dequantize, inputs: Sequence[np.ndarray], constants: Constants):
    """float32(q - zero_point) * scale."""
    q = np.asarray(inputs[0]).reshape(spec.size)
    return [_scaled(q, constants["zero_point"], constants["scale"])]


def transpose(spec: specs.Transpose, inputs: Sequence[np.ndarray], constants: Constants):
    """y = x.transpose(permutation), contiguous."""
    x = np.asarray(inputs[0]).reshape(spec.shape)
    return [np.ascontiguousarray(x.transpose(spec.permutation))]


REFERENCES: dict[str, Callable[..., list[np.ndarray]]] = {
    "conv2d": conv2d, "fully_connected": fully_connected, "pool2d": pool2d, "softmax": softmax,
    "binary": binary, "table": table, "unary": unary, "quantize": quantize,
    "dequantize": dequantize, "transpose": transpose,
}


def reference(
    spec: specs.Spec, inputs: Sequence[np.ndarray], constants: Constants
) -> list[np.ndarray]:
    """The outputs of one step.

    Shapes: inputs as the spec says, or any shape of the same size; elementwise outputs are flat.
    """
    return REFERENCES[spec.op](spec, inputs, constants)
