"""What becomes one step before fusion proper: clamps in front of views, arithmetic of two tables.

Every rule keeps int8 bytes exactly as the separate operators would give them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from edgecc.kernels.math_reference import arithmetic_int8
from edgecc.kernels.spec import Binary as Spec
from edgecc.schedule.math_calls import ratios
from edgecc.schedule.numbers import limits
from edgecc.schedule.ops import (
    Binary,
    Clamped,
    Graph,
    Lookup,
    Op,
    Reshape,
    Tensor,
    Transpose,
    Unary,
)
from edgecc.schedule.rounding import EVERY


def lift_clamps(graph: Graph) -> Graph:
    """Operator, views, Relu or Clip: the clamp comes first, where the operator can take it."""
    while (lifted := _lifted(graph)) is not None:
        graph = lifted
    return graph


def _lifted(graph: Graph) -> Graph | None:
    for op in graph.ops:
        view = graph.producers.get(op.inputs[0]) if op.inputs and _clamps(graph, op) else None
        if isinstance(view, Reshape | Transpose) and graph.only_use(view.output) is op and (
                _above(graph, view) is not None):
            return _exchanged(graph, view, op)
    return None


def _clamps(graph: Graph, op: Op) -> bool:
    if isinstance(op, Lookup):
        lo, hi = int(op.table.min()), int(op.table.max())
        return bool((op.table == np.clip(EVERY, lo, hi)).all())
    return isinstance(op, Unary) and op.function in ("relu", "clip")


def _above(graph: Graph, view: Op) -> Op | None:
    """The operator that could clamp, through views that nothing else reads."""
    while isinstance(view, Reshape | Transpose):
        source = view.inputs[0]
        maker = graph.producers.get(source)
        if maker is None or graph.only_use(source) is not view:
            return None
        view = maker
    return view if isinstance(view, Clamped) else None


def _exchanged(graph: Graph, view: Op, clamp: Op) -> Graph:
    out, source = graph.tensors[clamp.output], graph.tensors[view.inputs[0]]
    early = replace(out, name=f"{out.name}.before_{view.kind}", shape=source.shape)
    ops: list[Op] = []
    for op in graph.ops:
        if op is view:
            ops.append(replace(clamp, inputs=view.inputs, output=early.name))
            ops.append(replace(view, inputs=(early.name,), output=out.name))
        elif op is not clamp:
            ops.append(op)
    return graph.with_ops(ops, [early])


def join_tables(graph: Graph) -> Graph:
    """int8 arithmetic of two functions of one tensor (x * table(x)): a table."""
    ops: list[Op] = []
    makers = graph.producers
    for op in graph.ops:
        made = _joined(graph, op, makers) if isinstance(op, Binary) else None
        ops.append(made or op)
    return graph.with_ops(ops)


def _joined(graph: Graph, op: Binary, makers: dict[str, Op]) -> Lookup | None:
    tensors = [graph.tensors[name] for name in (*op.inputs, op.output)]
    if any(t.dtype != "int8" for t in tensors) or len({t.shape for t in tensors}) > 1:
        return None
    (root, a), (other, b) = (_table(makers, name) for name in op.inputs)
    if root != other:
        return None
    table = arithmetic_int8(_spec(op), a, b, _constants(op, tensors))
    return Lookup(op.name, (root,), op.output, op.nodes, table=table)


def _table(makers: dict[str, Op], name: str) -> tuple[str, np.ndarray]:
    """What a tensor is a table of, and the table."""
    op = makers.get(name)
    return (op.inputs[0], op.table) if isinstance(op, Lookup) else (name, EVERY)


def _spec(op: Binary) -> Spec:
    return Spec("int8", op.function, 256, clamp=op.clamp is not None)  # type: ignore[arg-type]


def _constants(op: Binary, tensors: list[Tensor]) -> dict[str, Any]:
    a, b, y = tensors
    return limits(op.clamp, "int8") | ratios(op.function, a, b, y)
