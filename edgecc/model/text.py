"""The stable text form of a model, for --dump and golden tests."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import onnx_ir as ir

_INLINE_ELEMENTS = 8


def to_text(model: ir.Model) -> str:
    """One line per input, initializer, node and output; large data as a hash."""
    opsets = ", ".join(f"{d or 'onnx'} {v}" for d, v in sorted(model.graph.opset_imports.items()))
    lines = [f"model {model.graph.name} (opset {opsets})", *_graph(model.graph, "  ")]
    return "\n".join(lines) + "\n"


def _graph(graph: ir.Graph, indent: str) -> list[str]:
    lines = [f"input {_typed(v)}" for v in graph.inputs]
    lines += [
        f"const {_typed(v)} = {_data(v.const_value)}" for _, v in sorted(graph.initializers.items())
    ]
    for node in graph:
        lines += _node(node)
    lines += [f"output {_typed(v)}" for v in graph.outputs]
    return [indent + line for line in lines]


def _node(node: ir.Node) -> list[str]:
    outputs = ", ".join(_typed(v) for v in node.outputs if v.name)
    inputs = ", ".join("_" if v is None else str(v.name) for v in node.inputs)
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    plain, bodies = [], []
    for name, attribute in sorted(node.attributes.items()):
        if attribute.type == ir.AttributeType.GRAPH:
            bodies += [f"  {name}:", *_graph(attribute.value, "    ")]
        else:
            plain.append(f" {name}={_value(attribute.value)}")
    return [f"{outputs} = {operator}({inputs}){''.join(plain)}  # {node.name}", *bodies]


def _typed(value: ir.Value) -> str:
    dtype = value.dtype.name.lower() if value.dtype is not None else "?"
    dims = "?" if value.shape is None else ",".join(str(d) for d in value.shape)
    return f"{value.name}: {dtype}[{dims}]"


def _value(value: Any) -> str:
    if isinstance(value, ir.TensorProtocol):
        return _data(value)
    return repr(list(value) if isinstance(value, tuple) else value)


def _data(tensor: ir.TensorProtocol | None) -> str:
    if tensor is None:
        return "?"
    array = tensor.numpy()
    if array.size <= _INLINE_ELEMENTS:
        return " ".join(str(array.tolist()).split())
    raw = np.ascontiguousarray(array).tobytes()
    return f"sha256:{hashlib.sha256(raw).hexdigest()[:16]}"
