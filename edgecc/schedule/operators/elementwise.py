"""Arithmetic of two or more tensors, or of a tensor and a constant."""

from __future__ import annotations

import numpy as np

from edgecc.schedule.math_ops import Rowwise
from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Affine, Binary, Tensor, Unary
from edgecc.schedule.reader import Node


@operator("Add", "Sub", "Mul", "Div")
def binary(node: Node) -> None:
    if node.is_constant(0) or node.is_constant(1):
        _with_constant(node)
        return
    a, b = node.float_tensor(0), node.float_tensor(1)
    shape = node.broadcast(a.shape, b.shape)
    node.emit(Binary, [a.name, b.name], shape, function=node.op_type.lower())


def _with_constant(node: Node) -> None:
    left = node.is_constant(0)
    x, values = node.float_tensor(1 if left else 0), node.numbers(0 if left else 1)
    values = values.astype(np.float32)
    _check_fits(node, x, values)
    if left and node.op_type == "Div":
        _quotient(node, x, values)
        return
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    forms = {"Add": (one, values, one), "Sub": (one, -values, one), "Mul": (values, zero, one),
             "Div": (one, zero, values)}
    scale, shift, divisor = (-one, values, one) if left and node.op_type == "Sub" else (
        forms[node.op_type])
    node.emit(Affine, [x.name], x.shape, scale=scale, shift=shift, divisor=divisor)


def _check_fits(node: Node, x: Tensor, values: np.ndarray) -> None:
    if node.broadcast(x.shape, values.shape) != x.shape:
        node.refuse(f"the constant {values.shape} is larger than the computed tensor {x.shape}")


def _quotient(node: Node, x: Tensor, values: np.ndarray) -> None:
    """A constant divided by a tensor."""
    if values.size > 1:
        node.emit(Rowwise, [x.name], x.shape, function="rdiv", operand=values)
        return
    numbers = {"numerator": float(values.reshape(-1)[0])}
    node.emit(Unary, [x.name], x.shape, function="reciprocal", numbers=numbers)


@operator("Min", "Max", "Sum", "Mean")
def several(node: Node) -> None:
    """Two at a time; constants first become one."""
    count = len(node.node.inputs)
    function = {"Min": "min", "Max": "max"}.get(node.op_type, "add")
    tensors = [node.float_tensor(i) for i in range(count) if not node.is_constant(i)]
    constants = [node.numbers(i).astype(np.float32) for i in range(count) if node.is_constant(i)]
    if not tensors:
        node.refuse("all inputs are constants", "fold constants before scheduling")
    x = tensors[0]
    mean = node.op_type == "Mean" and count > 1
    for place, other in enumerate(tensors[1:], 2):
        shape = node.broadcast(x.shape, other.shape)
        last = place == len(tensors) and not constants and not mean
        x = node.emit(Binary, [x.name, other.name], shape, last=last, function=function)
    if constants:
        x = _joined(node, x, constants, function, last=not mean)
    if mean:
        _affine(node, x, np.full(1, 1 / count, np.float32), np.zeros(1, np.float32), last=True)
    elif count == 1:
        node.alias(x)


def _joined(node: Node, x: Tensor, constants: list[np.ndarray], function: str,
            last: bool) -> Tensor:
    """A tensor with all constants."""
    join = {"min": np.minimum, "max": np.maximum, "add": np.add}[function]
    value = constants[0]
    for other in constants[1:]:
        value = join(value, other)
    _check_fits(node, x, value)
    if function == "add":
        return _affine(node, x, np.ones(1, np.float32), value, last)
    if value.size > 1:
        return node.emit(Rowwise, [x.name], x.shape, last=last, function=function, operand=value)
    bound = {"max": "lo", "min": "hi"}[function]
    numbers = {"lo": -np.inf, "hi": np.inf} | {bound: float(value.reshape(-1)[0])}
    return node.emit(Unary, [x.name], x.shape, last=last, function="clip", numbers=numbers)


def _affine(node: Node, x: Tensor, scale: np.ndarray, shift: np.ndarray, last: bool) -> Tensor:
    return node.emit(Affine, [x.name], x.shape, last=last, scale=scale,
                     shift=shift, divisor=np.ones(1, np.float32))
