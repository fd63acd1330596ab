"""Which buffer holds each tensor: views share one, concatenated parts lie inside the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from edgecc.schedule import layout as lay
from edgecc.schedule.arrange import Arranged
from edgecc.schedule.ops import Concat, Graph, Reshape, Tensor, Transpose
from edgecc.schedule.program import ITEM_BYTES


@dataclass(frozen=True)
class Location:
    """Bytes of a tensor: offset in the buffer that `owner` (a tensor) stands for."""

    owner: str
    offset_bytes: int = 0


@dataclass(frozen=True)
class Part:
    """One input of a Concat as a window on its output; `joined` when it is produced there.

    It is contiguous: `arrange` stores the concatenated axis outermost.
    """

    shape: tuple[int, ...]
    offset: int  # in elements
    joined: bool


@dataclass(frozen=True, eq=False)
class Placed:
    """`parts` by Concat output, one per input."""

    locations: Mapping[str, Location]
    parts: Mapping[str, tuple[Part, ...]]


def roots(graph: Graph) -> dict[str, str]:
    """The tensor whose bytes each tensor shares: views followed to what computed them."""
    found = {name: name for name in graph.inputs}
    for op in graph.ops:
        view = isinstance(op, Reshape | Transpose)
        found[op.output] = found[op.inputs[0]] if view else op.output
    return found


def place(arranged: Arranged) -> Placed:
    """Locations of every tensor. A part is joined if a step can write it where it belongs:
    computed by a step, no port, and not already part of something else."""
    graph, root = arranged.graph, roots(arranged.graph)
    spots: dict[str, Location] = {}
    parts: dict[str, tuple[Part, ...]] = {}
    kept = {root[name] for name in (*graph.inputs, *graph.outputs)}
    for op in reversed(graph.ops):
        if isinstance(op, Concat):
            base = spots.get(op.output, Location(op.output))
            made = []
            for name, (shape, offset) in zip(op.inputs, _windows(arranged, op), strict=True):
                own = root[name]
                item = ITEM_BYTES[graph.tensors[name].dtype]
                joined = own not in kept and own not in spots
                if joined:
                    spots[own] = Location(base.owner, base.offset_bytes + offset * item)
                made.append(Part(shape, offset, joined))
            parts[op.output] = tuple(made)
    locations = {name: spots.get(own, Location(own)) for name, own in root.items()}
    return Placed(locations, parts)


def _windows(arranged: Arranged, op: Concat):
    """Shape and element offset of every input in the output's storage."""
    tensors: Mapping[str, Tensor] = arranged.graph.tensors
    whole = tensors[op.output].shape
    order = lay.axis_order(arranged.layouts[op.output], whole)
    assert order is not None, "arrange gives Concat a permutation of axes"
    at = 0
    for name in op.inputs:
        shape = tuple(tensors[name].shape[i] for i in order)
        yield shape, at
        at += math.prod(shape)
