"""Write the decision into the graph: QuantizeLinear and DequantizeLinear around int8 nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import attribute, constant, initializer
from edgecc.quantize import operators
from edgecc.quantize.assignment import Assignment
from edgecc.quantize.parameters import Parameters, Weights, from_range, quantize_weights, quantized


@dataclass(frozen=True, eq=False)
class Inserted:
    """The QDQ model; integer weights by node name; the dequantized value of each tensor."""

    model: ir.Model
    weights: dict[str, Weights]
    dequantized: dict[str, str]


def insert(
    model: ir.Model, assignment: Assignment, parameters: Mapping[str, Parameters]
) -> Inserted:
    """A QDQ copy of the model."""
    result = model.clone()
    editor = _Editor(result.graph, assignment, parameters)
    weights = editor.constants()
    shown = {name: editor.tensor(name) for name in assignment.tensors}
    _drop_unused(result.graph)
    return Inserted(result, weights, shown)


def _drop_unused(graph: ir.Graph) -> None:
    for name, value in list(graph.initializers.items()):
        if not value.uses() and not value.is_graph_output():
            del graph.initializers[name]


class _Editor:
    """The graph being edited; scale and zero-point initializers are shared within a group."""

    def __init__(
        self, graph: ir.Graph, assignment: Assignment, parameters: Mapping[str, Parameters]
    ) -> None:
        self.graph, self.assignment, self.parameters = graph, assignment, parameters
        self.values = ir.convenience.create_value_mapping(graph)
        self.names = set(self.values) | {node.name or "" for node in graph}
        self.shared: dict[str, tuple[ir.Value, ir.Value]] = {}

    def unique(self, name: str) -> str:
        candidate, count = name, 1
        while candidate in self.names:
            count += 1
            candidate = f"{name}_{count}"
        self.names.add(candidate)
        return candidate

    def constant(self, name: str, array: np.ndarray) -> ir.Value:
        return initializer(self.graph, self.unique(name), array)

    def constants(self) -> dict[str, Weights]:
        """Integer weights for linear nodes, integer constants for Add and Mul."""
        found = {}
        for node in list(self.graph):
            kind = self.assignment.kinds.get(node.name or "")
            if kind == "linear":
                found[node.name or ""] = self._linear(node)
            elif kind == "binary":
                self._operands(node)
        return found

    def _linear(self, node: ir.Node) -> Weights:
        source = node.inputs[0]
        assert source is not None
        array = constant(node.inputs[1])
        assert array is not None
        bias = constant(node.inputs[2]) if len(node.inputs) > 2 else None
        axis = 1 if node.op_type in ("MatMul", "ConvTranspose") else 0
        groups = attribute(node, "group", 1) if node.op_type == "ConvTranspose" else 1
        scale = self.parameters[source.name or ""].scale
        weights = quantize_weights(array, bias, scale, axis, groups)
        zero = np.zeros(len(weights.scale), np.int8)
        self._constant_input(node, 1, "weights", (weights.values, weights.scale, zero), axis)
        if weights.bias is not None:
            self._constant_input(node, 2, "bias", (weights.bias, weights.bias_scale), 0)
        return weights

    def _operands(self, node: ir.Node) -> None:
        for index, value in enumerate(node.inputs):
            array = constant(value)
            if array is not None:
                chosen = from_range(float(array.min()), float(array.max()))
                scale, zero = np.float32(chosen.scale), np.int8(chosen.zero_point)
                integers = quantized(array, chosen)
                self._constant_input(node, index, "constant", (integers, scale, zero), None)

    def _constant_input(
        self,
        node: ir.Node,
        index: int,
        role: str,
        arrays: tuple[np.ndarray | np.generic, ...],
        axis: int | None,
    ) -> None:
        """Replace a constant input by DequantizeLinear of an integer initializer."""
        base = f"{node.name}_{role}"
        suffixes = ("quantized", "scale", "zero_point")
        inputs = [
            self.constant(f"{base}_{suffix}", np.asarray(array))
            for suffix, array in zip(suffixes, arrays, strict=False)
        ]
        made = self._node("DequantizeLinear", base, inputs, ir.DataType.FLOAT, axis)
        made.outputs[0].shape = inputs[0].shape
        self.graph.insert_before(node, made)
        node.replace_input_with(index, made.outputs[0])

    def _node(
        self,
        op: str,
        name: str,
        inputs: list[ir.Value],
        dtype: ir.DataType,
        axis: int | None = None,
    ) -> ir.Node:
        attributes = [] if axis is None else [ir.AttrInt64("axis", axis)]
        node = ir.Node("", op, inputs, attributes, num_outputs=1, name=self.unique(f"{name}/{op}"))
        suffix = "quantized" if op == "QuantizeLinear" else "dequantized"
        output = node.outputs[0]
        output.name, output.type = self.unique(f"{name}_{suffix}"), ir.TensorType(dtype)
        return node

    def tensor(self, name: str) -> str:
        """QuantizeLinear and DequantizeLinear after a tensor, and its readers moved over."""
        value = self.values[name]
        readers = [(n, i) for n, i in value.uses() if self._takes_int8(name, n, value)]
        scale, zero = self._group(self.assignment.leader[name])
        first = self._node("QuantizeLinear", name, [value, scale, zero], ir.DataType.INT8)
        integers = first.outputs[0]
        second = self._node("DequantizeLinear", name, [integers, scale, zero], ir.DataType.FLOAT)
        output = second.outputs[0]
        integers.shape = output.shape = value.shape
        self._place(value, [first, second])
        for node, index in readers:
            node.replace_input_with(index, output)
        if value.is_graph_output() and name in self.assignment.everywhere:
            self._move_output(value, output)
        return output.name or ""

    def _takes_int8(self, name: str, node: ir.Node, value: ir.Value) -> bool:
        if name in self.assignment.everywhere:
            return True
        mine = node.name in self.assignment.kinds
        return mine and any(value is v for v in operators.activations(node))

    def _group(self, leader: str) -> tuple[ir.Value, ir.Value]:
        if leader not in self.shared:
            chosen = self.parameters[leader]
            self.shared[leader] = (
                self.constant(f"{leader}_scale", np.asarray(chosen.scale, np.float32)),
                self.constant(f"{leader}_zero_point", np.asarray(chosen.zero_point, np.int8)),
            )
        return self.shared[leader]

    def _place(self, value: ir.Value, nodes: list[ir.Node]) -> None:
        producer = value.producer()
        if producer is not None:
            self.graph.insert_after(producer, nodes)
        elif len(self.graph):
            self.graph.insert_before(self.graph[0], nodes)

    def _move_output(self, value: ir.Value, output: ir.Value) -> None:
        """The dequantized value takes the model output's name."""
        name = value.name or ""
        value.name = self.unique(f"{name}_float")
        output.name = name
        for index, current in enumerate(self.graph.outputs):
            if current is value:
                self.graph.outputs[index] = output
