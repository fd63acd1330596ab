"""float16 put into a model: types, constants, and Casts where float16 and float32 meet."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir

from edgecc.errors import QuantizationError
from edgecc.model.edit import constant, initializer

LARGEST = 65504  # of float16
WIDE, HALF = ir.DataType.FLOAT, ir.DataType.FLOAT16


class Halving:
    """A copy of the model, changed. `wide` are names of nodes that stay float32; with `ports`
    inputs and outputs become float16 too. Afterwards `tensors` are the names of float16 values,
    `constants` (name, largest magnitude, numbers that became zero)."""

    def __init__(self, model: ir.Model, wide: set[str], *, ports: bool) -> None:
        self.model = ir.from_proto(ir.to_proto(model))
        self.wide, self.ports = wide, ports
        self.tensors: list[str] = []
        self.constants: list[tuple[str, float, int]] = []
        self._known: dict[tuple[ir.Value, ir.DataType], ir.Value] = {}

    def run(self) -> ir.Model:
        """Raises QuantizationError for a constant that float16 does not hold."""
        graph = self.model.graph
        nodes = list(graph)
        for value in graph.inputs if self.ports else ():
            self._narrow(value)
        halves = [node for node in nodes if node.name not in self.wide]
        for node in halves:
            for value in node.outputs:
                self._narrow(value)
            if node.op_type == "Cast" and node.attributes["to"].as_int() == WIDE:
                node.attributes["to"] = ir.AttrInt64("to", int(HALF))
        for node in nodes:
            self._meet(node)
        for index, value in enumerate(graph.outputs):
            if value.dtype == HALF and not self.ports:
                self._widen_output(index, value)
        for name in [n for n, v in graph.initializers.items() if not v.uses()
                     and not v.is_graph_output()]:
            del graph.initializers[name]
        return self.model

    def _narrow(self, value: ir.Value) -> None:
        if value.dtype == WIDE:
            value.type = ir.TensorType(HALF)
            self.tensors.append(value.name or "")

    def _meet(self, node: ir.Node) -> None:
        """The node's inputs in its own type."""
        wanted = WIDE if node.name in self.wide else HALF
        for index, value in enumerate(node.inputs):
            if value is None or value.dtype not in (WIDE, HALF) or value.dtype == wanted:
                continue
            if constant(value) is None:
                node.replace_input_with(index, self._cast(value, wanted))
            elif wanted == HALF and self._allows_halves(node, index):
                node.replace_input_with(index, self._half_constant(value, node))

    def _allows_halves(self, node: ir.Node, index: int) -> bool:
        """Not the scales of a Resize, for one."""
        version = self.model.graph.opset_imports.get(node.domain, 0)
        formal = onnx.defs.get_schema(node.op_type, version, node.domain).inputs
        return "tensor(float16)" in formal[min(index, len(formal) - 1)].types

    def _half_constant(self, value: ir.Value, node: ir.Node) -> ir.Value:
        key = value, HALF
        if key not in self._known:
            array, name = constant(value), value.name or ""
            assert array is not None, "the caller has seen it"
            narrow = self._fitting(array, name, node)
            made = initializer(self.model.graph, f"{name}_half", narrow)
            lost = int(((narrow == 0) & (array != 0)).sum())
            self.constants.append((name, float(np.abs(array).max(initial=0.0)), lost))
            self._known[key] = made
        return self._known[key]

    def _fitting(self, array: np.ndarray, name: str, node: ir.Node) -> np.ndarray:
        """Infinities stay: a Clip without a bound has them."""
        with np.errstate(over="ignore"):
            narrow = array.astype(np.float16)
        beyond = np.isinf(narrow) & np.isfinite(array)
        if beyond.any():
            raise QuantizationError(
                f"{int(beyond.sum())} of {array.size} numbers of {name} do not fit float16",
                where=f"{node.name} ({node.op_type})",
                needed=f"{np.abs(array[beyond]).max():,.0f}", available=f"{LARGEST:,} at most",
                advice="scale the layer's weights down, or compile in float32")
        return narrow

    def _cast(self, value: ir.Value, to: ir.DataType) -> ir.Value:
        key = value, to
        if key not in self._known:
            name = f"{value.name}_{'half' if to == HALF else 'wide'}"
            node = self._cast_node(value, to, name)
            producer, graph = value.producer(), self.model.graph
            if producer is None:
                graph.insert_before(graph[0], node)
            else:
                graph.insert_after(producer, node)
            self._known[key] = node.outputs[0]
        return self._known[key]

    def _cast_node(self, value: ir.Value, to: ir.DataType, name: str) -> ir.Node:
        node = ir.Node("", "Cast", [value], [ir.AttrInt64("to", int(to))], num_outputs=1,
                       name=f"{name}_cast")
        output = node.outputs[0]
        output.name, output.type, output.shape = name, ir.TensorType(to), value.shape
        return node

    def _widen_output(self, index: int, value: ir.Value) -> None:
        """The output keeps its name; the float16 value gets another."""
        name, graph = value.name or "", self.model.graph
        value.name = f"{name}_half"
        node = self._cast_node(value, WIDE, name)
        node.name = f"{name}_cast"
        graph.append(node)
        graph.outputs[index] = node.outputs[0]
