"""Comparisons, logic, and Where."""

from __future__ import annotations

from collections.abc import Sequence

from edgecc.schedule.math_ops import Choose, Compare
from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Tensor
from edgecc.schedule.reader import Node

ORDER = {"Less": "less", "LessOrEqual": "less_equal", "Greater": "greater",
         "GreaterOrEqual": "greater_equal", "Equal": "equal"}
LOGIC = {"And": "and", "Or": "or", "Xor": "xor"}


@operator(*ORDER)
def order(node: Node) -> None:
    _compare(node, [node.runtime(0), node.runtime(1)], ORDER[node.op_type], "float32")


@operator(*LOGIC)
def logic(node: Node) -> None:
    _compare(node, [node.runtime(0), node.runtime(1)], LOGIC[node.op_type], "bool")


@operator("Not")
def negation(node: Node) -> None:
    """Neither x nor x."""
    _compare(node, [node.tensor(), node.tensor()], "nor", "bool")


def _compare(node: Node, operands: Sequence[Tensor], function: str, dtype: str) -> None:
    for operand in operands:
        _require(node, operand, dtype)
    node.emit(Compare, [t.name for t in operands], node.broadcast(*(t.shape for t in operands)),
              dtype="bool", function=function)


def _require(node: Node, operand: Tensor, dtype: str) -> None:
    if operand.dtype != dtype:
        node.refuse(f"{operand.name} is {operand.dtype}, {dtype} is needed",
                    "integers are compared where they are dequantized")


@operator("Where")
def where(node: Node) -> None:
    condition, a, b = (node.runtime(i) for i in range(3))
    _require(node, condition, "bool")
    for operand in (a, b):
        _require(node, operand, "float32")
    shape = node.broadcast(condition.shape, a.shape, b.shape)
    node.emit(Choose, [condition.name, a.name, b.name], shape)
