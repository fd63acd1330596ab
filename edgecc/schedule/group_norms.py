"""Norms and what stands around them: GroupNormalization as exporters spell it, constant rows after.

torch exports it as Reshape to (n, groups, rest), InstanceNormalization, Reshape back, Mul, Add.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgecc.schedule.math_ops import GroupNorm, LayerNorm
from edgecc.schedule.ops import Affine, Graph, Op, Reshape


def join_norms(graph: Graph) -> Graph:
    """Before quantization is folded: float32 operators only, each step the same numbers but for
    the order of roundings."""
    for rule in (_regrouped, _with_row):
        at = 0
        while at < len(graph.ops):
            made = rule(graph, graph.ops[at])
            if made is None:
                at += 1
                continue
            old, new = made
            graph = graph.with_ops([new if op is old else op for op in graph.ops])
    return graph


def _regrouped(graph: Graph, op: Op) -> tuple[Op, Op] | None:
    """Reshape, one norm per group, Reshape back."""
    before = graph.producers.get(op.inputs[0]) if isinstance(op, GroupNorm) else None
    after = graph.only_use(op.output)
    if not isinstance(op, GroupNorm) or not isinstance(before, Reshape) or not (
            isinstance(after, Reshape)):
        return None
    x, inner, y = (graph.tensors[n] for n in (before.inputs[0], op.output, after.output))
    if x.shape != y.shape or len(x.shape) < 3 or x.shape == inner.shape:
        return None
    (n, groups), channels = inner.shape[:2], x.shape[1]
    if op.groups != groups or n != x.shape[0] or channels % groups:
        return None
    scale, shift = (np.repeat(row, channels // groups) for row in (op.scale, op.shift))
    nodes = (*before.nodes, *op.nodes, *after.nodes)
    return after, GroupNorm(op.name, before.inputs, after.output, nodes, groups=groups,
                            scale=scale, shift=shift, epsilon=op.epsilon)


def _with_row(graph: Graph, op: Op) -> tuple[Op, Op] | None:
    """A norm, then a multiplication and an addition of constants along what it scales."""
    after = graph.only_use(op.output)
    if not isinstance(op, GroupNorm | LayerNorm) or not isinstance(after, Affine) or after.clamp:
        return None
    shape = graph.tensors[op.output].shape
    rows = [_row(op, shape, value) for value in (after.scale, after.shift, after.divisor)]
    if any(row is None for row in rows):
        return None
    times, plus, over = rows
    return after, replace(op, output=after.output, nodes=op.nodes + after.nodes,
                          scale=(op.scale * times / over).astype(np.float32),
                          shift=((op.shift * times + plus) / over).astype(np.float32))


def _row(op: GroupNorm | LayerNorm, shape: tuple[int, ...],
         value: np.ndarray) -> np.ndarray | None:
    """A constant as large as the norm's scale; None if it varies along other axes."""
    axes = (1,) if isinstance(op, GroupNorm) else tuple(range(op.axis, len(shape)))
    full = value.reshape((1,) * (len(shape) - value.ndim) + value.shape).astype(np.float64)
    if any(n != 1 for i, n in enumerate(full.shape) if i not in axes):
        return None
    kept = full.reshape([full.shape[axis] for axis in axes])
    return np.broadcast_to(kept, [shape[axis] for axis in axes])
