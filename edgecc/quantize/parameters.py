"""The arithmetic of int8 parameters: ranges to scales, weights and biases to integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

QMIN, QMAX = -128, 127
WEIGHT_MAX = 127
_INT32_MAX = 2**31 - 1
# Scales below these could make the float32 product sx*sw of a dead layer denormal.
_MIN_ACTIVATION_SCALE = 1e-15
_MIN_WEIGHT_SCALE = 1e-20


@dataclass(frozen=True)
class Parameters:
    """real = (q - zero_point) * scale; `scale` is exactly a float32 number."""

    scale: float
    zero_point: int


SOFTMAX = Parameters(1 / 256, -128)
SIGMOID = Parameters(1 / 256, -128)
TANH = Parameters(1 / 128, 0)


def from_range(low: float, high: float, ceiling: float | None = None) -> Parameters:
    """Parameters for the range widened to include 0, so that zero is exact.

    `ceiling` is the upper bound of a Clip: the largest representable number does not pass it
    (if zero is the lowest), so that the Clip is a no-op after quantization.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    if high - low < _MIN_ACTIVATION_SCALE * (QMAX - QMIN):
        return Parameters(1.0, QMIN if low == 0.0 else 0)
    scale = np.float32((high - low) / (QMAX - QMIN))
    zero_point = int(np.clip(np.rint(QMIN - low / float(scale)), QMIN, QMAX))
    if ceiling is not None and zero_point == QMIN and high <= ceiling:
        while np.float32(QMAX - QMIN) * scale > np.float32(ceiling):
            scale = np.nextafter(scale, np.float32(0))
    return Parameters(float(scale), zero_point)


def quantized(array: np.ndarray, parameters: Parameters) -> np.ndarray:
    """int8 values of a float array, rounded half to even."""
    steps = np.rint(array.astype(np.float32) / np.float32(parameters.scale))
    return np.clip(steps + parameters.zero_point, QMIN, QMAX).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Weights:
    """Integers of a linear operator; channel axis first in `scale` and `bias`."""

    values: np.ndarray  # int8, in [-127, 127]
    scale: np.ndarray  # float32 (channels,)
    bias: np.ndarray | None  # int32 (channels,)
    bias_scale: np.ndarray  # float32 (channels,): float32(input scale * scale)
    axis: int

    def dequantized(self) -> np.ndarray:
        """The weights that the integers stand for."""
        shape = [1] * self.values.ndim
        shape[self.axis] = -1
        return self.values.astype(np.float32) * self.scale.reshape(shape)


def quantize_weights(
    weights: np.ndarray, bias: np.ndarray | None, input_scale: float, axis: int, groups: int = 1
) -> Weights:
    """Symmetric per-channel weights along `axis` and the int32 bias at sx*sw.

    A channel's scale is raised where its bias would not fit int32 beside the accumulated
    products, and where it would be meaninglessly small beside the other channels (dead rows).
    `groups` share the scales where `axis` has one group's channels (ConvTranspose).
    """
    moved = np.moveaxis(weights, axis, 0).astype(np.float64)
    rows = moved.reshape(len(moved), -1)
    largest = None if bias is None else np.abs(bias.reshape(groups, -1)).max(axis=0)
    scale = _weight_scales(rows, largest, input_scale)
    shape = (-1,) + (1,) * (moved.ndim - 1)
    integers = np.rint(moved / scale.astype(np.float64).reshape(shape))
    values = np.clip(integers, -WEIGHT_MAX, WEIGHT_MAX).astype(np.int8)
    bias_scale = np.tile(np.float32(input_scale) * scale, groups)
    integer_bias = None if bias is None else _quantize_bias(bias, bias_scale)
    values = np.ascontiguousarray(np.moveaxis(values, 0, axis))
    return Weights(values, scale, integer_bias, bias_scale, axis)


def _weight_scales(rows: np.ndarray, bias: np.ndarray | None, input_scale: float) -> np.ndarray:
    natural = np.abs(rows).max(axis=1, initial=0.0) / WEIGHT_MAX
    least = np.full_like(natural, max(natural.max(initial=0.0) * 2.0**-24, _MIN_WEIGHT_SCALE))
    if bias is not None:
        magnitude = np.abs(bias.astype(np.float64))
        least = np.maximum(least, magnitude / (input_scale * bias_limit(rows.shape[1])))
    # Rounding to float32 may go down: a raised scale takes one step up to keep its promise.
    raised = np.nextafter(least.astype(np.float32), np.float32(np.inf))
    return np.where(natural < least, raised, natural.astype(np.float32))


def bias_limit(products: int) -> int:
    """Largest |bias| that leaves int32 room for `products` int8 products."""
    room = _INT32_MAX - products * WEIGHT_MAX * (QMAX - QMIN)
    return max(room, 2**30)


def _quantize_bias(bias: np.ndarray, bias_scale: np.ndarray) -> np.ndarray:
    steps = np.rint(bias.astype(np.float64) / bias_scale.astype(np.float64))
    return np.clip(steps, -_INT32_MAX, _INT32_MAX).astype(np.int32)
