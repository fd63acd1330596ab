"""Independent judge of a canonical model: reads the protobuf, shares no code with the loader."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
import onnx_ir as ir

from edgecc.errors import CheckFailed


def check_model(model: ir.Model) -> None:
    """Names unique, values defined before use, inputs, outputs and main-graph values with fixed
    shapes, initializers with data of their shape, no functions left.

    Raises: CheckFailed.
    """
    check_proto(ir.to_proto(model))


def check_proto(proto: onnx.ModelProto) -> None:
    """The same of a protobuf.

    Raises: CheckFailed.
    """
    if proto.functions:
        raise CheckFailed(f"function {proto.functions[0].name} was not inlined")
    _check_node_names(proto.graph, set())
    _check_order(proto.graph, frozenset())
    _check_shapes(proto.graph)
    _check_initializers(proto.graph)


def _check_node_names(graph: onnx.GraphProto, seen: set[str]) -> None:
    for node in graph.node:
        if not node.name:
            raise CheckFailed(f"a {node.op_type} node has no name")
        if node.name in seen:
            raise CheckFailed(f"two nodes are named {node.name}")
        seen.add(node.name)
        for body in _bodies(node):
            _check_node_names(body, seen)


def _bodies(node: onnx.NodeProto) -> Iterable[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _check_order(graph: onnx.GraphProto, outer: frozenset[str]) -> None:
    defined = set(outer)
    for name in [v.name for v in graph.input] + [t.name for t in graph.initializer]:
        _define(name, defined)
    for node in graph.node:
        for name in filter(None, node.input):
            if name not in defined:
                raise CheckFailed(f"node {node.name} reads {name} before anything defines it")
        for body in _bodies(node):
            _check_order(body, frozenset(defined))
        for name in filter(None, node.output):
            _define(name, defined)
    for value in graph.output:
        if value.name not in defined:
            raise CheckFailed(f"output {value.name} is defined by nothing")


def _define(name: str, defined: set[str]) -> None:
    if name in defined:
        raise CheckFailed(f"value {name} is defined twice")
    defined.add(name)


def _check_shapes(graph: onnx.GraphProto) -> None:
    known = {v.name: v for v in (*graph.value_info, *graph.input, *graph.output)}
    computed = [name for node in graph.node for name in node.output if name]
    for name in [v.name for v in (*graph.input, *graph.output)] + computed:
        info = known.get(name)
        if info is None or not info.type.tensor_type.HasField("shape"):
            raise CheckFailed(f"the shape of {name} is unknown")
        if not info.type.tensor_type.elem_type:
            raise CheckFailed(f"the type of {name} is unknown")
        for dim in info.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value") or dim.dim_value < 0:
                raise CheckFailed(f"the shape of {name} has a dimension that is not fixed")


def _check_initializers(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise CheckFailed(f"the data of {tensor.name} are outside the model")
        try:
            onnx.numpy_helper.to_array(tensor)
        except ValueError as error:
            raise CheckFailed(f"the data of {tensor.name} do not have its shape") from error
