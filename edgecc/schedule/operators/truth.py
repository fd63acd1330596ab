"""Comparisons, logic, and Where."""

from __future__ import annotations

from collections.abc import Sequence

from edgecc.kernels.spec import REAL
from edgecc.schedule.math_ops import Choose, Compare
from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Tensor
from edgecc.schedule.reader import Node

ORDER = {"Less": "less", "LessOrEqual": "less_equal", "Greater": "greater",
         "GreaterOrEqual": "greater_equal", "Equal": "equal"}
TRUTH = ("bool",)
LOGIC = {"And": "and", "Or": "or", "Xor": "xor"}


@operator(*ORDER)
def order(node: Node) -> None:
    _compare(node, [node.runtime(0), node.runtime(1)], ORDER[node.op_type], REAL)


@operator(*LOGIC)
def logic(node: Node) -> None:
    _compare(node, [node.runtime(0), node.runtime(1)], LOGIC[node.op_type], TRUTH)


@operator("Not")
def negation(node: Node) -> None:
    """Neither x nor x."""
    _compare(node, [node.tensor(), node.tensor()], "nor", TRUTH)


def _compare(node: Node, operands: Sequence[Tensor], function: str,
             dtypes: Sequence[str]) -> None:
    for operand in operands:
        _require(node, operand, dtypes)
    node.emit(Compare, [t.name for t in operands], node.broadcast(*(t.shape for t in operands)),
              dtype="bool", function=function)


def _require(node: Node, operand: Tensor, dtypes: Sequence[str]) -> None:
    if operand.dtype not in dtypes:
        node.refuse(f"{operand.name} is {operand.dtype}, {' or '.join(dtypes)} is needed",
                    "integers are compared where they are dequantized")


@operator("Where")
def where(node: Node) -> None:
    condition, a, b = (node.runtime(i) for i in range(3))
    _require(node, condition, TRUTH)
    for operand in (a, b):
        _require(node, operand, REAL)
    shape = node.broadcast(condition.shape, a.shape, b.shape)
    node.emit(Choose, [condition.name, a.name, b.name], shape)
