"""The law: one numpy reference per operator. Every kernel on every target gives these bytes.

`reference(spec, inputs, constants)` takes arrays of the spec's shapes (or flat ones of the same
size) and gives the list of outputs. int8 results are exact; float32 ones are computed in double
and rounded once, and kernels are held to them within a tolerance; float16 ones are those of
float32 rounded once more. Kernels that add in float16 have a law of their own: half_reference.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgecc.kernels import math_reference, movement_reference
from edgecc.kernels import spec as specs
from edgecc.kernels.float16 import COMPUTED
from edgecc.kernels.functions import unary_of
from edgecc.kernels.grouped_spec import grouped_product
from edgecc.kernels.math_reference import arithmetic
from edgecc.kernels.requantize import (
    bounds,
    requantize,
    saturate,
    scaled,
    wrap_int32,
)

Constants = Mapping[str, Any]


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
    lo, hi = bounds(constants, spec.clamp)
    zero_point = int(constants["output_zero_point"])
    scale = np.asarray(constants["scale"], np.float32)
    if residual is None:
        return requantize(acc, scale, zero_point, lo, hi)
    inner_zero = int(constants["inner_zero_point"])
    inner = requantize(acc, scale, inner_zero, constants["inner_lo"], constants["inner_hi"])
    own = scaled(inner, inner_zero, constants["ratio"])
    other = scaled(residual.reshape(acc.shape), constants["residual_zero_point"],
                    constants["residual_ratio"])
    return saturate(own + other, zero_point, lo, hi)


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
        below = x.astype(np.float64) - x.max(axis=1, keepdims=True)
        total = np.exp(below).sum(axis=1, keepdims=True)
        soft = below - np.log(total) if spec.log else np.exp(below) / total
        return [soft.astype(np.float32)]
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
    """Elementwise arithmetic of two tensors."""
    a, b = _operands(spec, inputs)
    return [arithmetic(spec, a, b, constants)]


def table(spec: specs.Table, inputs: Sequence[np.ndarray], constants: Constants):
    """y[i] = table[x[i] + 128]."""
    entries = np.asarray(constants["table"], np.int8)
    return [entries[np.asarray(inputs[0]).reshape(spec.size).astype(np.int32) + 128]]


def unary(spec: specs.Unary, inputs: Sequence[np.ndarray], constants: Constants):
    """Elementwise float32 function."""
    x = np.asarray(inputs[0], np.float32).reshape(spec.size).astype(np.float64)
    with np.errstate(over="ignore"):
        return [unary_of(spec.kind, x, constants).astype(np.float32)]


def quantize(spec: specs.Quantize, inputs: Sequence[np.ndarray], constants: Constants):
    """clamp(rint(x / scale) + zero_point), the division in float32."""
    x = np.asarray(inputs[0], np.float32).reshape(spec.size)
    with np.errstate(over="ignore"):
        return [saturate(x / np.float32(constants["scale"]), constants["zero_point"])]


def dequantize(spec: specs.Dequantize, inputs: Sequence[np.ndarray], constants: Constants):
    """float32(q - zero_point) * scale."""
    q = np.asarray(inputs[0]).reshape(spec.size)
    return [scaled(q, constants["zero_point"], constants["scale"])]


def recentre(spec: specs.Recentre, inputs: Sequence[np.ndarray], constants: Constants):
    """int8 of uint8 - 128."""
    return [(np.asarray(inputs[0], np.int16) - 128).astype(np.int8).reshape(spec.size)]


def transpose(spec: specs.Transpose, inputs: Sequence[np.ndarray], constants: Constants):
    """y = x.transpose(permutation), contiguous."""
    x = np.asarray(inputs[0]).reshape(spec.shape)
    return [np.ascontiguousarray(x.transpose(spec.permutation))]


def convert(spec: specs.Convert, inputs: Sequence[np.ndarray], constants: Constants):
    """Between float16 and float32."""
    with np.errstate(over="ignore"):
        return [np.asarray(inputs[0]).reshape(-1).astype(spec.to)]


REFERENCES: dict[str, Callable[..., list[np.ndarray]]] = {
    "conv2d": conv2d, "fully_connected": fully_connected, "pool2d": pool2d, "softmax": softmax,
    "binary": binary, "table": table, "unary": unary, "quantize": quantize,
    "dequantize": dequantize, "recentre": recentre, "transpose": transpose,
    "convert": convert, "grouped_product": grouped_product, **math_reference.REFERENCES,
    **movement_reference.REFERENCES,
}


def reference(
    spec: specs.Spec, inputs: Sequence[np.ndarray], constants: Constants
) -> list[np.ndarray]:
    """The outputs of one step.

    Shapes: inputs as the spec says, or any shape of the same size; elementwise outputs are flat.
    """
    if spec.dtype == "float16" and spec.op in COMPUTED:
        return _in_half(spec, inputs, constants)
    return REFERENCES[spec.op](spec, inputs, constants)


def _in_half(spec: Any, inputs: Sequence[np.ndarray], constants: Constants) -> list[np.ndarray]:
    """As in float32, then rounded once."""
    wide = [x.astype(np.float32) if x.dtype == np.float16 else x for x in map(np.asarray, inputs)]
    found = REFERENCES[spec.op](replace(spec, dtype="float32"), wide, constants)
    with np.errstate(over="ignore"):
        return [y.astype(np.float16) if y.dtype == np.float32 else y for y in found]
