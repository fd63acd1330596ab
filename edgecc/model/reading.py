"""From a path, a ModelProto or an onnx_ir.Model to a ModelProto that ONNX Runtime accepts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import onnx
import onnx_ir as ir
from onnx.defs import SchemaError, get_schema

from edgecc.errors import UnsupportedModel
from edgecc.model import oracle

_STANDARD = ("", "ai.onnx")


def read(source: str | Path | onnx.ModelProto | ir.Model) -> tuple[onnx.ModelProto, str]:
    """The model as a fresh proto, and the name to call it by in messages.

    Raises: UnsupportedModel.
    """
    proto, name = _to_proto(source)
    if not proto.graph.output:
        raise UnsupportedModel(
            "holds no ONNX graph with outputs", where=name, advice="check that the file is whole"
        )
    check_operators(proto, name)
    oracle.check_loads(proto, name)
    return proto, name


def input_names(source: str | Path | onnx.ModelProto | ir.Model) -> list[str]:
    """Inputs without the initializers that old models list among them. Raises: UnsupportedModel."""
    graph = _to_proto(source)[0].graph
    constants = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in constants]


def _to_proto(source: str | Path | onnx.ModelProto | ir.Model) -> tuple[onnx.ModelProto, str]:
    if isinstance(source, ir.Model):
        return ir.to_proto(source), source.graph.name or "model"
    if isinstance(source, onnx.ModelProto):
        copy = onnx.ModelProto()
        copy.CopyFrom(source)
        return copy, source.graph.name or "model"
    return _from_file(Path(source)), str(source)


def _from_file(path: Path) -> onnx.ModelProto:
    if not path.is_file():
        raise UnsupportedModel("no such file", where=str(path))
    try:
        # The format is fixed: by suffix, onnx would also try its text and JSON forms.
        return onnx.load(str(path), format="protobuf")
    except Exception as error:  # DecodeError, ValidationError of external data, OSError
        raise UnsupportedModel(
            f"cannot be read as ONNX ({_first_line(error)})",
            where=str(path),
            advice="check that the file is whole and its external data beside it",
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def check_operators(proto: onnx.ModelProto, name: str) -> None:
    """Every node's operator must be known to ONNX Runtime or be a function of the model.

    Raises: UnsupportedModel naming the node and the operator.
    """
    opsets = {o.domain: o.version for o in proto.opset_import}
    functions = {(f.domain, f.name) for f in proto.functions}
    for index, node in _nodes(proto):
        if (node.domain, node.op_type) in functions:
            continue
        if not _is_known(node.domain, node.op_type, opsets):
            raise _unknown(node, index, name, opsets)


def _nodes(proto: onnx.ModelProto) -> Iterator[tuple[int, onnx.NodeProto]]:
    for body in (proto.graph, *proto.functions):
        yield from _nodes_of(body)


def _nodes_of(body: onnx.GraphProto | onnx.FunctionProto) -> Iterator[tuple[int, onnx.NodeProto]]:
    for index, node in enumerate(body.node):
        yield index, node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _nodes_of(graph)


def _is_known(domain: str, op: str, opsets: dict[str, int]) -> bool:
    if domain not in _STANDARD:
        return (domain, op) in _runtime_operators()
    version = opsets.get("", opsets.get("ai.onnx", 1))
    try:
        return not get_schema(op, min(version, onnx.defs.onnx_opset_version()), "").deprecated
    except SchemaError:
        return False


@lru_cache(maxsize=1)
def _runtime_operators() -> frozenset[tuple[str, str]]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return frozenset((s.domain, s.name) for s in state.get_all_operator_schema())


def _unknown(
    node: onnx.NodeProto, index: int, name: str, opsets: dict[str, int]
) -> UnsupportedModel:
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    names = {op for domain, op in _runtime_operators() if domain in _STANDARD}
    near = difflib.get_close_matches(node.op_type, sorted(names), n=2)
    known = [op for op in near if _is_known("", op, opsets) and op != node.op_type]
    return UnsupportedModel(
        f"operator {operator} is unknown",
        where=f"{name}, node {node.name or f'#{index}'}",
        advice=f"nearest known: {', '.join(known)}"
        if known
        else "express it in standard ONNX operators or as a function of the model",
    )
