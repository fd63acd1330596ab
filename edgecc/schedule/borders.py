"""The model's borders: whether its inputs and outputs are int8, float32 or float16."""

from __future__ import annotations

from dataclasses import replace

from edgecc.errors import ConfigError
from edgecc.kernels.spec import is_real
from edgecc.schedule.ops import Dequantize, Graph, Op, Quantize, Reshape, Tensor, substitute


def settle_borders(graph: Graph, io: str) -> Graph:
    """With io `auto` or `int8`, drop border Quantize and Dequantize: ports become int8.

    Raises ConfigError when io is `int8` and a port has no quantization, or when it is another real
    type than the ports have.
    """
    if not is_real(io):
        graph = _outputs(_inputs(graph))
    if io == "int8":
        _require_int8(graph)
    if is_real(io):
        _require_real(graph, io)
    return graph


def _inputs(graph: Graph) -> Graph:
    names: dict[str, str] = {}
    same: dict[str, str] = {}
    for name in graph.inputs:
        uses = graph.uses[name]
        found = [graph.tensors[u.output] for u in uses if isinstance(u, Quantize)]
        if len(found) < len(uses) or not found or name in graph.outputs:
            continue
        if any(t.quantization != found[0].quantization for t in found):
            continue
        names[name] = found[0].name
        same.update({t.name: found[0].name for t in found[1:]})
    gone = {t for n in names for t in (u.output for u in graph.uses[n])}
    ops = [op for op in graph.ops if op.output not in gone]
    return _renamed(graph, ops, names, same)


def _renamed(graph: Graph, ops: list[Op], names: dict[str, str], same: dict[str, str]) -> Graph:
    ports = {names.get(k, k): v for k, v in graph.ports.items()}
    inputs = tuple(names.get(n, n) for n in graph.inputs)
    extra, outputs = [], []
    tensors: list[Tensor] = []
    for name in graph.outputs:
        if name in same or name in inputs:
            copy = replace(graph.tensors[name], name=f"{name}.copy")
            extra.append(Reshape(name, (same.get(name, name),), copy.name))
            tensors.append(copy)
            ports[copy.name] = graph.ports[name]
            name = copy.name
        outputs.append(name)
    changed = replace(graph, inputs=inputs, outputs=tuple(outputs), ports=ports)
    return changed.with_ops([*substitute(ops, same), *extra], tensors)


def _outputs(graph: Graph) -> Graph:
    taken = set(graph.inputs) | set(graph.outputs)
    outputs, extra = [], []
    tensors: list[Tensor] = []
    ports = dict(graph.ports)
    for name in graph.outputs:
        op = graph.producers.get(name)
        if isinstance(op, Dequantize):
            source = op.inputs[0]
            if source in taken:
                copy = replace(graph.tensors[source], name=f"{name}.int8")
                extra.append(Reshape(op.name, (source,), copy.name, op.nodes))
                tensors.append(copy)
                source = copy.name
            ports[source] = graph.ports[name]
            name = source
        taken.add(name)
        outputs.append(name)
    changed = replace(graph, outputs=tuple(outputs), ports=ports)
    return changed.with_ops([*graph.ops, *extra], tensors)


def _require_int8(graph: Graph) -> None:
    for name in (*graph.inputs, *graph.outputs):
        if graph.tensors[name].dtype not in ("int8", "uint8"):
            raise ConfigError(f"io='int8', but {graph.ports[name][0]} is not quantized",
                              where=graph.ports[name][0],
                              advice="use io='auto' or io='float32', or quantize the model")


def _require_real(graph: Graph, io: str) -> None:
    for name in (*graph.inputs, *graph.outputs):
        dtype = graph.tensors[name].dtype
        if dtype != io and (is_real(dtype) or dtype == "int8"):
            raise ConfigError(f"io={io!r}, but {graph.ports[name][0]} is {dtype}",
                              where=graph.ports[name][0],
                              advice="use io='auto'; io='float16' goes with --quantize float16")
