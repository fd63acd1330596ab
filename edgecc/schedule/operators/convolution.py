"""Conv (1-D and 2-D, any stride, dilation, padding and groups) and BatchNormalization."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgecc.schedule.operators import operator
from edgecc.schedule.operators.windows import output_shape, read_window
from edgecc.schedule.ops import Affine, Constant, Conv
from edgecc.schedule.reader import Node


@operator("Conv")
def conv(node: Node) -> None:
    x, weights, bias = node.float_tensor(0), node.constant(1), node.optional_constant(2)
    node.attribute("kernel_shape")
    window = read_window(node, x, weights.real.shape[2:])
    groups = int(node.attribute("group", 1))
    k, per_group = weights.real.shape[:2]
    if per_group * groups != x.shape[1] or k % groups:
        node.refuse(f"weights {weights.real.shape} in {groups} groups do not fit "
                    f"{x.shape[1]} input channels")
    shape = output_shape(x, k, *_out_size(x.shape, window))
    node.emit(Conv, [x.name], shape, weights=_four_axes(weights), bias=bias,
              strides=window.strides, dilations=window.dilations, pads=window.pads, groups=groups)


def _out_size(shape, window) -> tuple[int, int]:
    size = (1, shape[2]) if len(shape) == 3 else shape[2:]
    top, left, bottom, right = window.pads
    spans = [d * (k - 1) + 1 for d, k in zip(window.dilations, window.kernel, strict=True)]
    return ((size[0] + top + bottom - spans[0]) // window.strides[0] + 1,
            (size[1] + left + right - spans[1]) // window.strides[1] + 1)


def _four_axes(weights: Constant) -> Constant:
    """(k, c, w) as (k, c, 1, w)."""
    if weights.real.ndim == 4:
        return weights
    integers = None if weights.integers is None else weights.integers[:, :, None]
    return replace(weights, real=weights.real[:, :, None], integers=integers)


@operator("BatchNormalization")
def batch_normalization(node: Node) -> None:
    """One that could not be folded at load: a multiply and an add per channel."""
    x = node.float_tensor(0)
    found = [node.numbers(i).astype(np.float64) for i in range(1, 5)]
    if node.attribute("training_mode", 0):
        node.refuse("training_mode is not supported", "export the model for inference")
    node.attribute("momentum")  # of training
    if node.attribute("spatial", 1) != 1:
        node.refuse("spatial=0 is not supported")
    if len(x.shape) < 2 or any(v.shape != (x.shape[1],) for v in found):
        node.refuse(f"scale, bias, mean and variance do not fit the channels of {x.shape}")
    gamma, beta, mean, variance = found
    scale = gamma / np.sqrt(variance + node.attribute("epsilon", 1e-5))
    column = (-1,) + (1,) * (len(x.shape) - 2)
    node.emit(Affine, [x.name], x.shape, scale=_column(scale, column),
              shift=_column(beta - mean * scale, column), divisor=np.ones(1, np.float32))


def _column(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return values.astype(np.float32).reshape(shape)
