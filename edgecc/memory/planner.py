"""The verb `plan`: programs and a target in, a MemoryPlan out."""

from __future__ import annotations

from collections.abc import Sequence

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import DoesNotFit
from edgecc.memory.lifetimes import SCRATCH_ALIGN_BYTES, Timeline, timeline
from edgecc.memory.plan import MemoryPlan, Placement
from edgecc.memory.problem import Problem
from edgecc.memory.search import Solution, solve
from edgecc.schedule.program import Program
from edgecc.targets.target import Region, Target

ANYWHERE = Region("ram", 1 << 62)  # for targets without memories, such as `null`


def plan(
    programs: Sequence[Program],
    target: Target,
    *,
    config: CompileConfig | None = None,
    context: Context | None = None,
) -> MemoryPlan:
    """Offsets for every buffer and every step's scratch of programs that run one at a time.

    Units: bytes. The result is the same for the same values and `context.seed`.
    Raises: DoesNotFit when the arena is larger than any region of the target that may hold it,
    CheckFailed for several programs of one name.
    """
    line = timeline(programs)
    problem = line.problem()
    found = solve(problem, seed=(context or Context()).seed)
    region = _region(target, found.total_bytes, line, problem)
    return _plan(line, problem, found, region)


def _plan(line: Timeline, problem: Problem, found: Solution, region: Region) -> MemoryPlan:
    bound, time = problem.bound
    placements = tuple(
        Placement(use.name, region.name, found.offsets[item.id], item.size_bytes,
                  item.first, item.last, use.program, use.kind)
        for item in line.items for use in [line.uses[item.id]]
    )
    return MemoryPlan(
        placements=tuple(sorted(placements, key=lambda p: (p.first, p.offset_bytes, p.name))),
        arena_bytes=found.total_bytes,
        lower_bound_bytes=bound,
        activation_bytes=line.problem(scratch=False).bound[0],
        scratch_bytes=max((p.size_bytes for p in placements if p.kind == "scratch"), default=0),
        peak_step=line.steps[time] if line.steps else "",
        method=found.method,
        align_bytes=max([SCRATCH_ALIGN_BYTES, *(i.align_bytes for i in line.items)]),
        peak_time=time,
    )


def _region(target: Target, arena_bytes: int, line: Timeline, problem: Problem) -> Region:
    """The first region that may hold the arena and is large enough."""
    regions = [r for r in target.memories if "arena" in r.may_hold]
    if not target.memories:
        return ANYWHERE
    for region in regions:
        if arena_bytes <= region.size_bytes:
            return region
    largest = max(regions, key=lambda r: r.size_bytes, default=Region("none", 0))
    raise _does_not_fit(target, largest, arena_bytes, line, problem)


def _does_not_fit(
    target: Target, region: Region, arena_bytes: int, line: Timeline, problem: Problem
) -> DoesNotFit:
    time = problem.bound[1]
    live = [i for i in problem.items if i.first <= time < i.last]
    sizes = {line.uses[i.id].name: i.size_bytes for i in live}
    step = line.steps[time]
    short = arena_bytes - region.size_bytes
    listed = " + ".join(f"{name} {size:,} B" for name, size in
                        sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0])))
    error = DoesNotFit(
        f"the arena is {short:,} B too large for region {region.name}; peak at step {time} "
        f"({step}): {listed}",
        where=target.name,
        needed=f"{arena_bytes:,} B",
        available=f"{region.size_bytes:,} B of {region.name}",
        advice=_advice(arena_bytes, sizes),
    )
    error.peak_step, error.live_bytes = step, sizes
    error.region, error.shortfall_bytes = region.name, short
    return error


def _advice(arena_bytes: int, sizes: dict[str, int]) -> str:
    largest = max(sizes, key=lambda name: (sizes[name], name))
    return (f"try a smaller input so that {largest} shrinks, int8 instead of float32, or a target "
            f"with at least {-(-arena_bytes // 1024):,} KB of RAM")
