"""Selections as they are in memory: per storage axis, and as windows where they are such."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgecc.kernels.movement_spec import FILL
from edgecc.schedule import layout as lay
from edgecc.schedule.layout import Layout
from edgecc.schedule.moves import Indices
from edgecc.schedule.program import contiguous_strides

Slot = tuple[int, tuple[int, ...] | None]  # a logical axis and some of its atoms; None: all of it


@dataclass(frozen=True, eq=False)
class Stored:
    """A selection from storage of `sizes`: one table per storage axis, None where it is kept.
    `layout` is the output's."""

    sizes: tuple[int, ...]
    tables: Indices
    layout: Layout

    @property
    def output_sizes(self) -> tuple[int, ...]:
        return tuple(n if t is None else len(t)
                     for n, t in zip(self.sizes, self.tables, strict=True))


@dataclass(frozen=True)
class Window:
    """A selection at one positive step per axis: offset and strides in elements of the input."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def contiguous(self) -> bool:
        return all(n == 1 or a == b for n, a, b in
                   zip(self.shape, self.strides, contiguous_strides(self.shape), strict=True))


def stored(layout: Layout, shape: Sequence[int], indices: Indices) -> Stored | None:
    """None where an axis that is selected from is torn apart in memory."""
    order = lay.axis_order(layout, shape)
    if order is not None:
        out = [n if t is None else len(t) for n, t in zip(shape, indices, strict=True)]
        return Stored(tuple(shape[i] for i in order), tuple(indices[i] for i in order),
                      lay.make(out, order))
    fine = lay.refine(layout, shape)
    return None if fine is None else _torn(fine, indices)


def _torn(fine: lay.Refined, indices: Indices) -> Stored | None:
    """Atoms of a selected axis must lie together, in order; those of size one go outermost."""
    owner = {atom: axis for axis, atoms in enumerate(fine.axes) for atom in atoms}
    slots: list[Slot] = [(axis, None) for axis, atoms in enumerate(fine.axes)
                         if not atoms and indices[axis] is not None]
    for atom in fine.order:
        axis = owner[atom]
        if indices[axis] is None:
            slots.append((axis, (atom,)))
        elif (axis, None) not in slots:
            first = fine.order.index(atom)
            if fine.order[first:first + len(fine.axes[axis])] != fine.axes[axis]:
                return None
            slots.append((axis, None))
    return _of_slots(fine, indices, slots)


def _of_slots(fine: lay.Refined, indices: Indices, slots: list[Slot]) -> Stored:
    def size(slot: Slot) -> int:
        axis, atoms = slot
        return math.prod(fine.atoms[a] for a in (fine.axes[axis] if atoms is None else atoms))

    tables = [indices[axis] if atoms is None else None for axis, atoms in slots]
    logical = sorted(slots, key=lambda slot: (slot[0], slot[1] or ()))
    counts = {slot: size(slot) if t is None else len(t)
              for slot, t in zip(slots, tables, strict=True)}
    out = lay.make([counts[slot] for slot in logical], [logical.index(slot) for slot in slots])
    return Stored(tuple(size(slot) for slot in slots), tuple(tables), out)


def window(selected: Stored) -> Window | None:
    """The selection as a window on its input, if it is one."""
    offset, strides = 0, []
    for stride, table in zip(contiguous_strides(selected.sizes), selected.tables, strict=True):
        step = 1
        if table is not None:
            steps = np.unique(np.diff(table))
            if (table == FILL).any() or len(steps) > 1 or (len(steps) and steps[0] < 1):
                return None
            step = int(steps[0]) if len(steps) else 1
            offset += int(table[0]) * stride
        strides.append(step * stride)
    return Window(offset, selected.output_sizes, tuple(strides))


def placed_window(shape: Sequence[int], axis: int, offset: int, size: int) -> Window:
    """`size` positions of one axis of contiguous storage, from `offset` on."""
    strides = contiguous_strides(tuple(shape))
    part = tuple(size if i == axis else n for i, n in enumerate(shape))
    return Window(offset * strides[axis], part, strides)


def reshaped(found: Window, shape: Sequence[int]) -> Window | None:
    """The same window under a shape that differs in axes of size one only."""
    pairs = [(n, s) for n, s in zip(found.shape, found.strides, strict=True) if n != 1]
    if [n for n, _ in pairs] != [n for n in shape if n != 1]:
        return None
    rest = iter([s for _, s in pairs])
    return Window(found.offset, tuple(shape), tuple(1 if n == 1 else next(rest) for n in shape))
