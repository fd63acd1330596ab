"""Operators that move elements or rename them: views wherever possible."""

from __future__ import annotations

import math

import numpy as np

from edgecc.schedule.moves import Fixed
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.dense import transposed
from edgecc.schedule.ops import Concat, Constant, Reshape, Tensor, Transpose
from edgecc.schedule.reader import Node


@operator("Identity", "Dropout")
def identity(node: Node) -> None:
    if node.is_constant(0):
        node.emit_constant(node.constant(0))
        return
    for name in ("ratio", "seed"):
        node.attribute(name)
    node.alias(node.tensor())


@operator("Constant")
def constant(node: Node) -> None:
    numbers = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64,
               "value_ints": np.int64}
    value = node.attribute("value")
    array = None if value is None else value.numpy()
    for name, dtype in numbers.items():
        given = node.attribute(name)
        array = array if given is None else np.array(given, dtype)
    if array is None:
        node.refuse("only Constant with a tensor or numbers is supported")
    node.emit_constant(Constant.of(array))


def _reshape(node: Node, shape) -> None:
    x = node.tensor()
    if math.prod(shape) != x.size:
        node.refuse(f"shape {tuple(shape)} does not hold the {x.size} elements of {x.shape}")
    node.emit(Reshape, [x.name], shape, like=x)


@operator("Reshape")
def reshape(node: Node) -> None:
    x, allow_zero = node.tensor(), node.attribute("allowzero", 0)
    wanted = node.attribute("shape")
    shape = [int(n) for n in (node.numbers(1).reshape(-1) if wanted is None else wanted)]
    if not allow_zero:
        shape = [x.shape[i] if n == 0 and i < len(x.shape) else n for i, n in enumerate(shape)]
    if shape.count(-1) == 1:
        known = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = x.size // max(known, 1)
    _reshape(node, shape)


@operator("Flatten")
def flatten(node: Node) -> None:
    x = node.tensor()
    axis = int(node.attribute("axis", 1))
    axis += len(x.shape) if axis < 0 else 0
    rows = math.prod(x.shape[:axis])
    _reshape(node, (rows, x.size // rows))


def given_axes(node: Node) -> list[int] | None:
    """Axes by attribute (before opset 13 or 18) or as the second input."""
    axes = node.attribute("axes")
    if axes is None and node.has(1):
        axes = node.numbers(1).reshape(-1)
    return None if axes is None else [int(a) for a in axes]


def _axes(node: Node, rank: int) -> list[int] | None:
    axes = given_axes(node)
    if axes is None:
        return None
    if any(not -rank <= a < rank for a in axes):
        node.refuse(f"axes {axes} are outside {rank} dimensions")
    return [a % rank for a in axes]


@operator("Squeeze")
def squeeze(node: Node) -> None:
    x = node.tensor()
    axes = _axes(node, len(x.shape))
    if axes is None:
        axes = [i for i, n in enumerate(x.shape) if n == 1]
    if any(x.shape[a] != 1 for a in axes):
        node.refuse(f"axes {axes} of {x.shape} are not all of size 1")
    _reshape(node, [n for i, n in enumerate(x.shape) if i not in axes])


@operator("Unsqueeze")
def unsqueeze(node: Node) -> None:
    x = node.tensor()
    rank = len(x.shape) + len(given_axes(node) or ())
    axes = _axes(node, rank) or []
    rest = iter(x.shape)
    _reshape(node, [1 if i in axes else next(rest) for i in range(rank)])


@operator("Transpose")
def transpose(node: Node) -> None:
    if node.is_constant(0) and node.constant(0).real.ndim == 2:  # weights behind DequantizeLinear
        turned = [int(p) for p in node.attribute("perm", (1, 0))] == [1, 0]
        node.emit_constant(transposed(node.constant(0)) if turned else node.constant(0))
        return
    x = node.tensor()
    rank = len(x.shape)
    perm = tuple(int(p) for p in node.attribute("perm", range(rank - 1, -1, -1)))
    if sorted(perm) != list(range(rank)):
        node.refuse(f"perm {perm} is not a permutation of {rank} axes")
    node.emit(Transpose, [x.name], [x.shape[p] for p in perm], like=x, permutation=perm)


@operator("Concat")
def concat(node: Node) -> None:
    parts = [node.runtime(i) for i in range(len(node.node.inputs))]
    first, rank = next((p for p in parts if not is_fixed(node, p)), parts[0]), len(parts[0].shape)
    axis = int(node.attribute("axis", 1))
    if not -rank <= axis < rank:
        node.refuse(f"axis {axis} is outside {rank} dimensions")
    axis %= rank
    for part in parts:
        if _without(part, axis) != _without(first, axis):
            node.refuse(f"{part.shape} does not fit beside {first.shape} on axis {axis}")
        same = part.quantization == first.quantization or is_fixed(node, part)
        if part.dtype != first.dtype or not same:
            node.refuse("the inputs differ in type or quantization",
                        "dequantize before Concat and quantize after it")
    shape = list(first.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    node.emit(Concat, [p.name for p in parts], shape, like=first, axis=axis)


def is_fixed(node: Node, tensor: Tensor) -> bool:
    """Whether a tensor is a constant of the model."""
    return any(op.output == tensor.name and isinstance(op, Fixed) for op in node.building.ops)


def _without(tensor: Tensor, axis: int) -> tuple[int, ...]:
    return tensor.shape[:axis] + tensor.shape[axis + 1:]
