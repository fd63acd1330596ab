"""Slice, Split, Gather, Expand and Tile: one index of x for each index of y, axis by axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgecc.schedule.moves import Take, simplified
from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Constant, Reshape, Tensor
from edgecc.schedule.reader import Node


def take(node: Node, x: Tensor, tables: Sequence[np.ndarray | None], **options: Any) -> Tensor:
    """Append a Take of the tables, one per axis of x."""
    indices = simplified(tables, x.shape)
    shape = [n if t is None else len(t) for n, t in zip(x.shape, indices, strict=True)]
    return node.emit(Take, [x.name], shape, like=x, indices=indices, **options)


def axis_of(node: Node, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        node.refuse(f"axis {axis} is outside {rank} dimensions")
    return axis % rank


def _integers(node: Node, index: int, name: str) -> list[int] | None:
    """A list by input (since opset 10) or by attribute (before)."""
    given = node.attribute(name)
    if given is None and node.has(index):
        given = node.numbers(index).reshape(-1)
    return None if given is None else [int(n) for n in given]


@operator("Slice")
def slice_(node: Node) -> None:
    x = node.tensor()
    rank = len(x.shape)
    starts, ends, axes, steps = (_integers(node, i + 1, name) for i, name in
                                 enumerate(("starts", "ends", "axes", "steps")))
    if starts is None or ends is None or len(starts) != len(ends):
        node.refuse("starts and ends must be given, and as many of one as of the other")
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if len(axes) != len(starts) or len(steps) != len(starts) or 0 in steps:
        node.refuse(f"axes {axes} and steps {steps} do not fit starts {starts}",
                    "one axis and one step other than zero for each start")
    tables: list[np.ndarray | None] = [None] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = axis_of(node, axis, rank)
        every = np.arange(x.shape[axis])
        tables[axis] = every[start:end:step]
    take(node, x, tables)


@operator("Split")
def split(node: Node) -> None:
    x = node.tensor()
    axis = axis_of(node, int(node.attribute("axis", 0)), len(x.shape))
    size, count = x.shape[axis], len(node.node.outputs)
    sizes = _integers(node, 1, "split")
    node.attribute("num_outputs")
    if sizes is None:
        chunk = -(-size // count)
        sizes = [min(chunk, size - i * chunk) for i in range(count)]
    if len(sizes) != count or sum(sizes) != size or min(sizes) < 1:
        node.refuse(f"{size} elements do not split into {sizes} for {count} outputs")
    for output, part in enumerate(sizes):
        if node.node.outputs[output].name:
            tables: list[np.ndarray | None] = [None] * len(x.shape)
            tables[axis] = np.arange(part) + sum(sizes[:output])
            take(node, x, tables, output=output)


@operator("Gather")
def gather(node: Node) -> None:
    """Along one axis with constant indices of any shape, which takes the axis's place."""
    x = node.tensor()
    axis = axis_of(node, int(node.attribute("axis", 0)), len(x.shape))
    size, indices = x.shape[axis], node.numbers(1)
    if not np.issubdtype(indices.dtype, np.integer) or (
            indices.size and (indices.min() < -size or indices.max() >= size)):
        node.refuse(f"some index is outside axis {axis} of {size} elements")
    tables: list[np.ndarray | None] = [None] * len(x.shape)
    tables[axis] = indices.reshape(-1) % size
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:])
    found = take(node, x, tables, last=indices.ndim == 1)
    if indices.ndim != 1:
        node.emit(Reshape, [found.name], shape, like=found)


@operator("Expand")
def expand(node: Node) -> None:
    x = node.tensor()
    wanted = [int(n) for n in node.numbers(1).reshape(-1)]
    rank = max(len(wanted), len(x.shape))
    own, other = ((1,) * (rank - len(s)) + tuple(s) for s in (x.shape, wanted))
    if any(a != b and 1 not in (a, b) for a, b in zip(own, other, strict=True)):
        node.refuse(f"{x.shape} does not expand to {tuple(wanted)}")
    _repeated(node, x, own, [max(b // a, 1) for a, b in zip(own, other, strict=True)])


@operator("Tile")
def tile(node: Node) -> None:
    x = node.tensor()
    repeats = [int(n) for n in node.numbers(1).reshape(-1)]
    if len(repeats) != len(x.shape):
        node.refuse(f"{len(repeats)} repeats for {len(x.shape)} dimensions")
    _repeated(node, x, x.shape, repeats)


def _repeated(node: Node, x: Tensor, shape: tuple[int, ...], repeats: Sequence[int]) -> None:
    if shape != x.shape:
        x = node.emit(Reshape, [x.name], shape, like=x, last=False)
    take(node, x, [np.tile(np.arange(n), r) for n, r in zip(shape, repeats, strict=True)])


@operator("Shape")
def shape_(node: Node) -> None:
    """Folded at load where the model is loaded; a constant everywhere else too."""
    x = node.tensor()
    start, end = int(node.attribute("start", 0)), node.attribute("end")
    node.emit_constant(Constant(np.array(x.shape[start:end], np.int64)))
