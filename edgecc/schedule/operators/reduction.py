"""Reductions over constant axes, and indices of extremes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgecc.schedule.math_ops import ArgReduce, Reduce
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.movement import given_axes
from edgecc.schedule.ops import Binary, Op, Pool, Reshape, Tensor, Unary
from edgecc.schedule.reader import Node

FUNCTIONS = {"ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min",
             "ReduceProd": "prod", "ReduceL1": "l1", "ReduceSumSquare": "sum_square"}
ROOTED = {"ReduceL2": ("sum_square", "sqrt"), "ReduceLogSum": ("sum", "log")}


@operator(*FUNCTIONS)
def reduce(node: Node) -> None:
    x = node.tensor() if node.op_type in ("ReduceMax", "ReduceMin") else node.float_tensor()
    axes, shape = _geometry(node, x)
    if not axes:
        _over_nothing(node, x)
    elif node.op_type == "ReduceMean" and len(x.shape) in (3, 4) and (
            axes == tuple(range(2, len(x.shape)))):
        _image_mean(node, x, shape)
    else:
        node.emit(Reduce, [x.name], shape, like=x, function=FUNCTIONS[node.op_type], axes=axes)


def _over_nothing(node: Node, x: Tensor) -> None:
    """noop_with_empty_axes: the function of each element alone."""
    alone = {"ReduceL1": "abs", "ReduceSumSquare": "pow"}.get(node.op_type)
    if alone is None:
        node.alias(x)
        return
    numbers = {"exponent": 2.0} if alone == "pow" else {}
    node.emit(Unary, [x.name], x.shape, function=alone, numbers=numbers)


def _image_mean(node: Node, x: Tensor, shape: Sequence[int]) -> None:
    """The mean of an image is a global pool."""
    size = (1, x.shape[2]) if len(x.shape) == 3 else x.shape[2:]
    whole = (*x.shape[:2], *[1] * (len(x.shape) - 2))
    pooled = node.emit(Pool, [x.name], whole, last=tuple(shape) == whole, like=x,
                       function="average", kernel=size, strides=(1, 1), pads=(0, 0, 0, 0))
    if tuple(shape) != whole:
        node.emit(Reshape, [pooled.name], shape)


@operator(*ROOTED)
def reduce_then_function(node: Node) -> None:
    x = node.float_tensor()
    axes, shape = _geometry(node, x)
    function, after = ROOTED[node.op_type]
    if not axes:
        node.emit(Unary, [x.name], x.shape, function={"sqrt": "abs"}.get(after, after))
        return
    joined = node.emit(Reduce, [x.name], shape, last=False, function=function, axes=axes)
    node.emit(Unary, [joined.name], shape, function=after)


@operator("ReduceLogSumExp")
def log_sum_exp(node: Node) -> None:
    """The largest value is taken out before the exponentials and added after the logarithm."""
    x = node.float_tensor()
    axes, shape = _geometry(node, x)
    if not axes:
        node.alias(x)
        return

    def made(kind: type[Op], inputs: list[Tensor], size: Sequence[int], **fields) -> Tensor:
        return node.emit(kind, [t.name for t in inputs], size, last=False, **fields)

    kept = [1 if i in axes else n for i, n in enumerate(x.shape)]
    top = made(Reduce, [x], kept, function="max", axes=axes)
    below = made(Binary, [x, top], x.shape, function="sub")
    terms = made(Unary, [below], x.shape, function="exp")
    total = made(Reduce, [terms], kept, function="sum", axes=axes)
    logarithm = made(Unary, [total], kept, function="log")
    result = made(Binary, [logarithm, top], kept, function="add")
    node.emit(Reshape, [result.name], shape)


def _geometry(node: Node, x: Tensor) -> tuple[tuple[int, ...], list[int]]:
    """The axes to reduce (none: every element alone) and the output's shape."""
    axes, keep = _axes(node, len(x.shape)), node.attribute("keepdims", 1)
    return axes, [1 if i in axes else n for i, n in enumerate(x.shape) if i not in axes or keep]


def _axes(node: Node, rank: int) -> tuple[int, ...]:
    axes = given_axes(node)
    nothing = node.attribute("noop_with_empty_axes", 0)
    if axes is None or len(axes) == 0:
        return () if nothing else tuple(range(rank))
    return _checked(node, axes, rank)


def _checked(node: Node, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    if any(not -rank <= a < rank for a in axes):
        node.refuse(f"axes {tuple(axes)} are outside a tensor of {rank} dimensions")
    return tuple(sorted({a % rank for a in axes}))


@operator("ArgMax", "ArgMin")
def arg_reduce(node: Node) -> None:
    x = node.tensor()
    axis = _checked(node, [int(node.attribute("axis", 0))], len(x.shape))[0]
    keep = node.attribute("keepdims", 1)
    shape = [1 if i == axis else n for i, n in enumerate(x.shape) if i != axis or keep]
    node.emit(ArgReduce, [x.name], shape, dtype="int64", function=node.op_type[3:].lower(),
              axis=axis, last_of_equals=bool(node.attribute("select_last_index", 0)))


@operator("LpNormalization")
def lp_normalization(node: Node) -> None:
    """x divided by its norm along an axis."""
    x, p = node.float_tensor(), node.attribute("p", 2)
    axis = _checked(node, [int(node.attribute("axis", -1))], len(x.shape))
    if p not in (1, 2):
        node.refuse(f"p = {p} is not supported", "use 1 or 2")
    kept = [1 if i in axis else n for i, n in enumerate(x.shape)]
    norm = node.emit(Reduce, [x.name], kept, last=False,
                     function="l1" if p == 1 else "sum_square", axes=axis)
    if p == 2:
        norm = node.emit(Unary, [norm.name], kept, last=False, function="sqrt")
    finfo = np.finfo(x.dtype)
    least = {"lo": float(finfo.tiny if x.dtype == "float32" else finfo.smallest_subnormal),
             "hi": np.inf}  # zeros stay zeros
    norm = node.emit(Unary, [norm.name], kept, last=False, function="clip", numbers=least)
    node.emit(Binary, [x.name, norm.name], x.shape, function="div")
