"""The one place where memory layouts are decided.

Images are stored channels last; everything else keeps the layout it comes in, and a Relayout is
inserted only where an operator cannot take that. Before: no Relayout. After: `layouts` has every
tensor, and every operator's inputs lie as its emitter expects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgecc.schedule import layout as lay
from edgecc.schedule import math_layout, movement_layout
from edgecc.schedule.arranging import Arranging, Rule, row_major, with_tail_of
from edgecc.schedule.layout import Layout
from edgecc.schedule.moves import Interpolate, Take
from edgecc.schedule.ops import (
    Affine,
    Concat,
    Conv,
    Convert,
    Dense,
    Dequantize,
    Graph,
    Lookup,
    Op,
    Pool,
    Quantize,
    Recentre,
    Relayout,
    Reshape,
    Softmax,
    Tensor,
    Transpose,
    Unary,
)

IMAGES = (Conv, Pool)
ELEMENTWISE = (Unary, Lookup, Quantize, Dequantize, Recentre, Convert)


@dataclass(frozen=True, eq=False)
class Arranged:
    """The graph with its Relayouts, and where every tensor's elements lie."""

    graph: Graph
    layouts: Mapping[str, Layout]

    def tensor(self, name: str) -> Tensor:
        return self.graph.tensors[name]

    @property
    def conversions(self) -> int:
        return sum(isinstance(op, Relayout) for op in self.graph.ops)


def arrange(graph: Graph, model_order: bool = False) -> Arranged:
    """Layouts for every tensor, with as few conversions as the greedy walk needs; inputs and
    outputs keep the model's own order of axes with `model_order`."""
    work = Arranging(graph, tensors=dict(graph.tensors))
    for name in graph.inputs:
        own = row_major(graph.tensors[name].shape)
        work.layouts[name] = own if model_order else _input_layout(graph, name)
    for op in graph.ops:
        rule = next(rule for kinds, rule in RULES if isinstance(op, kinds))
        names, out = rule(work, op)
        work.layouts[op.output] = out
        work.ops.append(replace(op, inputs=tuple(names)))
    outputs = tuple(work.want(name, row_major(work.shape(name))) if model_order
                    else _output(work, name) for name in graph.outputs)
    ports = {**graph.ports, **{new: graph.ports[old] for old, new in
                               zip(graph.outputs, outputs, strict=True)}}
    changed = replace(graph, outputs=outputs, ports=ports)
    return Arranged(changed.with_ops(work.ops, work.tensors.values()), work.layouts)


def _output(work: Arranging, name: str) -> str:
    """An output whose layout is a permutation of its axes: of two that it could be turned to,
    the one that keeps what lies together together."""
    layout, shape = work.layouts[name], work.shape(name)
    if lay.axis_order(layout, shape) is not None:
        return name
    last = lay.channels_last(shape) if len(shape) > 2 else row_major(shape)
    turned = lay.conversion(layout, last)
    runs = turned is not None and turned[1][-1] == len(turned[1]) - 1
    return work.want(name, last if runs else row_major(shape))


def _input_layout(graph: Graph, name: str) -> Layout:
    """What the first reader with a preference wants, if a permutation of axes gives it."""
    shape = graph.tensors[name].shape
    for wish in (_image_wish, _tail_wish):
        wanted = _demand(graph, name, wish, set())
        if wanted is not None and lay.axis_order(wanted, shape) is not None:
            return wanted
    return row_major(shape)


def _image_wish(graph: Graph, op: Op, name: str) -> Layout | None:
    shape = graph.tensors[name].shape
    if isinstance(op, Interpolate):
        return lay.make(shape, movement_layout.interpolated_order(op, len(shape)))
    return lay.channels_last(shape) if isinstance(op, IMAGES) else None


def _tail_wish(graph: Graph, op: Op, name: str) -> Layout | None:
    """Softmax axes last."""
    shape = graph.tensors[name].shape
    if isinstance(op, Softmax):
        return lay.with_tail(shape, (op.axis,))
    return None


Wish = Callable[[Graph, Op, str], Layout | None]


def _demand(graph: Graph, name: str, wish: Wish, seen: set[str]) -> Layout | None:
    """The first wish among the readers of a tensor, and of what is made from it in place."""
    shape = graph.tensors[name].shape
    seen.add(name)
    for op in graph.uses[name]:
        wanted = wish(graph, op, name)
        if wanted is not None:
            return wanted
        if op.output in seen or isinstance(op, (*IMAGES, Dense, Softmax)):
            continue
        out = graph.tensors[op.output]
        found = _demand(graph, op.output, wish, seen)
        if found is not None and isinstance(op, Transpose):
            found = lay.transposed(found, out.shape, np.argsort(op.permutation).tolist())
        elif found is not None and isinstance(op, Concat | Take | Interpolate):
            order = lay.axis_order(found, out.shape)
            found = None if order is None else lay.make(shape, order)
        elif out.size != graph.tensors[name].size:
            found = None
        if found is not None:
            return found
    return None


def _image(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    out = lay.channels_last(work.shape(op.output))
    first = work.want(op.inputs[0], lay.channels_last(work.shape(op.inputs[0])))
    return [first, *(work.want(name, out) for name in op.inputs[1:])], out


def _dense(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    name, shape = op.inputs[0], work.shape(op.inputs[0])
    last = (len(shape) - 1,)
    order = lay.tail_order(work.layouts[name], shape, last)
    if order is None or (_keeps_order(op) and (order != np.arange(len(order))).any()):
        name = work.want(name, row_major(shape))
    fine = lay.refine(work.layouts[name], shape)
    assert fine is not None, "a tail order implies alignment"
    rows = len(fine.atoms) - len(fine.axes[-1])
    head = [atom for atom in fine.order if atom < rows]
    out = lay.make((*fine.atoms[:rows], work.shape(op.output)[-1]), (*head, rows))
    return [name, *(work.want(each, out) for each in op.inputs[1:])], out


def _keeps_order(op: Op) -> bool:
    """Whether weights are in groups of neighbours, which another order would tear apart."""
    return isinstance(op, Dense) and op.weights.grouped is not None


def _softmax(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    assert isinstance(op, Softmax)
    name = with_tail_of(work, op.inputs[0], (op.axis,))
    return [name], work.layouts[name]


def operand_shape(op: Affine) -> tuple[int, ...]:
    return np.broadcast_shapes(op.scale.shape, op.shift.shape, op.divisor.shape)


def _same(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    return list(op.inputs), work.layouts[op.inputs[0]]


def _transpose(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    assert isinstance(op, Transpose)
    name, shape = op.inputs[0], work.shape(op.inputs[0])
    if lay.transposed(work.layouts[name], shape, op.permutation) is None:
        name = work.want(name, row_major(shape))
    out = lay.transposed(work.layouts[name], shape, op.permutation)
    assert out is not None, "row-major aligns with every shape"
    return [name], out


RULES: tuple[tuple[type | tuple[type, ...], Rule], ...] = (
    *math_layout.RULES, (IMAGES, _image), (Dense, _dense), (Softmax, _softmax),
    ((*ELEMENTWISE, Reshape), _same), (Transpose, _transpose), *movement_layout.RULES,
)
