"""Which buffer holds each tensor: views share one, concatenated parts lie inside the whole.

A Take that is a window on its input costs nothing where the window is contiguous: it is a view.
Elsewhere it is a copy, and may be made straight into the window that a Concat has for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgecc.schedule import layout as lay
from edgecc.schedule.arrange import Arranged
from edgecc.schedule.movement_calls import selection
from edgecc.schedule.moves import Take
from edgecc.schedule.ops import Concat, Op, Reshape, Transpose
from edgecc.schedule.program import ITEM_BYTES
from edgecc.schedule.storage import Window, placed_window, reshaped, window


@dataclass(frozen=True)
class Location:
    """Bytes of a tensor: offset in the buffer that `owner` (a tensor) stands for. `window` (in
    elements, from the offset on) where they are not contiguous."""

    owner: str
    offset_bytes: int = 0
    window: Window | None = None


@dataclass(frozen=True)
class Part:
    """One input of a Concat as a window on its output; `joined` when it is produced there."""

    window: Window
    joined: bool


@dataclass(frozen=True, eq=False)
class Placed:
    """`parts` by Concat output, one per input. `windows` by Take that is one; those of them that
    are `views` need no step."""

    locations: Mapping[str, Location]
    parts: Mapping[str, tuple[Part, ...]]
    windows: Mapping[str, Window]
    views: frozenset[str]


@dataclass
class _Placing:
    """`roots`: the tensor whose bytes a tensor shares, from which element on; `partial`: those
    that are not all of it."""

    arranged: Arranged
    windows: dict[str, Window] = field(default_factory=dict)
    roots: dict[str, tuple[str, int]] = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)
    spots: dict[str, Location] = field(default_factory=dict)
    parts: dict[str, tuple[Part, ...]] = field(default_factory=dict)

    def item_bytes(self, name: str) -> int:
        return ITEM_BYTES[self.arranged.tensor(name).dtype]


def place(arranged: Arranged) -> Placed:
    """Locations of every tensor. A part is joined if a step can write it where it belongs:
    computed by a step, no port, and not already part of something else."""
    work = _Placing(arranged)
    views = _find_roots(work)
    graph = arranged.graph
    kept = {work.roots[name][0] for name in (*graph.inputs, *graph.outputs)}
    for op in reversed(graph.ops):
        if isinstance(op, Concat):
            work.parts[op.output] = tuple(
                _part(work, name, found, op, kept)
                for name, found in zip(op.inputs, _windows(arranged, op), strict=True))
    locations = {name: _location(work, *root, name) for name, root in work.roots.items()}
    return Placed(locations, work.parts, work.windows, views)


def _find_roots(work: _Placing) -> frozenset[str]:
    """Views followed to what computed them; the Takes among them."""
    views = set()
    work.roots = {name: (name, 0) for name in work.arranged.graph.inputs}
    for op in work.arranged.graph.ops:
        if isinstance(op, Reshape | Transpose):
            work.roots[op.output] = work.roots[op.inputs[0]]
            work.partial |= {op.output} if op.inputs[0] in work.partial else set()
            continue
        work.roots[op.output] = op.output, 0
        found = window(selection(work.arranged, op)) if isinstance(op, Take) else None
        if found is not None:
            work.windows[op.output] = found
            if found.contiguous:
                root, offset = work.roots[op.inputs[0]]
                work.roots[op.output] = root, offset + found.offset
                views.add(op.output)
                work.partial.add(op.output)
    return frozenset(views)


def _location(work: _Placing, root: str, offset: int, name: str) -> Location:
    found = work.spots.get(root, Location(root))
    return Location(found.owner, found.offset_bytes + offset * work.item_bytes(name), found.window)


def _part(work: _Placing, name: str, found: Window, op: Op, kept: set[str]) -> Part:
    """Where an input of a Concat lies in it, and whether it is produced there."""
    base = work.spots.get(op.output, Location(op.output))
    own, _ = work.roots[name]
    taken = own in kept or own in work.spots or name in work.partial
    if taken or not (found.contiguous or _writes(work, name, found)):
        return Part(found, False)
    offset = base.offset_bytes + found.offset * work.item_bytes(name)
    inner = None if found.contiguous else found
    work.spots[own] = Location(base.owner, offset, inner)
    return Part(found, True)


def _writes(work: _Placing, name: str, target: Window) -> bool:
    """Whether a tensor is made by a copy, read by one Concat only, and of the window's shape."""
    own = work.windows.get(name)
    alone = work.arranged.graph.only_use(name) is not None
    return alone and own is not None and reshaped(own, target.shape) is not None


def _windows(arranged: Arranged, op: Concat):
    """Every input in the output's storage."""
    tensors = arranged.graph.tensors
    whole = tensors[op.output].shape
    order = lay.axis_order(arranged.layouts[op.output], whole)
    assert order is not None, "arrange gives Concat a permutation of axes"
    axis, at = order.index(op.axis), 0
    for name in op.inputs:
        size = tensors[name].shape[op.axis]
        yield placed_window([whole[i] for i in order], axis, at, size)
        at += size
