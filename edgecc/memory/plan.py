"""MemoryPlan: where every buffer of every program lives, scratch included."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """`name` at [offset_bytes, offset_bytes + size_bytes) of `region` while steps
    [first, last) run; scratch of a step is named `<step>.scratch`."""

    name: str
    region: str
    offset_bytes: int
    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """Result of `plan`.

    `arena_bytes` is exact: the end of the highest placement. `lower_bound_bytes` is the largest
    sum of live bytes over time (what no plan without sharing can go below), and
    `activation_bytes` the same bound with scratch left out; `scratch_bytes` is the largest
    scratch of any step. `peak_step` names the step where the bound is met.
    """

    placements: tuple[Placement, ...]
    arena_bytes: int
    lower_bound_bytes: int
    activation_bytes: int
    scratch_bytes: int
    peak_step: str
    method: str
    align_bytes: int = 16

    def offset(self, name: str) -> int:
        """Offset in the arena of a buffer or a step's scratch. Raises KeyError."""
        for placement in self.placements:
            if placement.name == name:
                return placement.offset_bytes
        raise KeyError(name)
