"""The stable text form of a memory plan."""

from __future__ import annotations

from edgecc.memory.plan import MemoryPlan, Placement


def to_text(plan: MemoryPlan) -> str:
    """Figures first, then one line per placement, by start and offset. Same plan, same text."""
    lines = [
        f"arena_bytes        {plan.arena_bytes}",
        f"lower_bound_bytes  {plan.lower_bound_bytes}",
        f"activation_bytes   {plan.activation_bytes}",
        f"scratch_bytes      {plan.scratch_bytes}",
        f"align_bytes        {plan.align_bytes}",
        f"peak_step          {plan.peak_step} ({plan.peak_time})",
        f"method             {plan.method}",
        "",
        f"{'offset':>10} {'end':>10} {'size':>10}  {'steps':<11} {'region':<8} {'kind':<10} name",
    ]
    several = len({p.program for p in plan.placements}) > 1
    return "\n".join(lines + [_line(p, several) for p in plan.placements]) + "\n"


def _line(p: Placement, several: bool) -> str:
    name = f"{p.program}:{p.name}" if several else p.name
    steps = f"[{p.first}, {p.last})"
    return (f"{p.offset_bytes:>10} {p.end_bytes:>10} {p.size_bytes:>10}  {steps:<11} "
            f"{p.region:<8} {p.kind:<10} {name}")
