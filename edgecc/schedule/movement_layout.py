"""Layouts of the operators in moves.py, and of Concat: taken as they come wherever possible."""

from __future__ import annotations

from edgecc.schedule import layout as lay
from edgecc.schedule.arranging import Arranging, Rule, row_major
from edgecc.schedule.layout import Layout
from edgecc.schedule.moves import Fixed, Interpolate, Take
from edgecc.schedule.ops import Concat, Op
from edgecc.schedule.storage import stored


def _take(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    assert isinstance(op, Take)
    name, shape = op.inputs[0], work.shape(op.inputs[0])
    found = stored(work.layouts[name], shape, op.indices)
    if found is None:
        name = work.want(name, row_major(shape))
        found = stored(work.layouts[name], shape, op.indices)
    assert found is not None, "row-major has every axis in one piece"
    return [name], found.layout


def interpolated_order(op: Interpolate, rank: int) -> tuple[int, ...]:
    """The two axes after the batch, everything else behind them as channels."""
    batch = (0,) if 0 not in op.axes else ()
    return (*batch, *op.axes, *(i for i in range(len(batch), rank) if i not in op.axes))


def _interpolate(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    assert isinstance(op, Interpolate)
    shape, out = work.shape(op.inputs[0]), work.shape(op.output)
    order = interpolated_order(op, len(shape))
    return [work.want(op.inputs[0], lay.make(shape, order))], lay.make(out, order)


def _fixed(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    return [], row_major(work.shape(op.output))


def _concat(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    """The order of axes that most elements come in."""
    assert isinstance(op, Concat)
    votes: dict[tuple[int, ...], int] = {}
    for name in op.inputs:
        order = lay.axis_order(work.layouts[name], work.shape(name))
        if order is not None and not isinstance(work.graph.producers.get(name), Fixed):
            votes[order] = votes.get(order, 0) + work.tensors[name].size
    rank = len(work.shape(op.output))
    order = max(votes, key=lambda o: votes[o]) if votes else tuple(range(rank))
    names = [work.want(n, lay.make(work.shape(n), order)) for n in op.inputs]
    return names, lay.make(work.shape(op.output), order)


RULES: tuple[tuple[type | tuple[type, ...], Rule], ...] = (
    (Take, _take), (Interpolate, _interpolate), (Fixed, _fixed), (Concat, _concat),
)
