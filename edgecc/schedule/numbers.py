"""Spec and constants of each arithmetic operator, int8 and float32.

Each function takes the operator and its tensors (shapes as ONNX has them) and gives a Call. No
layouts are decided here; weights are permuted where `order` says how an axis is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgecc.kernels import short_sums
from edgecc.kernels import spec as specs
from edgecc.kernels.reference import softmax_table
from edgecc.schedule.grouped import Grouped, constants_of, spec_of
from edgecc.schedule.ops import Constant, Conv, Dense, Pool, Tensor
from edgecc.schedule.program import Quantization
from edgecc.schedule.rounding import integer_bias, product_scale, requantize_scale

FULL = (-128, 127)
INFINITE = (-np.inf, np.inf)


@dataclass(frozen=True)
class Call:
    """What one step computes: spec, constants, and the shapes its views have."""

    spec: specs.Spec
    constants: Mapping[str, Any]
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]


def quantization(tensor: Tensor) -> Quantization:
    assert tensor.quantization is not None, f"{tensor.name} has no quantization"
    return tensor.quantization


def image(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """n, h, w, c of an ONNX image shape."""
    if len(shape) == 3:
        return shape[0], 1, shape[2], shape[1]
    return shape[0], shape[2], shape[3], shape[1]


def limits(clamp, dtype: str) -> dict[str, Any]:
    """lo and hi, from a clamp or as wide as the dtype."""
    if dtype == "int8":
        lo, hi = clamp or FULL
        return {"lo": int(lo), "hi": int(hi)}
    lo, hi = clamp or INFINITE
    return {"lo": np.float32(lo), "hi": np.float32(hi)}


def weighted(op: Conv | Dense, x: Tensor, y: Tensor, residual: Tensor | None,
             weights: np.ndarray) -> dict[str, Any]:
    """Constants of a convolution or matrix product; `weights` are already in kernel order."""
    count = weights.shape[0]
    clamp = limits(op.clamp, y.dtype)
    if specs.is_real(y.dtype):
        bias = np.zeros(count) if op.bias is None else op.bias.real
        return {"weights": np.ascontiguousarray(weights, y.dtype),
                "bias": np.array(np.broadcast_to(bias, count), np.float32), **clamp}
    zx, zy = quantization(x), quantization(y)
    inner = op.inner.quantization if op.inner else zy
    product = product_scale(zx.scale, op.weights.scale)
    scale = requantize_scale(zx.scale, op.weights.scale, inner.scale)
    constants = {"weights": np.ascontiguousarray(weights, np.int8),
                 "bias": integer_bias(op.bias, product, count),
                 "scale": np.array(np.broadcast_to(scale, count), np.float32),
                 "input_zero_point": zx.zero_point, "output_zero_point": zy.zero_point, **clamp}
    if residual is not None:
        constants |= _residual(op, zy, quantization(residual))
    return constants


def _residual(op: Conv | Dense, out: Quantization, other: Quantization) -> dict[str, Any]:
    assert op.inner is not None, "an int8 residual keeps its inner quantization"
    inner, (lo, hi) = op.inner.quantization, op.inner.clamp
    return {"inner_zero_point": inner.zero_point, "inner_lo": lo, "inner_hi": hi,
            "ratio": np.float32(inner.scale) / np.float32(out.scale),
            "residual_ratio": np.float32(other.scale) / np.float32(out.scale),
            "residual_zero_point": other.zero_point}


def stored_weights(weights: Constant, dtype: str) -> np.ndarray:
    if specs.is_real(dtype):
        return weights.real
    assert weights.integers is not None, "int8 operators have integer weights"
    return weights.integers


def wide(weights: np.ndarray) -> bool:
    """Whether some int8 weight is -128, which not every kernel may multiply."""
    return weights.dtype == np.int8 and bool((weights == -128).any())


def shortened(call: Call, features: Iterable[str]) -> Call:
    """The call with `short_sums` said where it is true and the target has kernels for it."""
    spec = call.spec
    if (isinstance(spec, specs.Conv2d | specs.FullyConnected) and spec.dtype == "int8"
            and asks_for_short_sums(spec, frozenset(features))
            and short_sums.fits(call.constants)):
        return replace(call, spec=replace(spec, short_sums=True))
    return call


def asks_for_short_sums(spec: specs.Conv2d | specs.FullyConnected,
                        features: frozenset[str]) -> bool:
    """NEON everywhere, Cortex-M's DSP kernels of depthwise convolutions."""
    depthwise = isinstance(spec, specs.Conv2d) and spec.depthwise and spec.groups > 1
    return "neon" in features or (depthwise and "dsp" in features and "mve" not in features)


def conv(op: Conv, x: Tensor, y: Tensor, residual: Tensor | None) -> Call:
    weights = stored_weights(op.weights, y.dtype).transpose(0, 2, 3, 1)
    n, h, w, c = image(x.shape)
    spec = specs.Conv2d(y.dtype, n, h, w, c, *weights.shape[:3], op.strides,  # type: ignore
                        op.dilations, op.pads, op.groups, op.clamp is not None,
                        residual is not None, wide(weights))
    out = (n, spec.oh, spec.ow, spec.k)
    return Call(spec, weighted(op, x, y, residual, weights),
                ((n, h, w, c), *([out] if residual else [])), out)


def dense(op: Dense, x: Tensor, y: Tensor, residual: Tensor | None, order: np.ndarray) -> Call:
    """`order` is the row-major index of every stored position of the summed axis."""
    grouped = None if op.weights.grouped is None else op.weights.grouped.by_rows
    if grouped is not None and y.dtype == "float32":
        return _grouped(op, grouped, x, residual)
    weights = stored_weights(op.weights, y.dtype)[:, order]
    n, k = weights.shape
    m = x.size // k
    spec = specs.FullyConnected(y.dtype, m, k, n, op.clamp is not None,  # type: ignore[arg-type]
                                residual is not None, wide(weights))
    return Call(spec, weighted(op, x, y, residual, weights),
                ((m, k), *([(m, n)] if residual else [])), (m, n))


def _grouped(op: Dense, weights: Grouped, x: Tensor, residual: Tensor | None) -> Call:
    """4-bit weights; `arrange` leaves the summed axis in order for them."""
    n, k = weights.codes.shape
    m = x.size // k
    spec = spec_of(weights, m, clamp=op.clamp is not None, residual=residual is not None)
    bias = np.zeros(n) if op.bias is None else op.bias.real
    return Call(spec, {**constants_of(weights), **limits(op.clamp, "float32"),
                       "bias": np.array(np.broadcast_to(bias, n), np.float32)},
                ((m, k), *([(m, n)] if residual else [])), (m, n))


def pool(op: Pool, x: Tensor, y: Tensor) -> Call:
    n, h, w, c = image(x.shape)
    spec = specs.Pool2d(y.dtype, op.function, n, h, w, c, *op.kernel,  # type: ignore[arg-type]
                        op.strides, op.dilations, op.pads, op.count_include_pad, op.ceil_mode)
    constants: dict[str, Any] = {}
    if y.dtype == "int8" and op.function == "average":
        zx, zy = quantization(x), quantization(y)
        constants = {"scale": np.float32(zx.scale) / np.float32(zy.scale),
                     "input_scale": np.float32(zx.scale), "output_scale": np.float32(zy.scale),
                     "input_zero_point": zx.zero_point, "output_zero_point": zy.zero_point,
                     "lo": FULL[0], "hi": FULL[1]}
    return Call(spec, constants, ((n, h, w, c),), (n, spec.oh, spec.ow, c))


def softmax(x: Tensor, y: Tensor, n: int, log: bool = False) -> Call:
    rows = x.size // n
    constants: dict[str, Any] = {}
    if y.dtype == "int8":
        zx, zy = quantization(x), quantization(y)
        constants = {"input_scale": np.float32(zx.scale), "output_scale": np.float32(zy.scale),
                     "output_zero_point": zy.zero_point, "table": softmax_table(zx.scale, n),
                     "inverse_output_scale": np.float32(1) / np.float32(zy.scale)}
    spec = specs.Softmax(y.dtype, rows, n, log)  # type: ignore[arg-type]
    return Call(spec, constants, ((rows, n),), (rows, n))
