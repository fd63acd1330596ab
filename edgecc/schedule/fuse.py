"""Fusion: zero padding, clamps and residual additions go into the operator before or after.

Every rule keeps int8 bytes exactly as the separate operators would give them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgecc.kernels.spec import is_real
from edgecc.schedule.fusion_limits import OPEN, Limits
from edgecc.schedule.joined import join_tables, lift_clamps
from edgecc.schedule.moves import Take, compose_takes, zero_pads
from edgecc.schedule.ops import (
    Binary,
    Clamped,
    Concat,
    Conv,
    Dense,
    Graph,
    Inner,
    Lookup,
    Op,
    Reshape,
    Unary,
    substitute,
)
from edgecc.schedule.rounding import EVERY

FULL = (-128, 127)
Rule = Callable[[Graph, Op], dict[str, Op | None] | None]


def fuse(graph: Graph, limits: Limits = OPEN) -> Graph:
    """Apply every rule until none changes the graph, where the limits allow."""
    graph = lift_clamps(join_tables(graph))
    for rule in (compose_takes, flatten_concat, fold_pad, compose_tables, fuse_clamp,
                 fuse_residual):
        graph = _everywhere(graph, rule, limits)
    return graph


def drop_identities(graph: Graph) -> Graph:
    """Tables and reshapes that change nothing: gone with and without fusion."""
    graph = _everywhere(graph, drop_identity)
    at = 0
    while at < len(graph.ops):
        names = _alias(graph, graph.ops[at])
        if not names:
            at += 1
            continue
        ops = [*graph.ops[:at], *graph.ops[at + 1:]]
        renamed = [replace(op, output=names.get(op.output, op.output)) for op in ops]
        graph = graph.with_ops(substitute(renamed, names))
    return graph


def _alias(graph: Graph, op: Op) -> dict[str, str]:
    """The name to give up for the other one, where a reshape keeps the shape."""
    if not isinstance(op, Reshape):
        return {}
    source, output = op.inputs[0], op.output
    before, after = graph.tensors[source], graph.tensors[output]
    if (before.shape, before.quantization) != (after.shape, after.quantization):
        return {}  # the same bytes may stand for other numbers
    if output not in graph.outputs:
        return {output: source}
    ports = (*graph.inputs, *graph.outputs)
    return {} if source in ports else {source: output}


def _everywhere(graph: Graph, rule: Rule, limits: Limits = OPEN) -> Graph:
    """A rule gives operators by output name to replace, or to remove (None)."""
    start = 0
    while start < len(graph.ops):
        changes = rule(graph, graph.ops[start])
        changed = _changed(graph, changes) if changes else None
        made = [op for op in (changes or {}).values() if op is not None]
        if changed is not None and limits.allow(graph, changed, made):
            graph, start = changed, max(0, start - 1)
        else:
            start += 1
    return graph


def _changed(graph: Graph, changes: dict[str, Op | None]) -> Graph:
    kept = [changes.get(op.output, op) for op in graph.ops]
    return graph.with_ops([op for op in kept if op is not None])


def drop_identity(graph: Graph, op: Op) -> dict[str, Op | None] | None:
    """A table or a selection that changes nothing is a view."""
    if isinstance(op, Take) and all(t is None for t in op.indices):
        return {op.output: Reshape(op.name, op.inputs, op.output, op.nodes)}
    if isinstance(op, Lookup) and (op.table == EVERY).all():
        return {op.output: Reshape(op.name, op.inputs, op.output, op.nodes)}
    return None


def fold_pad(graph: Graph, op: Op) -> dict[str, Op | None] | None:
    """Pad with zeros, then Conv: the convolution pads."""
    pad = graph.producers.get(op.inputs[0]) if isinstance(op, Conv) else None
    pads = zero_pads(graph, pad)
    if not isinstance(op, Conv) or pad is None or pads is None:
        return None
    top, left, bottom, right = (a + b for a, b in zip(pads, op.pads, strict=True))
    padded = replace(op, inputs=(*pad.inputs, *op.inputs[1:]), pads=(top, left, bottom, right),
                     nodes=pad.nodes + op.nodes)
    return {op.output: padded}


def flatten_concat(graph: Graph, op: Op) -> dict[str, Op | None] | None:
    """Concat of a Concat that nothing else reads, along the same axis: one."""
    after = graph.only_use(op.output)
    if not isinstance(op, Concat) or not isinstance(after, Concat) or op.axis != after.axis:
        return None
    if graph.tensors[op.output].quantization != graph.tensors[after.output].quantization:
        return None
    inputs = [n for name in after.inputs for n in (op.inputs if name == op.output else (name,))]
    return {op.output: None, after.output: replace(after, inputs=tuple(inputs),
                                                   nodes=op.nodes + after.nodes)}


def compose_tables(graph: Graph, op: Op) -> dict[str, Op | None] | None:
    """Two tables in a row are one."""
    after = graph.only_use(op.output)
    if not isinstance(op, Lookup) or not isinstance(after, Lookup):
        return None
    table = after.table[op.table.astype(np.int32) + 128]
    composed = replace(after, inputs=op.inputs, table=table, nodes=op.nodes + after.nodes)
    return {op.output: composed, after.output: None}


def _clamp_of(graph: Graph, op: Op | None) -> tuple[float, float] | None:
    """The bounds of an operator that only clamps."""
    if isinstance(op, Unary) and op.function in ("relu", "clip"):
        return op.numbers.get("lo", 0.0), op.numbers.get("hi", np.inf)
    if isinstance(op, Lookup) and graph.tensors[op.inputs[0]].dtype == "int8":
        lo, hi = int(op.table.min()), int(op.table.max())
        return (lo, hi) if (op.table == np.clip(EVERY, lo, hi)).all() else None
    return None


def fuse_clamp(graph: Graph, op: Op) -> dict[str, Op | None] | None:
    """Operator, then Relu or Clip: the operator clamps."""
    after = graph.only_use(op.output)
    bounds = _clamp_of(graph, after)
    if not isinstance(op, Clamped) or after is None or bounds is None:
        return None
    merged = narrowed(op.clamp, bounds)
    if graph.tensors[op.output].dtype == "int8" and merged == FULL:
        merged = None
    clamped = replace(op, output=after.output, clamp=merged, nodes=op.nodes + after.nodes)
    return {op.output: clamped, after.output: None}


def narrowed(first: tuple[float, float] | None, second: tuple[float, float]):
    """clamp(clamp(x, first), second) as one clamp."""
    if first is None:
        return second
    lo, hi = second
    return min(max(first[0], lo), hi), min(max(first[1], lo), hi)


def fuse_residual(graph: Graph, op: Op) -> dict[str, Op | None] | None:
    """Conv or Dense, then Add: the later of the two operands' producers adds the other."""
    if not isinstance(op, Binary) or op.function != "add":
        return None
    order = {each.output: i for i, each in enumerate(graph.ops)}
    operands = sorted(op.inputs, key=lambda name: order.get(name, -1), reverse=True)
    host = graph.producers.get(operands[0])
    if not isinstance(host, Conv | Dense) or not _may_add(graph, host, op, operands[1]):
        return None
    inner = None
    own = graph.tensors[host.output]
    if own.dtype == "int8" and own.quantization is not None:
        lo, hi = host.clamp or FULL
        inner = Inner(own.quantization, (int(lo), int(hi)))
    fused = replace(host, inputs=(*host.inputs, operands[1]), output=op.output, clamp=op.clamp,
                    inner=inner, nodes=host.nodes + op.nodes)
    return {host.output: fused, op.output: None}


def _may_add(graph: Graph, host: Conv | Dense, add: Op, other: str) -> bool:
    own, residual, out = (graph.tensors[n] for n in (host.output, other, add.output))
    clamped_float = is_real(own.dtype) and host.clamp is not None
    return (graph.only_use(host.output) is add and len(host.inputs) == 1 and not clamped_float
            and own.shape == residual.shape == out.shape
            and own.dtype == residual.dtype == out.dtype)
