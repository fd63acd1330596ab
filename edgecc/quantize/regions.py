"""Runs of elementwise nodes that compute one function of one tensor: x * Sigmoid(x), GELU by Erf.

In int8 such a run is one table of 256 entries, so nothing inside it is quantized.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from edgecc.model.edit import constant
from edgecc.quantize import operators

_MOST_NODES = 16
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "Reciprocal")


def find(nodes: Sequence[ir.Node]) -> list[list[ir.Node]]:
    """Runs of two nodes or more, each as long as it can be; no node is in two.

    `nodes` is the main graph in order. Whatever a run computes on its way is read by itself only.
    """
    order = {id(node): index for index, node in enumerate(nodes)}
    taken: set[int] = set()
    found = []
    for end in reversed(nodes):
        run = _longest(end, order) if id(end) not in taken and _is_step(end) else []
        if len(run) > 1:
            taken.update(id(node) for node in run)
            found.append(run)
    return found[::-1]


def _longest(end: ir.Node, order: dict[int, int]) -> list[ir.Node]:
    """The run grows against the order of execution, so that no reader is left out."""
    run, best = [end], [end]
    while len(run) < _MOST_NODES:
        front = _front(run)
        if len(front) == 1 and _is_private(run):
            best = list(run)
        makers = [node for node in (value.producer() for value in front) if node is not None]
        latest = max(makers, key=lambda node: order.get(id(node), -1), default=None)
        if latest is None or not _is_step(latest):
            break
        run.insert(0, latest)
    return best


def _front(run: list[ir.Node]) -> list[ir.Value]:
    """The computed values that the nodes read and do not make."""
    made = {id(value) for node in run for value in node.outputs}
    read = [value for node in run for value in operators.activations(node)]
    return list({id(value): value for value in read if id(value) not in made}.values())


def _is_private(run: list[ir.Node]) -> bool:
    inside = {id(node) for node in run}
    return all(id(user) in inside and not value.is_graph_output()
               for node in run[:-1] for value in node.outputs for user, _ in value.uses())


def _is_step(node: ir.Node) -> bool:
    """An elementwise node whose constants are single numbers, and that no linear operator takes
    into its own step."""
    if node.domain != "" or node.outputs[0].dtype != ir.DataType.FLOAT:
        return False
    if node.op_type not in _ARITHMETIC and operators.classify(node).kind != "table":
        return False
    constants = [constant(value) for value in node.inputs]
    if any(c is not None and (c.size != 1 or c.dtype.kind != "f") for c in constants):
        return False
    producer = operators.fused_producer(node)
    return producer is None or _is_step(producer)
