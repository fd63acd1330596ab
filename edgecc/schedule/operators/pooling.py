"""MaxPool, AveragePool, their global forms, and ReduceMean over any axes."""

from __future__ import annotations

import math

from edgecc.kernels.spec import Pool2d
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.movement import given_axes
from edgecc.schedule.operators.windows import image_size, output_shape, read_window
from edgecc.schedule.ops import Pool, Reshape, Tensor, Transpose
from edgecc.schedule.reader import Node


@operator("MaxPool", "AveragePool")
def pool(node: Node) -> None:
    x = node.tensor() if node.op_type == "MaxPool" else node.float_tensor()
    window = read_window(node, x, tuple(node.attribute("kernel_shape", ())))
    function = "max" if node.op_type == "MaxPool" else "average"
    ceil_mode = bool(node.attribute("ceil_mode", 0))
    node.attribute("storage_order")  # of the indices, an output that is refused if used
    h, w = image_size(node, x)
    shape = Pool2d("float32", "max", 1, h, w, 1, *window.kernel, window.strides,
                   window.dilations, window.pads, ceil_mode=ceil_mode)
    if any(p >= d * (k - 1) + 1 for p, k, d in zip(window.pads, window.kernel * 2,
                                                  window.dilations * 2, strict=True)):
        node.refuse("a pad is as large as the window")
    node.emit(Pool, [x.name], output_shape(x, x.shape[1], shape.oh, shape.ow), like=x,
              function=function, kernel=window.kernel, strides=window.strides,
              pads=window.pads, dilations=window.dilations, ceil_mode=ceil_mode,
              count_include_pad=bool(node.attribute("count_include_pad", 0)))


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> None:
    x = node.float_tensor() if node.op_type == "GlobalAveragePool" else node.tensor()
    function = "average" if node.op_type == "GlobalAveragePool" else "max"
    image_size(node, x)
    _whole(node, x, function, output_shape(x, x.shape[1], 1, 1), last=True)


def _whole(node: Node, x: Tensor, function: str, shape, last: bool) -> Tensor:
    size = image_size(node, x)
    return node.emit(Pool, [x.name], shape, last=last, like=x, function=function, kernel=size,
                     strides=(1, 1), pads=(0, 0, 0, 0))


@operator("ReduceMean")
def reduce_mean(node: Node) -> None:
    """The reduced axes are gathered at the end, where they are the width of an image."""
    x = node.float_tensor()
    axes = _axes(node, len(x.shape))
    kept = [i for i in range(len(x.shape)) if i not in axes]
    keepdims = node.attribute("keepdims", 1)
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if i not in axes or keepdims]
    turned = node.emit(Transpose, [x.name], [x.shape[i] for i in (*kept, *axes)], last=False,
                       permutation=(*kept, *axes))
    batch = x.shape[0] if kept and kept[0] == 0 else 1
    channels = math.prod(x.shape[i] for i in kept) // batch
    width = math.prod(x.shape[i] for i in axes)
    image = node.emit(Reshape, [turned.name], (batch, channels, width), last=False)
    means = _whole(node, image, "average", (batch, channels, 1), last=False)
    node.emit(Reshape, [means.name], shape)


def _axes(node: Node, rank: int) -> tuple[int, ...]:
    axes = given_axes(node)
    empty_means_none = node.attribute("noop_with_empty_axes", 0)
    if axes is None or len(axes) == 0:
        if empty_means_none:
            node.refuse("a reduction over no axes is not supported", "remove the node")
        return tuple(range(rank))
    if any(not -rank <= a < rank for a in axes):
        node.refuse(f"axes {tuple(axes)} are outside a tensor of {rank} dimensions")
    return tuple(sorted({a % rank for a in axes}))
