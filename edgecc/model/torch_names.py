"""Names for what torch's exporter made: inputs as in forward, outputs as returned, nodes after
the modules that they came from. Everything else that the exporter wrote about the source (paths,
stack traces) is removed."""

from __future__ import annotations

import ast
import re
from typing import Any

import onnx_ir as ir
from onnx_ir.passes import common

_SCOPES = "pkg.torch.onnx.name_scopes"
_COUNTED = re.compile(r"(?<=[a-z])_\d+$")


def rename(model: ir.Model, program: Any) -> None:
    """Rename in place; a name that is taken gets a number."""
    _name_ports(model, _input_names(program), _output_names(program))
    _name_nodes(model)
    common.ClearMetadataAndDocStringPass()(model)


def _input_names(program: Any) -> list[str]:
    """Tensors among the arguments, in order."""
    specs = program.graph_signature.input_specs
    return [spec.arg.name for spec in specs
            if spec.kind.name == "USER_INPUT" and type(spec.arg).__name__ == "TensorArgument"]


def _output_names(program: Any) -> list[str]:
    spec = program.call_spec.out_spec
    count = spec.num_leaves
    keys = list(spec.context) if spec.type is dict and spec.num_children == count else []
    if keys and all(isinstance(key, str) and key for key in keys):
        return keys
    return ["output"] if count == 1 else [f"output_{index}" for index in range(count)]


def _name_ports(model: ir.Model, inputs: list[str], outputs: list[str]) -> None:
    graph = model.graph
    pairs = [*zip(graph.inputs, inputs, strict=True)] if len(graph.inputs) == len(inputs) else []
    if len(graph.outputs) == len(outputs):
        pairs += zip(graph.outputs, outputs, strict=True)
    wanted = {name for _, name in pairs}
    for value in _values(graph):
        if value.name in wanted:
            value.name = f"{value.name}_inner"
    taken: set[str] = set()
    for value, name in pairs:
        value.name = name if name not in taken else f"{name}_output"
        taken.add(value.name)
    common.NameFixPass()(model)


def _values(graph: ir.Graph) -> list[ir.Value]:
    computed = [value for node in graph for value in node.outputs]
    return [*graph.inputs, *graph.initializers.values(), *computed]


def _name_nodes(model: ir.Model) -> None:
    """Of the nodes that one operation of torch became, the last has the operation's name."""
    nodes = list(model.graph.all_nodes())
    last = {tuple(_scopes(node)): node for node in nodes}
    used: set[str] = set()
    for node in nodes:
        base, scopes = _owner(node) or node.name or node.op_type.lower(), tuple(_scopes(node))
        if scopes and last[scopes] is not node and not _reads_weights(node):
            base += f".{node.op_type.lower()}"
        name, count = base, 1
        while name in used:
            count += 1
            name = f"{base}_{count}"
        used.add(name)
        node.name = name


def _owner(node: ir.Node) -> str:
    """The module whose weights the node reads, else the operation after the module that called
    it; without the number that torch counts operations with."""
    if weights := _reads_weights(node):
        return weights.removesuffix(".weight")
    return ".".join(_COUNTED.sub("", scope) for scope in _scopes(node)[-2:] if scope)


def _reads_weights(node: ir.Node) -> str:
    """The name of the weights, or nothing."""
    value = node.inputs[1] if len(node.inputs) > 1 else None
    name = value.name if value is not None and value.is_initializer() else None
    return name if name and name.endswith(".weight") else ""


def _scopes(node: ir.Node) -> list[str]:
    """The modules around the operation that the node came from, then the operation."""
    try:
        return [str(scope) for scope in ast.literal_eval(node.metadata_props.get(_SCOPES, "[]"))]
    except (SyntaxError, ValueError, TypeError):
        return []
