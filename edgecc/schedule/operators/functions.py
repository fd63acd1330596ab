"""Functions of one tensor, element by element."""

from __future__ import annotations

import numpy as np

from edgecc.kernels.functions import SELU_ALPHA, SELU_GAMMA
from edgecc.schedule.math_ops import Rowwise
from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Affine, Binary, Unary
from edgecc.schedule.reader import Node

FUNCTIONS = {
    "Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Neg": "neg",
    "Abs": "abs", "Sqrt": "sqrt", "HardSwish": "hard_swish", "Log": "log", "Floor": "floor",
    "Ceil": "ceil", "Round": "round", "Sign": "sign", "Sin": "sin", "Cos": "cos", "Erf": "erf",
    "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish",
}
PARAMETERS = {
    "LeakyRelu": ("leaky_relu", {"alpha": 0.01}),
    "HardSigmoid": ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
    "Elu": ("elu", {"alpha": 1.0}),
    "Celu": ("celu", {"alpha": 1.0}),
    "Selu": ("selu", {"alpha": SELU_ALPHA, "gamma": SELU_GAMMA}),
    "ThresholdedRelu": ("threshold", {"alpha": 1.0}),
}


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


@operator("Reciprocal")
def reciprocal(node: Node) -> None:
    x = node.float_tensor()
    node.emit(Unary, [x.name], x.shape, function="reciprocal", numbers={"numerator": 1.0})


@operator("Gelu")
def gelu(node: Node) -> None:
    x, form = node.float_tensor(), node.attribute("approximate", "none")
    functions = {"none": "gelu", "tanh": "gelu_tanh"}
    if form not in functions:
        node.refuse(f"approximate {form!r} is unknown", "use 'none' or 'tanh'")
    node.emit(Unary, [x.name], x.shape, function=functions[form])


@operator("FastGelu")
def fast_gelu(node: Node) -> None:
    """GELU by tanh, of x plus a bias."""
    x = node.float_tensor()
    if node.has(1):
        one = np.ones(1, np.float32)
        x = node.emit(Affine, [x.name], x.shape, last=False, scale=one, divisor=one,
                      shift=node.numbers(1).astype(np.float32))
    node.emit(Unary, [x.name], x.shape, function="gelu_tanh")


@operator("QuickGelu")
def quick_gelu(node: Node) -> None:
    """x * sigmoid(alpha * x)."""
    x, alpha = node.float_tensor(), np.full(1, node.attribute("alpha", 1.702), np.float32)
    if alpha == 1.0:
        node.emit(Unary, [x.name], x.shape, function="silu")
        return
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    inner = node.emit(Affine, [x.name], x.shape, last=False, scale=alpha, shift=zero, divisor=one)
    gate = node.emit(Unary, [inner.name], x.shape, last=False, function="sigmoid")
    node.emit(Binary, [x.name, gate.name], x.shape, function="mul")


@operator("Pow")
def power(node: Node) -> None:
    x, exponent = node.float_tensor(), node.numbers(1)
    if exponent.size != 1:
        node.refuse(f"exponents of shape {exponent.shape} are not supported",
                    "use one constant number")
    value = float(exponent.reshape(-1)[0])
    if value == 1.0:
        node.alias(x)
    elif value == 2.0:
        node.emit(Binary, [x.name, x.name], x.shape, function="mul")
    elif value == 0.0:
        one = np.ones(1, np.float32)
        node.emit(Affine, [x.name], x.shape, scale=0 * one, shift=one, divisor=one)
    else:
        function, numbers = {0.5: ("sqrt", {}), -1.0: ("reciprocal", {"numerator": 1.0})}.get(
            value, ("pow", {"exponent": value}))
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


@operator("PRelu")
def prelu(node: Node) -> None:
    x, slope = node.float_tensor(), node.numbers(1).astype(np.float32)
    if slope.size == 1:
        numbers = {"alpha": float(slope.reshape(-1)[0])}
        node.emit(Unary, [x.name], x.shape, function="leaky_relu", numbers=numbers)
        return
    if node.broadcast(x.shape, slope.shape) != x.shape:
        node.refuse(f"slopes of shape {slope.shape} do not broadcast to {x.shape}")
    node.emit(Rowwise, [x.name], x.shape, function="prelu", operand=slope)
