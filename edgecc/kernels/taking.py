"""From index tables to a Take spec: tables as a few loops where they are such, axes merged."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from edgecc.kernels.movement_spec import FILL, Segment, Take

MOST_SEGMENTS = 8  # of one axis
MOST_LEAVES = 32  # pieces of code that copy or fill a run
Axis = tuple[Segment, ...] | int


def take_of(
    dtype: str, shape: Sequence[int], tables: Sequence[np.ndarray | None], fill: Any
) -> tuple[Take, dict[str, Any]]:
    """Spec and constants. `tables` has the indices of every axis of x, None where all are taken
    in order."""
    sizes, known = _merged(shape, tables)
    axes: list[Axis] = [segments_of(np.arange(n) if t is None else t)
                        for n, t in zip(sizes, known, strict=True)]
    axes = [len(known[i]) if len(axis) > MOST_SEGMENTS else axis  # type: ignore[arg-type]
            for i, axis in enumerate(axes)]
    while leaves(axes) > MOST_LEAVES:
        worst = max(range(len(axes)), key=lambda i: _pieces(axes[i]))
        axes[worst] = len(known[worst])  # type: ignore[arg-type]
    sizes, axes = _with_run(sizes, known, axes)
    read = [known[i] for i, axis in enumerate(axes) if isinstance(axis, int)]
    flat = np.concatenate([np.zeros(0, np.int32), *read]).astype(np.int32)  # type: ignore
    return Take(dtype, tuple(sizes), tuple(axes)), {"tables": flat,
                                                    "fill": np.asarray(fill, dtype)}


def _merged(
    shape: Sequence[int], tables: Sequence[np.ndarray | None]
) -> tuple[list[int], list[np.ndarray | None]]:
    """Axes of size 1 that stay dropped, neighbours that stay whole joined."""
    sizes: list[int] = []
    known: list[np.ndarray | None] = []
    for size, table in zip(shape, tables, strict=True):
        if table is None and size == 1:
            continue
        if table is None and known and known[-1] is None:
            sizes[-1] *= size
            continue
        sizes.append(size)
        known.append(None if table is None else np.asarray(table, np.int64))
    return (sizes, known) if sizes else ([1], [None])


def _with_run(
    sizes: list[int], known: list[np.ndarray | None], axes: list[Axis]
) -> tuple[list[int], list[Axis]]:
    """The last two axes as one, where the last stays whole and the other is no table."""
    if len(axes) < 2 or known[-1] is not None or isinstance(axes[-2], int):
        return sizes, axes
    run = sizes[-1]
    joined = tuple(_widened(segment, run) for segment in axes[-2])
    return [*sizes[:-2], sizes[-2] * run], [*axes[:-2], joined]


def _widened(segment: Segment, run: int) -> Segment:
    """Every index becomes a run of elements."""
    if segment.start == FILL:
        return Segment(FILL, ((segment.count * run, 0),))
    *outer, (count, step) = [(n, s * run) for n, s in segment.loops]
    inner = [(count * run, 1)] if step == run else [(count, step), (run, 1)]
    return Segment(segment.start * run, tuple(loop for loop in (*outer, *inner) if loop[0] > 1)
                   or ((1, 1),))


def _pieces(axis: Axis) -> int:
    return 1 if isinstance(axis, int) else len(axis)


def leaves(axes: Sequence[Axis]) -> int:
    """Pieces of code that the axes come to at most."""
    return prod(_pieces(axis) for axis in axes)


def segments_of(table: np.ndarray) -> tuple[Segment, ...]:
    """The table as loops; more than MOST_SEGMENTS of them where it has no pattern."""
    found: list[Segment] = []
    rest = np.asarray(table, np.int64)
    while len(rest) and len(found) <= MOST_SEGMENTS:
        length = _leading(rest == FILL)
        if length:
            found.append(Segment(FILL, ((length, 0),)))
        else:
            length = _leading(rest != FILL)
            loops = nested(rest[:length])
            if loops is None:
                length = _affine(rest[:length])
                loops = nested(rest[:length])
            assert loops is not None, "an affine run is one loop"
            found.append(Segment(int(rest[0]), loops))
        rest = rest[length:]
    return tuple(found)


def _leading(holds: np.ndarray) -> int:
    """How many values hold from the start on."""
    return len(holds) if holds.all() else int(np.argmin(holds))


def _affine(table: np.ndarray) -> int:
    """Length of the longest prefix with one step."""
    steps = np.diff(table)
    return len(table) if len(steps) == 0 else 1 + _leading(steps == steps[0])


def nested(table: np.ndarray) -> tuple[tuple[int, int], ...] | None:
    """(count, step) of nested loops that count through the table, or None."""
    n, length = len(table), _affine(table)
    if length == n:
        return ((n, int(table[1] - table[0]) if n > 1 else 1),)
    for period in range(2, n // 2 + 1):
        if n % period:
            continue
        rows = table.reshape(-1, period)
        moved = rows - rows[0]
        steps = np.diff(moved[:, 0])
        if (moved == moved[:, :1]).all() and (steps == steps[0]).all():
            inner = nested(rows[0])
            return None if inner is None else ((len(rows), int(steps[0])), *inner)
    return None
