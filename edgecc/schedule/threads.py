"""Which steps the threads share, and the scratch that they need then: a part for each thread.

Waking and awaiting the other threads costs a microsecond or two while they are still spinning, so
a step that would give each of them less than the target's `parallel_chunk` of instructions stays
with the calling thread.
"""

from __future__ import annotations

from dataclasses import replace

from edgecc.errors import ConfigError
from edgecc.kernels import registry
from edgecc.kernels.spec import Conv2d, Pool2d
from edgecc.schedule.program import InPlace, Kernel, Program, Step
from edgecc.targets.target import Target

LINE_BYTES = 64  # a cache line: two threads never write to the same one


def scratch_stride(each_bytes: int) -> int:
    """Distance of two threads' scratch."""
    return -(-each_bytes // LINE_BYTES) * LINE_BYTES


def shared_scratch(each_bytes: int, threads: int) -> int:
    """Scratch of a step for all of its threads, exact to the byte."""
    return scratch_stride(each_bytes) * (threads - 1) + each_bytes


def spread(program: Program, threads: int, target: Target) -> Program:
    """The program with every step that is worth it shared by `threads` threads.

    Raises ConfigError where the target has no threads.
    """
    if threads == 1:
        return program
    if target.runner != "linux":
        raise ConfigError(f"threads={threads} is not implemented without Linux",
                          where=f"target {target.name}", advice="compile with threads=1")
    least = threads * target.parallel_chunk
    entries = tuple(
        replace(entry, steps=tuple(_spread(step, threads, least) for step in entry.steps))
        for entry in program.entries)
    return replace(program, entries=entries)


def _spread(step: Step, threads: int, least: int) -> Step:
    if not isinstance(step, Kernel) or not _worth_it(step, least):
        return step
    scratch = shared_scratch(step.scratch_bytes, threads)
    return replace(step, threads=threads, scratch_bytes=scratch,
                   in_place=tuple(pair for pair in step.in_place if _any_order(step, pair)))


def _worth_it(step: Kernel, least: int) -> bool:
    """Of `least` instructions, and divisible."""
    record = registry.find(step.kernel)
    return record.extent(step.spec) > 1 and record.cost(step.spec) >= least


def _any_order(step: Kernel, pair: InPlace) -> bool:
    """Whether threads may compute the step in place: not where a window slides over what they
    overwrite."""
    return pair.input > 0 or not isinstance(step.spec, Conv2d | Pool2d)
