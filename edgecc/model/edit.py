"""Reading constants and attributes of an onnx_ir graph, and replacing nodes in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

_REALS: dict[ir.DataType | None, np.dtype] = {
    ir.DataType.FLOAT: np.dtype(np.float32), ir.DataType.FLOAT16: np.dtype(np.float16)}


def constant(value: ir.Value | None) -> np.ndarray | None:
    """The array of an initializer, or None for anything computed or fed."""
    if value is None or value.const_value is None or value.is_graph_input():
        return None
    return value.const_value.numpy()


def is_real(array: np.ndarray | None) -> bool:
    """Whether an array is there, of float32 or float16."""
    return array is not None and array.dtype in (np.float32, np.float16)


def real_type(value: ir.Value) -> np.dtype | None:
    """NumPy's type of a float32 or float16 value, None of others."""
    return _REALS.get(value.dtype)


def attribute(node: ir.Node, name: str, default: Any) -> Any:
    """An attribute's value, or the default."""
    found = node.attributes.get(name)
    return default if found is None else found.value


def initializer(graph: ir.Graph, name: str, array: np.ndarray) -> ir.Value:
    """A new initializer; a name that is taken gets a number."""
    unique, count = name, 1
    while unique in graph.initializers:
        count += 1
        unique = f"{name}_{count}"
    tensor = ir.tensor(np.ascontiguousarray(array).reshape(array.shape), name=unique)
    value = ir.Value(
        name=unique,
        shape=ir.Shape(array.shape),
        type=ir.TensorType(tensor.dtype),
        const_value=tensor,
    )
    graph.register_initializer(value)
    return value


def replace(
    node: ir.Node,
    op_type: str,
    inputs: Sequence[ir.Value | None],
    attributes: Mapping[str, Any] | None = None,
) -> ir.Node:
    """Put a one-output node in the place of `node`; its output keeps name, shape and uses."""
    graph, old = node.graph, node.outputs[0]
    assert isinstance(graph, ir.Graph)
    converted = ir.convenience.convert_attributes(dict(attributes or {}))
    new = ir.Node("", op_type, list(inputs), converted, num_outputs=1, name=node.name)
    ir.convenience.replace_nodes_and_values(graph, node, [node], [new], [old], new.outputs)
    return new
