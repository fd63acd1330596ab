"""MemoryPlan: where every buffer of every program lives, scratch included."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """`name` at [offset_bytes, offset_bytes + size_bytes) of `region` while steps
    [first, last) run; scratch of a step is named `<step>.scratch`.

    Steps are numbered along one timeline on which all entries of all programs follow one
    another, so with one program of one entry they are the entry's steps. A buffer that several
    entries use has one placement for each of them, all at the same offset.
    """

    name: str
    region: str
    offset_bytes: int
    size_bytes: int
    first: int
    last: int
    program: str = ""
    kind: str = "activation"  # or input, output, state, scratch

    @property
    def end_bytes(self) -> int:
        return self.offset_bytes + self.size_bytes


@dataclass(frozen=True)
class MemoryPlan:
    """Result of `plan`.

    `arena_bytes` is exact: the end of the highest placement. `lower_bound_bytes` is the largest
    sum of live bytes over time, what no plan can go below: where a step may compute in place,
    its input and output count as their union at the closest overlap allowed. `activation_bytes`
    is the same bound with scratch left out; `scratch_bytes` is the largest scratch of any step.
    `peak_step` names the step where the bound is met, number `peak_time` of the timeline.
    """

    placements: tuple[Placement, ...]
    arena_bytes: int
    lower_bound_bytes: int
    activation_bytes: int
    scratch_bytes: int
    peak_step: str
    method: str
    align_bytes: int = 16
    peak_time: int = 0

    def offset(self, name: str, program: str | None = None) -> int:
        """Offset in the arena of a buffer or a step's scratch.

        `program` is needed only where several programs use the name. Raises KeyError for a name
        that is unknown or ambiguous.
        """
        found = {p.program: p.offset_bytes for p in self.placements
                 if p.name == name and program in (None, p.program)}
        if len(found) != 1:
            raise KeyError(name)
        return next(iter(found.values()))
