"""Products of more than two axes by constant weights, with a bias: a Gemm of all rows together.

The Reshapes around it are views; the bias goes where int8 keeps it in 32 bits.
"""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import constant, initializer, is_real, replace


def gather_rows(model: ir.Model) -> bool:
    """MatMul of rank 3 and more, then Add of one number per column; True if there was any."""
    changed = False
    for node in list(model.graph):
        if node.op_type == "MatMul" and node.domain == "" and node.graph is not None:
            found = _biased(node)
            if found is not None:
                _rewrite(model.graph, node, *found)
                changed = True
    return changed


def _biased(node: ir.Node) -> tuple[ir.Node, np.ndarray] | None:
    """The Add that is the product's only reader, and its constant as one row."""
    left, weights = node.inputs[0], constant(node.inputs[1])
    if left is None or left.shape is None or len(left.shape) < 3 or weights is None:
        return None
    value = node.outputs[0]
    readers = list(value.uses())
    if weights.ndim != 2 or not is_real(weights) or len(readers) != 1:
        return None
    reader, index = readers[0]
    if reader.op_type != "Add" or reader.domain != "" or value.is_graph_output():
        return None
    bias = constant(reader.inputs[1 - index])
    if bias is None or bias.ndim > len(left.shape) or bias.size != weights.shape[1]:
        return None
    return (reader, bias.reshape(-1)) if bias.shape[-1:] == (bias.size,) else None


def _rewrite(graph: ir.Graph, node: ir.Node, add: ir.Node, bias: np.ndarray) -> None:
    left, weights = node.inputs[0], constant(node.inputs[1])
    assert left is not None and left.shape is not None and weights is not None
    *rows, k = (int(n) for n in left.shape)  # type: ignore[arg-type]
    base, n = add.outputs[0].name or "", weights.shape[1]

    def made(op: str, inputs: list[ir.Value], suffix: str, **attributes: int) -> ir.Value:
        new = ir.Node("", op, inputs, ir.convenience.convert_attributes(attributes),
                      num_outputs=1, name=f"{base}_{suffix}")
        output = new.outputs[0]
        output.name, output.type = f"{base}_{suffix}", left.type
        graph.insert_before(add, new)
        return output

    def numbers(values: np.ndarray, suffix: str) -> ir.Value:
        return initializer(graph, f"{base}_{suffix}", values)

    flat = made("Reshape", [left, numbers(np.array([math.prod(rows), k]), "all")], "rows")
    product = made("Gemm", [flat, numbers(np.ascontiguousarray(weights.T), "weights"),
                            numbers(bias.astype(weights.dtype), "bias")], "product", transB=1)
    replace(add, "Reshape", [product, numbers(np.array([*rows, n]), "shape")])
    graph.remove(node, safe=True)
    product.name = node.outputs[0].name  # by which nodes keep their names
