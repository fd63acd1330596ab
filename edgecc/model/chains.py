"""Operators that take any number of tensors, as a chain of operators that take two."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import initializer, real_type, replace

_PAIRS = {"Sum": "Add", "Mean": "Add", "Max": "Max", "Min": "Min"}


def unfold(model: ir.Model) -> bool:
    """Sum, Mean, Max and Min of reals: Add, Max and Min of two, Mul by 1 / n after a Mean.
    True if anything changed."""
    changed = False
    for node in list(model.graph):
        pair = _PAIRS.get(node.op_type) if node.domain == "" else None
        if pair and real_type(node.outputs[0]) and (
                len(node.inputs) != 2 or pair != node.op_type):
            _unfold(model.graph, node, pair)
            changed = True
    return changed


def _unfold(graph: ir.Graph, node: ir.Node, pair: str) -> None:
    values = [value for value in node.inputs if value is not None]
    mean = node.op_type == "Mean" and len(values) > 1
    while len(values) > (1 if mean else 2):
        name = f"{node.outputs[0].name}_of_{len(values)}"
        made = ir.Node("", pair, values[:2], num_outputs=1, name=name)
        made.outputs[0].name, made.outputs[0].type = name, node.outputs[0].type
        graph.insert_before(node, made)
        values = [made.outputs[0], *values[2:]]
    if mean:
        part = np.full((), 1 / len(node.inputs), real_type(node.outputs[0]))
        values.append(initializer(graph, f"{node.outputs[0].name}_part", part))
    replace(node, {1: "Identity", 2: "Mul" if mean else pair}[len(values)], values)
