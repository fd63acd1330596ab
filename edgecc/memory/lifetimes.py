"""Lifetimes: from programs to the placement problem.

All entries of all programs are laid one after the other on a timeline, one time per step (an
entry without steps takes one). A buffer is one item per entry that uses it, tied to one offset;
a state lives throughout. A Loop or Branch is one step in which everything inside it is alive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from edgecc.errors import CheckFailed
from edgecc.memory.problem import Distance, Item, Key, Problem
from edgecc.schedule.program import (
    ITEM_BYTES,
    Branch,
    Buffer,
    Entry,
    InPlace,
    Kernel,
    Loop,
    Program,
    Step,
    View,
    contiguous_strides,
)

SCRATCH_ALIGN_BYTES = 16
SHARED_SCRATCH_ALIGN_BYTES = 64  # each thread's part starts a cache line


@dataclass(frozen=True)
class Use:
    """What stands behind an item of the problem: a buffer, or a step's scratch."""

    program: str
    name: str
    kind: str


@dataclass
class Timeline:
    """Items with what they stand for, pairs that may overlap, and the step of every time."""

    items: list[Item] = field(default_factory=list)
    uses: dict[Key, Use] = field(default_factory=dict)
    distances: list[Distance] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)

    def add(self, key: tuple[str, ...], use: Use, first: int, last: int, buffer: Buffer) -> None:
        self.uses[key] = use
        self.items.append(Item(key, first, last, buffer.size_bytes, buffer.align_bytes))

    def problem(self, scratch: bool = True) -> Problem:
        """The placement problem, with or without the scratch of the steps."""
        items = tuple(i for i in self.items if scratch or self._use(i).kind != "scratch")
        groups: dict[tuple[str, str], list] = defaultdict(list)
        for item in items:
            groups[self._use(item).program, self._use(item).name].append(item.id)
        tied = tuple(tuple(g) for g in groups.values() if len(g) > 1)
        return Problem(items, tied, tuple(self.distances))

    def _use(self, item: Item) -> Use:
        return self.uses[item.id]


def timeline(programs: Sequence[Program]) -> Timeline:
    """Lifetimes of all buffers and scratch. Raises CheckFailed for programs of one name."""
    line = Timeline()
    names = [p.name for p in programs]
    if len(set(names)) != len(names):
        raise CheckFailed(f"programs that share an arena need different names, not {names}")
    for program in programs:
        for entry in program.entries:
            _add_entry(line, program, entry)
    for program in programs:
        for buffer in program.buffers:
            if buffer.kind == "state":
                key = (program.name, buffer.name)
                use = Use(program.name, buffer.name, "state")
                line.add(key, use, 0, max(1, len(line.steps)), buffer)
    return line


def _add_entry(line: Timeline, program: Program, entry: Entry) -> None:
    start = len(line.steps)
    count = max(1, len(entry.steps))
    buffers = {b.name: b for b in program.buffers}
    lives = entry_lifetimes(program, entry)
    for name, (first, last) in lives.items():
        key = (program.name, entry.name, name)
        use = Use(program.name, name, buffers[name].kind)
        line.add(key, use, start + first, start + last, buffers[name])
    for time, step in enumerate(entry.steps):
        line.distances += _distances(program, entry, step, time, lives)
        for name, size, align in scratch_of(step):
            key = (program.name, entry.name, name)
            scratch = Buffer(name, size, align_bytes=align)
            use = Use(program.name, name, "scratch")
            line.add(key, use, start + time, start + time + 1, scratch)
    line.steps += [step.name for step in entry.steps] or [entry.name] * count


def entry_lifetimes(program: Program, entry: Entry) -> dict[str, tuple[int, int]]:
    """Half-open lifetimes, in steps of the entry, of its buffers that are not states."""
    states = {b.name for b in program.buffers if b.kind == "state"}
    count = max(1, len(entry.steps))
    lives: dict[str, tuple[int, int]] = {}

    def touch(view: View, first: int, last: int) -> None:
        before = lives.get(view.buffer, (first, last))
        lives[view.buffer] = (min(first, before[0]), max(last, before[1]))

    for port in entry.inputs:
        touch(port.view, 0, 1)
    for time, step in enumerate(entry.steps):
        for view in views_of(step):
            touch(view, time, time + 1)
    for port in entry.outputs:
        touch(port.view, count - 1, count)
    return {name: life for name, life in lives.items() if name not in states}


def views_of(step: Step) -> Iterator[View]:
    """Every view that a step or a step inside it reads or writes."""
    yield from step.inputs
    yield from step.outputs
    if isinstance(step, Branch):
        yield step.condition
    for inner in inner_steps(step):
        yield from views_of(inner)


def inner_steps(step: Step) -> tuple[Step, ...]:
    if isinstance(step, Loop):
        return step.body
    return (*step.then_body, *step.else_body) if isinstance(step, Branch) else ()


def scratch_of(step: Step) -> Iterator[tuple[str, int, int]]:
    """(name, bytes, alignment) of the scratch of a step and of the steps inside it."""
    size = getattr(step, "scratch_bytes", 0)
    shared = isinstance(step, Kernel) and step.threads > 1
    if size:
        align = SHARED_SCRATCH_ALIGN_BYTES if shared else SCRATCH_ALIGN_BYTES
        yield f"{step.name}.scratch", size, align
    for inner in inner_steps(step):
        yield from scratch_of(inner)


def _distances(
    program: Program, entry: Entry, step: Step, time: int, lives: dict[str, tuple[int, int]]
) -> Iterator[Distance]:
    """In-place pairs of a step that are legal here."""
    if not isinstance(step, Kernel):
        return
    kept = {port.view.buffer for port in entry.outputs}
    seen: set[tuple[str, str]] = set()
    for pair in step.in_place:
        source, target = step.inputs[pair.input], step.outputs[pair.output]
        if (source.buffer, target.buffer) in seen or source.buffer in kept:
            continue
        if _lives_allow(source, target, time, lives) and _step_allows(step, pair):
            seen.add((source.buffer, target.buffer))
            shift = source.offset_bytes - target.offset_bytes
            prefix = (program.name, entry.name)
            yield Distance((*prefix, target.buffer), (*prefix, source.buffer),
                           pair.distance_bytes, shift)


def _lives_allow(
    source: View, target: View, time: int, lives: dict[str, tuple[int, int]]
) -> bool:
    """The input has no later reader, the output no earlier writer, and neither is a state."""
    if source.buffer == target.buffer or not {source.buffer, target.buffer} <= lives.keys():
        return False
    return lives[source.buffer][1] == time + 1 and lives[target.buffer][0] == time


def _step_allows(step: Kernel, pair: InPlace) -> bool:
    """Nothing else of the step touches the two buffers, and their bytes correspond."""
    source, target = step.inputs[pair.input], step.outputs[pair.output]
    readers = [n for n, v in enumerate(step.inputs) if v.buffer == source.buffer]
    declared = {p.input for p in step.in_place
                if p.output == pair.output and p.distance_bytes == pair.distance_bytes}
    same_bytes = all(n in declared and _bytes(step.inputs[n]) == _bytes(source) for n in readers)
    writers = [v for v in step.outputs if v.buffer == target.buffer]
    read_too = any(v.buffer == target.buffer for v in step.inputs)
    return same_bytes and len(writers) == 1 and not read_too and _corresponds(source, target, pair)


def _bytes(view: View) -> tuple:
    return view.offset_bytes, ITEM_BYTES[view.dtype], strides_of(view), view.size_bytes


def strides_of(view: View) -> tuple[int, ...] | None:
    """None for a contiguous view, else its strides in elements."""
    return None if view.strides == contiguous_strides(view.shape) else view.strides


def _corresponds(source: View, target: View, pair: InPlace) -> bool:
    """At the same address: the output's bytes lie within the input's, in the same pattern."""
    if pair.distance_bytes:
        return True
    if strides_of(source) is None and strides_of(target) is None:
        return target.size_bytes <= source.size_bytes
    return (source.shape, source.dtype, source.strides) == (
        target.shape, target.dtype, target.strides)
