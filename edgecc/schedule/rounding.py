"""Scale arithmetic, in float32 and in one order, and the tables of int8 functions."""

from __future__ import annotations

import numpy as np

from edgecc.kernels.requantize import saturate
from edgecc.schedule.ops import Constant
from edgecc.schedule.program import Quantization

INT32 = np.iinfo(np.int32)
EVERY = np.arange(-128, 128, dtype=np.int8)


def product_scale(input_scale: float, weight_scale: np.ndarray | None) -> np.ndarray:
    """float32(sx * sw)."""
    return np.float32(input_scale) * np.asarray(weight_scale, np.float32)


def requantize_scale(input_scale: float, weight_scale, output_scale: float) -> np.ndarray:
    """float32(float32(sx * sw) / sy)."""
    return product_scale(input_scale, weight_scale) / np.float32(output_scale)


def integer_bias(bias: Constant | None, product: np.ndarray, count: int) -> np.ndarray:
    """The bias at scale `product`: as it is in the model where it has that scale already."""
    if bias is None:
        return np.zeros(count, np.int32)
    if bias.integers is not None and bias.scale is not None and np.allclose(
            bias.scale, product, rtol=1e-5, atol=0):
        return np.broadcast_to(bias.integers.astype(np.int32), count).copy()
    exact = np.rint(bias.real.astype(np.float64) / product.astype(np.float64))
    return np.broadcast_to(np.clip(exact, INT32.min, INT32.max).astype(np.int32), count).copy()


def quantized(real, q: Quantization) -> np.ndarray:
    """int8 of clamp(rint(x / scale) + zero_point), the division in float32."""
    with np.errstate(over="ignore"):
        return saturate(np.asarray(real, np.float32) / np.float32(q.scale), q.zero_point)


def dequantized(q: np.ndarray, parameters: Quantization) -> np.ndarray:
    """float32(q - zero_point) * scale."""
    centred = (q.astype(np.int32) - parameters.zero_point).astype(np.float32)
    return centred * np.float32(parameters.scale)


def rescale_table(source: Quantization, target: Quantization) -> np.ndarray:
    return quantized(dequantized(EVERY, source), target)
