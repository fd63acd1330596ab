"""Softmax and LogSoftmax over one axis (opset 13), or over the flattened tail (before)."""

from __future__ import annotations

import math

from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Reshape, Softmax
from edgecc.schedule.reader import Node


@operator("Softmax", "LogSoftmax")
def softmax(node: Node) -> None:
    x, log = node.float_tensor(), node.op_type == "LogSoftmax"
    rank, modern = len(x.shape), node.building.opset >= 13
    axis = int(node.attribute("axis", -1 if modern else 1))
    if not -rank <= axis < rank:
        node.refuse(f"axis {axis} is outside a tensor of {rank} dimensions")
    axis %= rank
    if modern or math.prod(x.shape[axis:]) == x.shape[axis]:
        node.emit(Softmax, [x.name], x.shape, axis=axis, log=log)
        return
    rows = math.prod(x.shape[:axis])
    flat = node.emit(Reshape, [x.name], (rows, x.size // rows), last=False)
    soft = node.emit(Softmax, [flat.name], flat.shape, last=False, axis=1, log=log)
    node.emit(Reshape, [soft.name], x.shape)
