"""QDQ folding: DequantizeLinear -> operator -> QuantizeLinear becomes an int8 operator.

Before: a Graph as read. After: every operator whose inputs and output are quantized computes in
int8; Quantize and Dequantize remain only where int8 meets float32.
"""

from __future__ import annotations

from dataclasses import replace

from edgecc.schedule import tables
from edgecc.schedule.int8_forms import computes_in_int8
from edgecc.schedule.math_ops import ArgReduce, Reduce
from edgecc.schedule.moves import Fixed, Take, keeps_real
from edgecc.schedule.ops import (
    Concat,
    Dequantize,
    Graph,
    Lookup,
    Op,
    Pool,
    Quantize,
    Reshape,
    Tensor,
    Transpose,
    Unary,
    substitute,
)
from edgecc.schedule.program import Quantization
from edgecc.schedule.rounding import quantized, rescale_table

MOVES = (Reshape, Transpose, Take)


def fold_quantization(graph: Graph) -> Graph:
    """Raises UnsupportedModel for weights that int8 kernels cannot hold exactly."""
    graph = sink_dequantize(graph)
    while (raised := raise_quantize(graph)) is not None:
        graph = raised
    return to_int8(graph)


def _moves(op: Op) -> bool:
    extreme = isinstance(op, Pool | Reduce) and op.function in ("max", "min")
    return isinstance(op, MOVES) or extreme


def sink_dequantize(graph: Graph) -> Graph:
    """Dequantize after views, pads and maxima instead of before them: the same numbers. The
    place of the largest is where the largest integer is."""
    integers: dict[str, str] = {}
    tensors, ops = dict(graph.tensors), []
    for op in graph.ops:
        if isinstance(op, Dequantize):
            integers[op.output] = op.inputs[0]
        elif _moves(op) and op.inputs[0] in integers and keeps_real(
                op, tensors[integers[op.inputs[0]]]):
            source = tensors[integers[op.inputs[0]]]
            moved = replace(source, name=f"{op.output}.int8", shape=tensors[op.output].shape)
            tensors[moved.name] = moved
            integers[op.output] = moved.name
            ops.append(replace(op, inputs=(source.name,), output=moved.name))
            op = Dequantize(op.name, (moved.name,), op.output, op.nodes)
        elif isinstance(op, ArgReduce):
            op = replace(op, inputs=(integers.get(op.inputs[0], op.inputs[0]),))
        ops.append(op)
    return graph.with_ops(ops, tensors.values())


def raise_quantize(graph: Graph) -> Graph | None:
    """Move one Quantize above a view, or copy it above a Relu or Clip; None when none is left.

    Q(clamp(y)) equals Q(clamp(DQ(Q(y)))) exactly, because rounding is monotone.
    """
    for op in graph.ops:
        if isinstance(op, Quantize) and (above := graph.producers.get(op.inputs[0])):
            if graph.only_use(op.inputs[0]) is not op:
                continue
            if isinstance(above, MOVES):
                return _above_move(graph, above, op)
            if _is_clamp(above) and graph.only_use(above.inputs[0]) is above and not isinstance(
                    graph.producers.get(above.inputs[0]), Dequantize | None):
                return _above_clamp(graph, above, op)
    return None


def _is_clamp(op: Op) -> bool:
    return isinstance(op, Unary) and op.function in ("relu", "clip")


def _above_move(graph: Graph, move: Op, quantize: Op) -> Graph:
    shape = graph.tensors[move.inputs[0]].shape
    out = graph.tensors[quantize.output]
    early = replace(out, name=f"{quantize.output}.early", shape=shape)
    ops: list[Op] = []
    for op in graph.ops:
        if op is move:
            ops.append(replace(quantize, inputs=move.inputs, output=early.name))
            ops.append(replace(move, inputs=(early.name,), output=out.name))
        elif op is not quantize:
            ops.append(op)
    return graph.with_ops(ops, [early])


def _above_clamp(graph: Graph, clamp: Op, quantize: Op) -> Graph:
    below = graph.tensors[clamp.inputs[0]]
    out = graph.tensors[quantize.output]
    early = replace(out, name=f"{below.name}.int8", shape=below.shape)
    real = Tensor(f"{below.name}.rounded", below.shape)
    ops: list[Op] = []
    for op in graph.ops:
        if op is clamp:
            ops.append(replace(quantize, inputs=(below.name,), output=early.name))
            ops.append(Dequantize(quantize.name, (early.name,), real.name))
            op = replace(clamp, inputs=(real.name,))
        ops.append(op)
    return graph.with_ops(ops, [early, real])


def to_int8(graph: Graph) -> Graph:
    """Replace DQ -> operator -> Q by int8 operators."""
    ops: list[Op] = []
    tensors: list[Tensor] = []
    same: dict[str, str] = {}
    done: set[str] = set()
    for op in graph.ops:
        if op.output in done:
            continue
        form = _int8_form(graph, op, tensors)
        if form is None:
            ops.append(op)
            continue
        ops += form
        for twin in graph.uses[op.output] if form[-1].output != op.output else []:
            done.add(twin.output)
            same[twin.output] = form[-1].output
    same = {k: v for k, v in same.items() if k != v}
    outputs = tuple(same.get(name, name) for name in graph.outputs)
    if len(set(outputs)) < len(outputs):
        ops += [Reshape(name, (same[name],), name) for name in graph.outputs if name in same]
        outputs = graph.outputs
    ports = {same.get(k, k): v for k, v in graph.ports.items()} if outputs != graph.outputs else (
        graph.ports)
    return replace(graph, outputs=outputs, ports=ports).with_ops(substitute(ops, same), tensors)


def _int8_form(graph: Graph, op: Op, tensors: list[Tensor]) -> list[Op] | None:
    """The operator in int8, ending in the tensor that its Quantize gave; None if it stays."""
    if isinstance(op, Quantize):
        return _requantize(graph, op)
    if not op.inputs:
        return None
    sources = [graph.producers.get(name) for name in op.inputs]
    target = _quantized_output(graph, op)
    if target is not None and target.quantization is not None:
        table = tables.lookup(graph, op, target.name, target.quantization)
        if table is not None:
            return [table]
    kinds = Dequantize | Fixed if isinstance(op, Concat) else Dequantize
    if target is None or target.quantization is None or not all(
            isinstance(s, kinds) for s in sources):
        return None
    if isinstance(op, Concat):
        return _concat(graph, op, target, tensors)
    ins = [graph.tensors[s.inputs[0]] for s in sources if s is not None]
    if not computes_in_int8(graph, op):
        return None
    return [replace(op, inputs=tuple(t.name for t in ins), output=target.name)]


def _requantize(graph: Graph, op: Quantize) -> list[Op] | None:
    """DQ -> Q: a table, or nothing where the parameters agree."""
    source = graph.producers.get(op.inputs[0])
    if not isinstance(source, Dequantize):
        return None
    before, after = graph.tensors[source.inputs[0]], graph.tensors[op.output]
    if before.quantization == after.quantization:
        return [Reshape(op.name, (before.name,), op.output, op.nodes)]
    return [_rescale(op, before, after.quantization, op.output)]


def _rescale(op: Op, source: Tensor, target: Quantization | None, output: str) -> Lookup:
    assert source.quantization and target, "the reader gives every int8 tensor a scale"
    return Lookup(op.name, (source.name,), output, op.nodes,
                  table=rescale_table(source.quantization, target))


def _quantized_output(graph: Graph, op: Op) -> Tensor | None:
    """The int8 tensor that every reader of the output quantizes it to."""
    uses = graph.uses[op.output]
    if op.output in graph.outputs or not uses:
        return None
    if not all(isinstance(use, Quantize) for use in uses):
        return None
    found = [graph.tensors[use.output] for use in uses]
    return found[0] if all(t.quantization == found[0].quantization for t in found) else None


def _concat(graph: Graph, op: Op, target: Tensor, tensors: list[Tensor]) -> list[Op]:
    """Every part in the parameters of the whole: as it is, through a table, or a constant."""
    ops: list[Op] = []
    names = []
    for i, name in enumerate(op.inputs):
        source, own = graph.producers[name], f"{target.name}.part{i}"
        before = graph.tensors[source.inputs[0] if source.inputs else name]
        if before.quantization == target.quantization:
            names.append(before.name)
            continue
        names.append(own)
        tensors.append(replace(target, name=own, shape=before.shape))
        if isinstance(source, Fixed):
            assert target.quantization is not None, "the caller has seen it"
            values = quantized(source.values, target.quantization)
            ops.append(replace(source, output=own, values=values))
        else:
            ops.append(_rescale(op, before, target.quantization, own))
    return [*ops, replace(op, inputs=tuple(names), output=target.name)]
