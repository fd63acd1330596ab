"""Layouts of the arithmetic in math_ops.py: each rule takes its inputs as they lie if it can.

Storage is read as atoms (see layout.py): what an operator needs is a run of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgecc.schedule import layout as lay
from edgecc.schedule.arranging import Arranging, Rule, operand_axes, row_major, with_tail_of
from edgecc.schedule.layout import Layout, Refined
from edgecc.schedule.math_ops import (
    ArgReduce,
    Choose,
    Compare,
    GroupNorm,
    LayerNorm,
    MatMul,
    Reduce,
    Rowwise,
)
from edgecc.schedule.ops import Affine, Binary, Op

COMMUTATIVE = ("add", "mul", "min", "max")


@dataclass(frozen=True)
class Run:
    """A run of adjacent atoms in storage, and the sizes before, of and after it."""

    atoms: tuple[int, ...]
    outer: int
    n: int
    inner: int


def product(fine: Refined, atoms: Sequence[int]) -> int:
    found = 1
    for atom in atoms:
        found *= fine.atoms[atom]
    return found


def run_over(fine: Refined, axes: Sequence[int]) -> Run:
    """The shortest run that holds all atoms of `axes` (empty at the start without any)."""
    places = [i for i, atom in enumerate(fine.order) if any(atom in fine.axes[a] for a in axes)]
    first, last = (places[0], places[-1] + 1) if places else (0, 0)
    order = fine.order
    return Run(order[first:last], product(fine, order[:first]), product(fine, order[first:last]),
               product(fine, order[last:]))


def reduced_run(layout: Layout, shape: Sequence[int], axes: Sequence[int]) -> Run | None:
    """The run of `axes` if they lie together and nothing else between them."""
    fine = lay.refine(layout, shape)
    if fine is None:
        return None
    run = run_over(fine, axes)
    own = {atom for axis in axes for atom in fine.axes[axis]}
    return run if set(run.atoms) == own else None


def _without(layout: Layout, shape: Sequence[int], axes: Sequence[int]) -> Layout:
    """The layout of what is left when `axes` are reduced away."""
    fine = lay.refine(layout, shape)
    assert fine is not None, "a run implies alignment"
    kept = [atom for i, axis in enumerate(fine.axes) if i not in axes for atom in axis]
    order = [kept.index(atom) for atom in fine.order if atom in kept]
    return lay.make([fine.atoms[atom] for atom in kept], order)


def _reduce(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    assert isinstance(op, Reduce | ArgReduce)
    axes = op.axes if isinstance(op, Reduce) else (op.axis,)
    name, shape = op.inputs[0], work.shape(op.inputs[0])
    if reduced_run(work.layouts[name], shape, axes) is None:
        name = work.want(name, lay.with_tail(shape, axes))
    return [name], _without(work.layouts[name], shape, axes)


def _aligned(work: Arranging, name: str, shape: Sequence[int]) -> str:
    """The tensor in a layout that every axis of `shape` is a run of atoms of."""
    if lay.refine(work.layouts[name], shape) is None:
        return work.want(name, row_major(work.shape(name)))
    return name


def _rowwise(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    name = _aligned(work, op.inputs[0], work.shape(op.inputs[0]))
    return [name], work.layouts[name]


def _layer_norm(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    assert isinstance(op, LayerNorm)
    rank = len(work.shape(op.inputs[0]))
    name = with_tail_of(work, op.inputs[0], tuple(range(op.axis, rank)))
    return [name], work.layouts[name]


def _group_norm(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    out = lay.channels_last(work.shape(op.output))
    return [work.want(op.inputs[0], out)], out


def padded_shape(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + tuple(shape)


def _binary(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    """The larger operand's order of axes for all; nothing is converted where the other has it."""
    shape = work.shape(op.output)
    lead = max(op.inputs, key=lambda name: work.tensors[name].size)
    if work.tensors[lead].size == work.tensors[op.output].size:
        lead = _aligned(work, lead, shape)
        out = work.layouts[lead]
    else:
        out = _grown(work, lead, shape)
    inputs = list(op.inputs)
    if isinstance(op, Binary) and op.function in COMMUTATIVE and lead != inputs[0]:
        inputs.reverse()
    names = [work.want(name, operand_layout(out, shape, work.shape(name))) for name in inputs]
    return names, out


def _grown(work: Arranging, name: str, shape: Sequence[int]) -> Layout:
    """A layout of `shape` in the order of axes of a smaller operand."""
    own = padded_shape(work.shape(name), len(shape))
    order = lay.axis_order(work.layouts[name], own)
    return lay.make(shape, order)


def operand_layout(out: Layout, shape: Sequence[int], operand: Sequence[int]) -> Layout:
    """The layout in which an operand's elements come in the order of the output's."""
    axes = operand_axes(shape, operand)
    fine = lay.refine(out, shape)
    assert fine is not None, "the output's layout aligns with its shape"
    atoms = [atom for axis in axes for atom in fine.axes[axis]]
    order = [atoms.index(atom) for atom in fine.order if atom in atoms]
    return lay.make([fine.atoms[atom] for atom in atoms], order)


def operand_strides(out: Layout, shape: Sequence[int], operand: Sequence[int]) -> list[int]:
    """Stride of an operand along every stored atom of the output; 0 where it is repeated."""
    fine = lay.refine(out, shape)
    assert fine is not None, "the output's layout aligns with its shape"
    own = {atom for axis in operand_axes(shape, operand) for atom in fine.axes[axis]}
    strides, step = [], 1
    for atom in reversed(fine.order):
        strides.append(step if atom in own else 0)
        step *= fine.atoms[atom] if atom in own else 1
    return strides[::-1]


def _matmul(work: Arranging, op: Op) -> tuple[list[str], Layout]:
    names = [name if axis_strides(work.layouts[name], work.shape(name)) else
             work.want(name, row_major(work.shape(name))) for name in op.inputs]
    return names, row_major(work.shape(op.output))


def axis_strides(layout: Layout, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Elements between neighbours along every axis; None where an axis is torn apart."""
    order = lay.axis_order(layout, shape)
    if order is None:
        return None
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


RULES: tuple[tuple[type | tuple[type, ...], Rule], ...] = (
    ((Reduce, ArgReduce), _reduce), ((Rowwise, Affine), _rowwise), (LayerNorm, _layer_norm),
    (GroupNorm, _group_norm), ((Binary, Compare, Choose), _binary), (MatMul, _matmul),
)
