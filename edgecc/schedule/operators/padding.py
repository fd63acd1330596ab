"""Pad in every mode, as indices; zeros around an image go into the convolution behind it."""

from __future__ import annotations

import numpy as np

from edgecc.kernels.movement_spec import FILL
from edgecc.schedule.moves import Take, simplified
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.quantization import is_unsigned
from edgecc.schedule.operators.selection import axis_of
from edgecc.schedule.ops import Tensor
from edgecc.schedule.reader import Node

MODES = ("constant", "reflect", "edge", "wrap")


@operator("Pad")
def pad(node: Node) -> None:
    x = node.tensor()
    mode, pads = node.attribute("mode", "constant"), _pads(node, x)
    fill = _fill(node, x)
    if mode not in MODES:
        node.refuse(f"mode {mode!r} is unknown", f"use {', '.join(MODES)}")
    tables: list[np.ndarray | None] = []
    for size, (before, after) in zip(x.shape, pads, strict=True):
        inner = size + min(before, 0) + min(after, 0)
        if inner < 1 or (mode == "reflect" and max(before, after) >= max(inner, 2)):
            node.refuse(f"pads {before} and {after} do not fit an axis of {size}")
        tables.append(indices(size, before, after, mode))
    indices_ = simplified(tables, x.shape)
    shape = [n + sum(p) for n, p in zip(x.shape, pads, strict=True)]
    node.emit(Take, [x.name], shape, like=x, indices=indices_, fill=fill)


def indices(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """Which element of an axis each padded position has; negative pads remove positions."""
    first, last = max(-before, 0), size - max(-after, 0)
    if min(before, after) < 0:
        inner = indices(last - first, max(before, 0), max(after, 0), mode)
        return np.where(inner == FILL, FILL, inner + first)
    at = np.arange(-before, size + after)
    if mode == "constant":
        return np.where((at < 0) | (at >= size), FILL, at)
    if mode == "edge":
        return np.clip(at, 0, size - 1)
    if mode == "wrap" or size == 1:
        return at % size
    period = 2 * (size - 1)
    folded = at % period
    return np.minimum(folded, period - folded)


def _pads(node: Node, x: Tensor) -> list[tuple[int, int]]:
    """(before, after) of every axis."""
    rank = len(x.shape)
    given = node.attribute("pads")
    given = node.numbers(1).reshape(-1) if given is None else given
    axes = range(rank)
    if node.has(3):
        axes = [axis_of(node, int(a), rank) for a in node.numbers(3).reshape(-1)]  # type: ignore
    if len(given) != 2 * len(axes):
        node.refuse(f"{len(given)} pads for {len(axes)} axes")
    pads = [(0, 0)] * rank
    for i, axis in enumerate(axes):
        pads[axis] = int(given[i]), int(given[i + len(axes)])
    return pads


def _fill(node: Node, x: Tensor) -> np.ndarray:
    """A real number in float32, otherwise what is stored: uint8 activations are 128 less."""
    value = node.attribute("value", 0.0)
    if node.has(2):
        value = node.numbers(2).reshape(-1)[0]
    if x.dtype == "int8" and is_unsigned(node, x):
        value = int(value) - 128
    return np.asarray(value).astype(x.dtype)[()]
