"""Layer, instance and group normalization with constant scale and shift."""

from __future__ import annotations

import numpy as np

from edgecc.schedule.math_ops import GroupNorm, LayerNorm
from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Tensor
from edgecc.schedule.reader import Node


@operator("LayerNormalization")
def layer_normalization(node: Node) -> None:
    x, axis = node.float_tensor(), int(node.attribute("axis", -1))
    rank = len(x.shape)
    if not -rank <= axis < rank:
        node.refuse(f"axis {axis} is outside a tensor of {rank} dimensions")
    axis %= rank
    node.attribute("stash_type")  # sums are at least float32
    shape = x.shape[axis:]
    scale = _spread(node, 1, shape)
    shift = _spread(node, 2, shape) if node.has(2) else np.zeros(shape, np.float32)
    node.emit(LayerNorm, [x.name], x.shape, axis=axis, scale=scale, shift=shift,
              epsilon=float(node.attribute("epsilon", 1e-5)))


def _spread(node: Node, index: int, shape: tuple[int, ...]) -> np.ndarray:
    """A constant as large as what is normalized."""
    values = node.numbers(index).astype(np.float32)
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values[0]
    if node.broadcast(values.shape, shape) != shape:
        node.refuse(f"input {index} of shape {values.shape} does not fit the normalized {shape}")
    return np.broadcast_to(values, shape)


@operator("InstanceNormalization")
def instance_normalization(node: Node) -> None:
    x = node.float_tensor()
    _grouped(node, x, x.shape[1] if len(x.shape) > 1 else 1)


@operator("GroupNormalization")
def group_normalization(node: Node) -> None:
    x = node.float_tensor()
    node.attribute("stash_type")
    _grouped(node, x, int(node.attribute("num_groups")))


def _grouped(node: Node, x: Tensor, groups: int) -> None:
    if len(x.shape) < 3 or groups < 1 or x.shape[1] % groups:
        node.refuse(f"{x.shape} is not channels in {groups} groups before an image",
                    "the input must be (n, channels, ...)")
    scale, shift = (_per_channel(node, i, x.shape[1], groups) for i in (1, 2))
    node.emit(GroupNorm, [x.name], x.shape, groups=groups, scale=scale, shift=shift,
              epsilon=float(node.attribute("epsilon", 1e-5)))


def _per_channel(node: Node, index: int, channels: int, groups: int) -> np.ndarray:
    """One number per channel; before opset 21 GroupNormalization has one per group."""
    values = node.numbers(index).astype(np.float32)
    if values.shape not in ((channels,), (groups,)):
        node.refuse(f"input {index} of shape {values.shape} does not fit {channels} channels")
    return np.repeat(values, channels // values.size)
