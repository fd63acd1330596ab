"""The judge of memory plans: replays the programs byte by byte, sharing no code with the planner.

Every write stamps its bytes with a number of its own, twice: in the arena, and in a private copy
of its buffer. A read is right if both agree: the bytes in the arena are those that the program
meant. Aliasing, in-place steps and views need no rules of their own that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgecc.errors import CheckFailed
from edgecc.memory.plan import MemoryPlan, Placement
from edgecc.schedule.program import (
    ITEM_BYTES,
    Branch,
    Entry,
    InPlace,
    Kernel,
    Loop,
    Program,
    Step,
    View,
)

LOOP_TURNS = 2  # the second turn sees what the first one left behind


def check_plan(programs: Sequence[Program], plan: MemoryPlan) -> None:
    """Prove that no step reads a byte that something else overwrote, and that the figures hold.

    Loops run twice; branches are taken all one way, then all the other way. Memory use: four
    bytes per byte of the arena and of one entry's buffers.
    Raises: CheckFailed naming the step, the buffer and the byte.
    """
    _check_figures(plan)
    _check_names(programs, plan)
    for way in (0, 1) if any(_has_branch(e.steps) for p in programs for e in p.entries) else (0,):
        replay = _Replay(plan, way)
        for program in programs:
            replay.start_states(program)
        for program in programs:
            for entry in program.entries:
                replay.run(program, entry, programs)


def _check_figures(plan: MemoryPlan) -> None:
    for p in plan.placements:
        if p.offset_bytes < 0 or p.offset_bytes + p.size_bytes > plan.arena_bytes:
            raise CheckFailed(f"{p.name} at {p.offset_bytes} leaves the arena")
    end = max((p.offset_bytes + p.size_bytes for p in plan.placements), default=0)
    if end != plan.arena_bytes:
        raise CheckFailed(f"arena_bytes is {plan.arena_bytes}, the last placement ends at {end}")
    if not plan.activation_bytes <= plan.lower_bound_bytes <= plan.arena_bytes:
        raise CheckFailed(
            f"bounds out of order: {plan.activation_bytes} B of activations, "
            f"{plan.lower_bound_bytes} B at least, {plan.arena_bytes} B planned"
        )
    largest = max((p.size_bytes for p in plan.placements if p.kind == "scratch"), default=0)
    if largest != plan.scratch_bytes:
        raise CheckFailed(f"scratch_bytes is {plan.scratch_bytes}, the largest is {largest}")


def _check_names(programs: Sequence[Program], plan: MemoryPlan) -> None:
    """Every placement is of a known thing, of its size, aligned, and at one offset."""
    sizes = {(p.name, b.name): (b.size_bytes, b.align_bytes) for p in programs for b in p.buffers}
    for program in programs:
        for entry in program.entries:
            for step in _flat(entry.steps):
                scratch = getattr(step, "scratch_bytes", 0)
                shared = getattr(step, "threads", 1) > 1
                sizes[program.name, f"{step.name}.scratch"] = scratch, 64 if shared else 16
    offsets: dict[tuple[str, str], int] = {}
    for p in plan.placements:
        key = p.program, p.name
        if key not in sizes or sizes[key][0] != p.size_bytes:
            raise CheckFailed(f"placement {p.name} of {p.size_bytes} B is not in the program")
        if p.offset_bytes % sizes[key][1] or plan.align_bytes % sizes[key][1]:
            raise CheckFailed(f"{p.name} at {p.offset_bytes} is not aligned to {sizes[key][1]}")
        if offsets.setdefault(key, p.offset_bytes) != p.offset_bytes:
            raise CheckFailed(f"{p.name} has more than one offset")


class _Replay:
    """The arena as numbers of writes, and what every buffer should hold."""

    def __init__(self, plan: MemoryPlan, way: int):
        self.way, self.time = way, 0
        self.arena = np.zeros(plan.arena_bytes, np.int32)
        self.meant: dict[tuple[str, str], np.ndarray] = {}
        self.writers = ["nothing"]
        self.placed: dict[tuple[str, str], list[Placement]] = {}
        for p in plan.placements:
            self.placed.setdefault((p.program, p.name), []).append(p)

    def start_states(self, program: Program) -> None:
        for buffer in program.buffers:
            if buffer.kind == "state":
                self.meant[program.name, buffer.name] = np.zeros(buffer.size_bytes, np.int32)
                self.write(program, _whole(buffer.name, buffer.size_bytes), "initial state")

    def check_states(self, programs: Sequence[Program]) -> None:
        for program in programs:
            for buffer in program.buffers:
                if buffer.kind == "state":
                    self.read(program, _whole(buffer.name, buffer.size_bytes), "the next run")

    def run(self, program: Program, entry: Entry, programs: Sequence[Program]) -> None:
        """One call of an entry. Only states, of all programs, keep their bytes from before."""
        for buffer in program.buffers:
            if buffer.kind != "state":
                self.meant[program.name, buffer.name] = np.zeros(buffer.size_bytes, np.int32)
        for port in entry.inputs:
            self.write(program, port.view, f"input {port.name}")
        for port in entry.inputs:
            self.read(program, port.view, f"input {port.name}")
        end = self.time + max(1, len(entry.steps))
        for step in entry.steps:
            self.step(program, step)
            self.time += 1
        self.time = end - 1
        for port in entry.outputs:
            self.read(program, port.view, f"output {port.name}")
        self.check_states(programs)
        self.time = end

    def step(self, program: Program, step: Step) -> None:
        for view in step.inputs:
            self.read(program, view, step.name)
        if isinstance(step, Loop):
            for _ in range(LOOP_TURNS):
                self.body(program, step.body)
        elif isinstance(step, Branch):
            self.read(program, step.condition, step.name)
            self.body(program, step.else_body if self.way else step.then_body)
        else:
            self.compute(program, step)
            return
        for view in step.outputs:
            self.read(program, view, f"the end of {step.name}")

    def body(self, program: Program, steps: Sequence[Step]) -> None:
        for step in steps:
            self.step(program, step)

    def compute(self, program: Program, step: Step) -> None:
        """Write outputs and scratch, which may share bytes with inputs only as declared."""
        reads = [self.where(program, v, step.name) for v in step.inputs]
        writes = [self.where(program, v, step.name) for v in step.outputs]
        for o, written in enumerate(writes):
            for i, source in enumerate(reads):
                if _meet(written, source) and not self._declared(program, step, i, o):
                    raise CheckFailed(
                        f"{step.name} writes {step.outputs[o].buffer} over its own input "
                        f"{step.inputs[i].buffer}"
                    )
            if any(_meet(written, other) for other in writes[:o]):
                raise CheckFailed(f"{step.name} writes two outputs to the same bytes")
        self._scratch(program, step, [*reads, *writes])
        for view in step.outputs:
            self.write(program, view, step.name)

    def _scratch(self, program: Program, step: Step, used: list[np.ndarray]) -> None:
        size = getattr(step, "scratch_bytes", 0)
        if size:
            name = f"{step.name}.scratch"
            where = self.where(program, _whole(name, size), step.name)
            if any(_meet(where, other) for other in used):
                raise CheckFailed(f"{name} shares bytes with an input or output of the step")
            self.arena[where] = self.stamp(name)

    def _declared(self, program: Program, step: Step, i: int, o: int) -> bool:
        pairs = step.in_place if isinstance(step, Kernel) else ()
        views = step.inputs[i], step.outputs[o]
        reads, writes = (self.where(program, v, step.name) for v in views)
        return any((p.input, p.output) == (i, o) and _keeps(p, *views, reads, writes)
                   for p in pairs)

    def where(self, program: Program, view: View, who: str) -> np.ndarray:
        """Arena positions of a view's bytes, element by element."""
        return self._placement(program, view.buffer, who).offset_bytes + _bytes(view)

    def _placement(self, program: Program, name: str, who: str) -> Placement:
        found = self.placed.get((program.name, name), [])
        live = [p for p in found if p.first <= self.time < p.last or who == "initial state"]
        if not live:
            raise CheckFailed(f"{who} uses {name}, which has no placement at time {self.time}")
        return live[0]

    def stamp(self, writer: str) -> int:
        self.writers.append(writer)
        return len(self.writers) - 1

    def write(self, program: Program, view: View, who: str) -> None:
        number, meant = self.stamp(who), self._meant(program, view, who)
        self.arena[self.where(program, view, who)] = number
        meant[_bytes(view)] = number

    def read(self, program: Program, view: View, who: str) -> None:
        meant = self._meant(program, view, who)[_bytes(view)]
        if not meant.all():
            raise CheckFailed(f"{who} reads bytes of {view.buffer} that nothing wrote")
        where = self.where(program, view, who)
        wrong = np.flatnonzero(self.arena[where] != meant)
        if wrong.size:
            at = int(where[wrong[0]])
            raise CheckFailed(
                f"{who} reads {view.buffer}, written by {self.writers[meant[wrong[0]]]}, but "
                f"byte {at} of the arena was overwritten by {self.writers[self.arena[at]]}"
            )

    def _meant(self, program: Program, view: View, who: str) -> np.ndarray:
        meant = self.meant.get((program.name, view.buffer))
        if meant is None:
            raise CheckFailed(f"{who} uses {view.buffer}, which is no buffer of {program.name}")
        used = _bytes(view)
        if used.size and (used.min() < 0 or used.max() >= meant.size):
            raise CheckFailed(f"{who} goes beyond the {meant.size} B of {view.buffer}")
        return meant


def _whole(buffer: str, size: int) -> View:
    return View(buffer, "int8", (size,), "N")


def _starts(view: View) -> np.ndarray:
    """Offset in the buffer of every element, in row-major order."""
    item = ITEM_BYTES[view.dtype]
    at = np.zeros(1, np.int64)
    if view.strides is None:
        return view.offset_bytes + item * np.arange(int(np.prod(view.shape)))
    for n, stride in zip(view.shape, view.strides, strict=True):
        at = (at[:, None] + np.arange(n) * stride).ravel()
    return view.offset_bytes + item * at


def _bytes(view: View) -> np.ndarray:
    return (_starts(view)[:, None] + np.arange(ITEM_BYTES[view.dtype])).ravel()


def _meet(a: np.ndarray, b: np.ndarray) -> bool:
    if not a.size or not b.size or a.max() < b.min() or b.max() < a.min():
        return False
    return bool(np.intersect1d(a, b).size)


def _keeps(
    pair: InPlace, source: View, target: View, reads: np.ndarray, writes: np.ndarray
) -> bool:
    """Whether these addresses honour the declared distance."""
    if pair.distance_bytes:
        return bool(writes[0] <= reads[0] - pair.distance_bytes)
    if ITEM_BYTES[source.dtype] == ITEM_BYTES[target.dtype] and reads.size == writes.size:
        return bool((reads == writes).all())
    plain = all(np.array_equal(w, w[0] + np.arange(w.size)) for w in (reads, writes))
    return bool(plain and writes[0] == reads[0] and writes.size <= reads.size)


def _flat(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from _flat(step.body)
        elif isinstance(step, Branch):
            yield from _flat((*step.then_body, *step.else_body))


def _has_branch(steps: Sequence[Step]) -> bool:
    return any(isinstance(s, Branch) for s in _flat(steps))
