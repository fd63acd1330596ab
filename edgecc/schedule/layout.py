"""Layout: how a tensor's elements lie in memory, as a permutation of its row-major order.

`storage = tensor.reshape(atoms).transpose(order)`, contiguous. Because atoms factor the flat
row-major index, a reshape never changes a tensor's layout and a transpose only renames it: both
are views. Conversions appear only where an operator asks for another layout than it is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Layout:
    """Canonical: no atom of size one, no two atoms that stay adjacent. Build with `make`."""

    atoms: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def is_row_major(self) -> bool:
        return len(self.atoms) < 2

    def storage_shape(self) -> tuple[int, ...]:
        return tuple(self.atoms[i] for i in self.order)


@dataclass(frozen=True)
class Refined:
    """A layout cut so finely that every axis of a shape is a run of whole atoms."""

    atoms: tuple[int, ...]
    order: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]  # the atoms of each axis


def make(shape: Sequence[int], order: Sequence[int] | None = None) -> Layout:
    """The layout of a tensor of `shape` stored as transpose(order); row-major without order."""
    order = tuple(range(len(shape))) if order is None else tuple(order)
    order = tuple(i for i in order if shape[i] != 1)
    runs: list[list[int]] = []
    for axis in order:
        if runs and _next_big(shape, runs[-1][-1]) == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    ranked = sorted(runs, key=lambda run: run[0])
    atoms = tuple(math.prod(shape[i] for i in run) for run in ranked)
    return Layout(atoms, tuple(ranked.index(run) for run in runs))


def _next_big(shape: Sequence[int], axis: int) -> int | None:
    return next((i for i in range(axis + 1, len(shape)) if shape[i] != 1), None)


def channels_last(shape: Sequence[int]) -> Layout:
    """NHWC of an NCHW tensor, NWC of an NCW one."""
    return make(shape, (0, *range(2, len(shape)), 1))


def refine(layout: Layout, shape: Sequence[int]) -> Refined | None:
    """Atoms fine enough for both `layout` and `shape`; None when the two do not align."""
    cuts = sorted(_suffix_products(layout.atoms) | _suffix_products(shape), reverse=True)
    if any(a % b for a, b in zip(cuts, cuts[1:], strict=False)):
        return None
    atoms = tuple(a // b for a, b in zip(cuts, cuts[1:], strict=False))
    pieces = _pieces(layout.atoms, atoms)
    order = tuple(piece for i in layout.order for piece in pieces[i])
    return Refined(atoms, order, _pieces(shape, atoms))


def _suffix_products(sizes: Sequence[int]) -> set[int]:
    return {math.prod(sizes[i:]) for i in range(len(sizes) + 1)}


def _pieces(sizes: Sequence[int], atoms: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Which atoms make up each of `sizes`, in order."""
    pieces, at = [], 0
    for size in sizes:
        start, product = at, 1
        while product < size:
            product *= atoms[at]
            at += 1
        pieces.append(tuple(range(start, at)))
    return tuple(pieces)


def transposed(layout: Layout, shape: Sequence[int], perm: Sequence[int]) -> Layout | None:
    """The layout of tensor.transpose(perm) over the same bytes; None if they do not align."""
    fine = refine(layout, shape)
    if fine is None:
        return None
    new_atoms = [atom for axis in perm for atom in fine.axes[axis]]
    order = [new_atoms.index(atom) for atom in fine.order]
    return make([fine.atoms[atom] for atom in new_atoms], order)


def axis_order(layout: Layout, shape: Sequence[int]) -> tuple[int, ...] | None:
    """The layout as a permutation of the shape's axes; None when an axis is torn apart.

    Axes of size one go where channels-last has them if that fits, else where they were.
    """
    rank = len(shape)
    preferred = [(0, *range(2, rank), 1)] if rank in (3, 4) else []
    for order in [*preferred, tuple(range(rank))]:
        if make(shape, order) == layout:
            return order
    fine = refine(layout, shape)
    if fine is None or any(len(axis) > 1 for axis in fine.axes):
        return None
    owner = {axis[0]: i for i, axis in enumerate(fine.axes) if axis}
    ones = [i for i, axis in enumerate(fine.axes) if not axis]
    return (*ones, *(owner[atom] for atom in fine.order))


def tail_order(layout: Layout, shape: Sequence[int], axes: Sequence[int]) -> np.ndarray | None:
    """If the `axes` of a tensor lie together at the end of its storage: the row-major index
    (over those axes) of every tail position. None otherwise."""
    fine = refine(layout, shape)
    if fine is None:
        return None
    tail = [atom for axis in axes for atom in fine.axes[axis]]
    stored = fine.order[len(fine.order) - len(tail):]
    if set(stored) != set(tail):
        return None
    sizes = [fine.atoms[atom] for atom in tail]
    indices = np.arange(math.prod(sizes)).reshape(sizes)
    return indices.transpose([tail.index(atom) for atom in stored]).reshape(-1)


def with_tail(shape: Sequence[int], axes: Sequence[int]) -> Layout:
    """The layout with `axes` moved to the end, all else row-major."""
    head = [i for i in range(len(shape)) if i not in axes]
    return make(shape, (*head, *axes))


def conversion(source: Layout, target: Layout) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Storage shape and permutation that take `source` storage to `target` storage.

    None when the two do not align: convert through row-major then.
    """
    one, other = refine(source, target.atoms), refine(target, source.atoms)
    if one is None or other is None:
        return None
    shape = tuple(one.atoms[atom] for atom in one.order)
    return shape, tuple(one.order.index(atom) for atom in other.order)
