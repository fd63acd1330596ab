"""Unary functions, and arithmetic of two tensors or of a tensor and a constant."""

from __future__ import annotations

import numpy as np

from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Affine, Binary, Unary
from edgecc.schedule.reader import Node

FUNCTIONS = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Neg": "neg",
             "Abs": "abs", "Sqrt": "sqrt", "HardSwish": "hard_swish"}
PARAMETERS = {"LeakyRelu": ("leaky_relu", {"alpha": 0.01}),
              "HardSigmoid": ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5})}


@operator(*FUNCTIONS)
def unary(node: Node) -> None:
    x = node.float_tensor()
    node.emit(Unary, [x.name], x.shape, function=FUNCTIONS[node.op_type])


@operator(*PARAMETERS)
def unary_with_parameters(node: Node) -> None:
    x = node.float_tensor()
    function, defaults = PARAMETERS[node.op_type]
    numbers = {name: float(node.attribute(name, value)) for name, value in defaults.items()}
    node.emit(Unary, [x.name], x.shape, function=function, numbers=numbers)


@operator("Clip")
def clip(node: Node) -> None:
    x = node.float_tensor()
    lo, hi = node.attribute("min", -np.inf), node.attribute("max", np.inf)
    if node.building.opset >= 11:
        lo, hi = _bound(node, 1, -np.inf), _bound(node, 2, np.inf)
    numbers = {"lo": float(np.float32(lo)), "hi": float(np.float32(hi))}
    node.emit(Unary, [x.name], x.shape, function="clip", numbers=numbers)


def _bound(node: Node, index: int, default: float) -> float:
    if not node.has(index):
        return default
    return float(node.numbers(index).reshape(-1)[0])


@operator("Add", "Sub", "Mul", "Div")
def binary(node: Node) -> None:
    if node.is_constant(0) or node.is_constant(1):
        _with_constant(node)
        return
    a, b = node.float_tensor(0), node.float_tensor(1)
    shape = np.broadcast_shapes(a.shape, b.shape)
    if a.size < b.size and node.op_type in ("Add", "Mul"):
        a, b = b, a
    if a.size != int(np.prod(shape)):
        node.refuse(f"{a.shape} {node.op_type} {b.shape}: the left operand is broadcast",
                    "only the right operand of Sub and Div, and one operand of Add and Mul, may "
                    "be broadcast")
    node.emit(Binary, [a.name, b.name], shape, function=node.op_type.lower())


def _with_constant(node: Node) -> None:
    left = node.is_constant(0)
    x, values = node.float_tensor(1 if left else 0), node.numbers(0 if left else 1)
    values = values.astype(np.float32)
    if np.broadcast_shapes(x.shape, values.shape) != x.shape:
        node.refuse(f"the constant {values.shape} is larger than the computed tensor {x.shape}")
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    forms = {"Add": (one, values, one), "Sub": (one, -values, one), "Mul": (values, zero, one),
             "Div": (one, zero, values)}
    if left and node.op_type == "Div":
        node.refuse("a constant divided by a tensor is not supported", "multiply instead")
    scale, shift, divisor = (-one, values, one) if left and node.op_type == "Sub" else (
        forms[node.op_type])
    node.emit(Affine, [x.name], x.shape, scale=scale, shift=shift, divisor=divisor)
