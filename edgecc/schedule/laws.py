"""What a step's bytes follow: its operator's reference, or the law of its kernel.

Laws of kernels that add in float16 take numpy some 10 ns a product, step by step. Beyond MOST_MACS
an inference they are left out, and the reference stands for them, within a tolerance.
"""

from __future__ import annotations

from edgecc.kernels import registry
from edgecc.kernels.registry import KernelRecord, Law
from edgecc.schedule.program import Kernel, Program

MOST_MACS = 100_000_000


def record_of(step: Kernel) -> KernelRecord | None:
    """None for kernels that are not in the catalogue."""
    try:
        return registry.find(step.kernel)
    except KeyError:
        return None


def followed(program: Program) -> bool:
    """Whether numpy can follow all kernels' laws in reasonable time."""
    steps = [step for entry in program.entries for step in entry.steps]
    slow = (step for step in steps if isinstance(step, Kernel) and adds_halves(step))
    return sum(step.spec.macs for step in slow) <= MOST_MACS


def adds_halves(step: Kernel) -> bool:
    """Whether its kernel adds in float16."""
    record = record_of(step)
    return record is not None and record.half


def law_of(step: Kernel, halves: bool = True) -> Law | None:
    """The law of a step's kernel, if it has one. `halves`: see `followed`."""
    record = record_of(step)
    if record is None or (record.half and not halves):
        return None
    return record.law
