"""ONNX model to Graph: one pass over the nodes, each translated by its operator's function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from edgecc.errors import UnsupportedModel
from edgecc.kernels.spec import is_real
from edgecc.schedule.ops import Constant, Graph, Op, Tensor, prune
from edgecc.schedule.program import ITEM_BYTES, Quantization

MAX_RANK = 6


@dataclass
class Building:
    """The graph so far. `constants` and `tensors` share one name space."""

    opset: int
    tensors: dict[str, Tensor] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    unsigned: set[str] = field(default_factory=set)  # uint8 in the model, int8 here


class Node:
    """One ONNX node as an operator's function sees it; what it does not read is refused."""

    def __init__(self, node: Any, building: Building):
        self.node, self.building = node, building
        self.op_type = node.op_type
        self.name = node.name or (node.outputs[0].name if node.outputs else node.op_type)
        self.output = node.outputs[0].name
        self.unread = set(node.attributes)
        self._made = 0

    def refuse(self, rule: str, advice: str | None = None) -> NoReturn:
        raise UnsupportedModel(rule, where=f"{self.name} ({self.op_type})", advice=advice)

    def attribute(self, name: str, default: Any = None) -> Any:
        self.unread.discard(name)
        found = self.node.attributes.get(name)
        return default if found is None else found.value

    def has(self, index: int) -> bool:
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def is_constant(self, index: int) -> bool:
        return self.has(index) and self.node.inputs[index].name in self.building.constants

    def tensor(self, index: int = 0) -> Tensor:
        """An input that is computed at run time."""
        if not self.has(index):
            self.refuse(f"input {index} is missing")
        name = self.node.inputs[index].name
        if name in self.building.constants:
            self.refuse(f"input {index} ({name}) is a constant where a computed tensor is needed",
                        "fold constants before scheduling")
        return self.building.tensors[name]

    def runtime(self, index: int = 0) -> Tensor:
        """An input as a tensor, constant or not."""
        if not self.is_constant(index):
            return self.tensor(index)
        values = self.numbers(index)
        if self.constant(index).half:
            values = values.astype(np.float16)
        return self.fixed(f"{self.node.inputs[index].name}.fixed", values)

    def fixed(self, name: str, values: np.ndarray) -> Tensor:
        """A tensor that has the same values in every run."""
        from edgecc.schedule.moves import Fixed

        if name not in self.building.tensors:
            tensor = Tensor(name, tuple(values.shape), values.dtype.name)
            self.building.tensors[name] = tensor
            self.building.ops.append(Fixed(self.name, (), name, (self.name,), values=values))
        return self.building.tensors[name]

    def float_tensor(self, index: int = 0) -> Tensor:
        found = self.tensor(index)
        if not is_real(found.dtype):
            self.refuse(f"input {index} ({found.name}) is {found.dtype}, float32 or float16 is "
                        "needed",
                        "quantized models must be in QDQ form: integers go through "
                        "DequantizeLinear")
        return found

    def optional_constant(self, index: int) -> Constant | None:
        """A constant input, or None if the input is left out. Refused if it is computed."""
        if not self.has(index):
            return None
        name = self.node.inputs[index].name
        if name not in self.building.constants:
            self.refuse(f"input {index} ({name}) is computed at run time, a constant is needed")
        return self.building.constants[name]

    def constant(self, index: int) -> Constant:
        """A constant input that must be there."""
        found = self.optional_constant(index)
        if found is None:
            self.refuse(f"input {index} is missing")
        return found

    def numbers(self, index: int) -> np.ndarray:
        return self.constant(index).real

    def broadcast(self, *shapes: Sequence[int]) -> tuple[int, ...]:
        """The shape that tensors of these shapes have together."""
        try:
            return np.broadcast_shapes(*(tuple(shape) for shape in shapes))
        except ValueError:
            self.refuse(f"shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast")

    def emit(self, kind: type[Op], inputs: Sequence[str], shape: Sequence[int], *,
             last: bool = True, like: Tensor | None = None, dtype: str | None = None,
             quantization: Quantization | None = None, output: int = 0, **fields: Any) -> Tensor:
        """Append an operator; `last` gives the node's own output, otherwise one in between.
        Without `dtype` it is float16 where some input is, else float32."""
        name = self.node.outputs[output].name
        if not last:
            self._made += 1
            name = f"{self.output}.{self._made}"
        if like is not None:
            dtype, quantization = like.dtype, like.quantization
        dtype = self._real(inputs) if dtype is None else dtype
        shape = tuple(int(n) for n in shape)
        if min(shape, default=1) < 1:
            self.refuse(f"output {name} would have shape {shape}, with no elements")
        tensor = Tensor(name, shape, dtype, quantization)
        self.building.tensors[name] = tensor
        self.building.ops.append(kind(self.name, tuple(inputs), name, (self.name,), **fields))
        return tensor

    def _real(self, inputs: Sequence[str]) -> str:
        dtypes = {self.building.tensors[name].dtype for name in inputs}
        return "float16" if "float16" in dtypes else "float32"

    def emit_constant(self, value: Constant) -> None:
        self.building.constants[self.output] = value

    def alias(self, tensor: Tensor) -> None:
        """The node's output is the same tensor under another name."""
        from edgecc.schedule.ops import Reshape

        self.emit(Reshape, [tensor.name], tensor.shape, like=tensor)


def read_graph(model: Any) -> Graph:
    """An onnx_ir Model as typed operators.

    Raises UnsupportedModel naming the node, the rule broken and what would work.
    """
    graph = model.graph
    building = Building(model.opset_imports.get("", 1))
    for name, value in graph.initializers.items():
        building.constants[name] = Constant.of(value.const_value.numpy())
    inputs = [v for v in graph.inputs if v.name not in building.constants]
    for value in inputs:
        building.tensors[value.name] = _input_tensor(value)
    for node in graph:
        _read_node(node, building)
    return _finish(graph, [v.name for v in inputs], building)


def _input_tensor(value: Any) -> Tensor:
    dtype = value.dtype.numpy().name if value.dtype is not None else "float32"
    if dtype not in ITEM_BYTES:
        raise UnsupportedModel(f"input {value.name} is {dtype}", where=value.name,
                               needed=", ".join(ITEM_BYTES),
                               advice="convert it before the model, or cut the model after Cast")
    if value.shape is None:
        raise UnsupportedModel(f"input {value.name} has no shape", where=value.name,
                               advice=f"fix it with --shape {value.name}=...")
    loose = [str(d) for d in value.shape if not isinstance(d, int)]
    if loose:
        raise UnsupportedModel(f"input {value.name} has dynamic dimensions {', '.join(loose)}",
                               where=value.name, advice=f"fix them with --shape {value.name}=...")
    shape = tuple(int(d) for d in value.shape)
    if min(shape, default=1) < 1:
        raise UnsupportedModel(f"input {value.name} has shape {shape}, with no elements",
                               where=value.name)
    return Tensor(value.name, shape, dtype)


def _read_node(node: Any, building: Building) -> None:
    from edgecc.schedule.operators import function_for

    reading = Node(node, building)
    function_for(reading)(reading)
    used = [v for v in node.outputs if v.name and (v.uses() or v.is_graph_output())]
    lost = [v.name for v in used if v.name not in {*building.tensors, *building.constants}]
    if lost:
        reading.refuse(f"output {lost[0]} is used, only the first output is supported")
    if reading.unread:
        reading.refuse(f"attribute {sorted(reading.unread)[0]} is not supported",
                       "remove it or export the node without it")


def _write_constant(building: Building, name: str) -> None:
    """An output whose value never changes is written in every run."""
    from edgecc.schedule.moves import Fixed

    constant = building.constants[name]
    values = constant.real.astype(np.float16) if constant.half else constant.real
    if values.dtype.name not in ITEM_BYTES or not values.size:
        raise UnsupportedModel(f"output {name} is a constant of {values.size} {values.dtype}",
                               where=name, needed=f"some elements of {', '.join(ITEM_BYTES)}",
                               advice="remove the output: its value never changes")
    building.tensors[name] = Tensor(name, tuple(values.shape), values.dtype.name)
    building.ops.append(Fixed(name, (), name, values=values))


def _finish(graph: Any, inputs: list[str], building: Building) -> Graph:
    outputs = [v.name for v in graph.outputs]
    for name in outputs:
        if name in building.constants:
            _write_constant(building, name)
        if name in building.unsigned:
            raise UnsupportedModel(f"output {name} is uint8", where=name,
                                   needed="float32 or int8",
                                   advice="end the model with DequantizeLinear")
    ports = {n: (n, building.tensors[n].dtype) for n in (*inputs, *outputs)}
    return prune(Graph(graph.name or "model", building.tensors, tuple(building.ops),
                       tuple(inputs), tuple(outputs), ports))
