"""MaxPool, AveragePool, their global forms, and ReduceMean over any axes."""

from __future__ import annotations

from edgecc.kernels.spec import Pool2d
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.windows import image_size, output_shape, read_window
from edgecc.schedule.ops import Pool, Tensor
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
