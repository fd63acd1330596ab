"""Solve a placement problem: several greedy orders and in-place choices, then a local search.

Deterministic for a seed, and bounded by a count of placements, never by time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgecc.memory.blocks import Block, tie
from edgecc.memory.greedy import Placer, check_fixed, orders
from edgecc.memory.problem import Distance, Key, Problem

SEARCH_WORK = 3_000_000  # pairs of items looked at by the local search: about a second
MAX_ROUNDS = 1_000
MAX_LEFT_OUT = 12  # in-place pairs that are each tried as the only one not taken


@dataclass(frozen=True)
class Solution:
    """Offsets of all items, the end of the highest one, and how it was found."""

    offsets: Mapping[Key, int]
    total_bytes: int
    method: str


def solve(problem: Problem, seed: int = 0, good_enough_bytes: int = 0) -> Solution:
    """The best placement found; stops at the bound (alignment counted) or at `good_enough_bytes`.

    Raises DoesNotFit if fixed positions exclude each other.
    """
    check_fixed(problem)
    goal = max(problem.aligned_bound_bytes, good_enough_bytes)
    best: Solution | None = None
    arena: Placer | None = None
    start: list[int] = []
    for placer, name, order in _attempts(problem):
        found = _measured(problem, placer.place(order), name)
        if best is None or found.total_bytes < best.total_bytes:
            best, arena, start = found, placer, order
        if best.total_bytes <= goal:
            return best
    if best is None or arena is None:
        return Solution({}, 0, "nothing to place")
    return _improve(problem, arena, start, best, goal, seed)


def _measured(problem: Problem, offsets: dict[Key, int], method: str) -> Solution:
    total = max((offsets[i.id] + i.size_bytes for i in problem.items), default=0)
    return Solution(offsets, total, method)


def _attempts(problem: Problem) -> Iterator[tuple[Placer, str, list[int]]]:
    keys = orders(problem)
    for choice, blocks, optional in _choices(problem):
        placer = Placer(problem, blocks, optional)
        for name, key in keys.items():
            order = sorted(range(len(blocks)), key=[key(b) for b in blocks].__getitem__)
            yield placer, f"greedy by {name}{choice}", order


def _choices(problem: Problem) -> Iterator[tuple[str, list[Block], Sequence[Distance]]]:
    """Which in-place pairs are tied: all that agree, none, all but one, or as it happens."""
    apart = tie(problem, ())
    if apart is None:
        return
    if problem.distances:
        taken = _agreeing(problem)
        yield from _tied(problem, taken)
        yield ", in place where it fits", apart, problem.distances
        for left_out in taken[:MAX_LEFT_OUT]:
            yield from _tied(problem, [p for p in taken if p is not left_out])
    yield "", apart, ()


def _tied(
    problem: Problem, taken: list[Distance]
) -> Iterator[tuple[str, list[Block], Sequence[Distance]]]:
    blocks = tie(problem, taken)
    if taken and blocks is not None:
        yield f", {len(taken)} in place", blocks, problem.distances


def _agreeing(problem: Problem) -> list[Distance]:
    """Pairs taken one after the other as long as they do not contradict each other."""
    taken: list[Distance] = []
    for pair in problem.distances:
        if tie(problem, [*taken, pair]) is not None:
            taken.append(pair)
    return taken


def _improve(
    problem: Problem, placer: Placer, order: list[int], best: Solution, goal: int, seed: int
) -> Solution:
    """Move a block that ends at the top, or a random one, to an earlier place in the order."""
    rng = random.Random(seed)
    rounds = min(MAX_ROUNDS, SEARCH_WORK // placer.work) if len(order) > 1 else 0
    current, current_bytes = list(order), best.total_bytes
    offsets = best.offsets
    for _ in range(rounds):
        trial = _moved(placer, current, offsets, current_bytes, rng)
        found = _measured(problem, placer.place(trial), best.method)
        if found.total_bytes <= current_bytes:
            current, current_bytes, offsets = trial, found.total_bytes, found.offsets
        if found.total_bytes < best.total_bytes:
            method = best.method.removesuffix(", local search") + ", local search"
            best = Solution(found.offsets, found.total_bytes, method)
        if best.total_bytes <= goal:
            break
    return best


def _moved(
    placer: Placer, order: list[int], offsets: Mapping[Key, int], total: int, rng: random.Random
) -> list[int]:
    at = rng.randrange(1, len(order))
    if rng.random() < 0.5:
        top = [n for n, b in enumerate(order) if _reaches(placer.blocks[b], offsets, total)]
        at = rng.choice(top)
    trial = list(order)
    block = trial.pop(at)
    trial.insert(rng.randrange(at) if at else rng.randrange(len(order)), block)
    return trial


def _reaches(block: Block, offsets: Mapping[Key, int], total: int) -> bool:
    return any(offsets[i.id] + i.size_bytes == total for i, _ in block.members)
