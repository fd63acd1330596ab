"""Greedy placement: each block at the lowest offset that fits, in several orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from edgecc.errors import DoesNotFit
from edgecc.memory.blocks import Block, may_stand
from edgecc.memory.problem import Distance, Item, Key, Problem

Interval = tuple[int, int]
Orders = dict[str, Callable[[Block], tuple]]


class Placer:
    """Places the blocks of one problem; what depends on lifetimes alone is computed once.

    `optional` are the pairs that may overlap (others are kept apart).
    """

    def __init__(self, problem: Problem, blocks: Sequence[Block], optional: Sequence[Distance]):
        self.problem, self.blocks = problem, tuple(blocks)
        self.pairs = {(p.output, p.input): p for p in optional}
        self.home = {i.id: n for n, block in enumerate(blocks) for i, _ in block.members}
        self.neighbours = _neighbours(problem)

    @property
    def work(self) -> int:
        """Pairs of items looked at by one placement."""
        return sum(map(len, self.neighbours.values())) + len(self.problem.items)

    def place(self, order: Sequence[int]) -> dict[Key, int]:
        """Offsets of all items, blocks taken in `order`; fixed blocks come first anyway."""
        offsets: dict[Key, int] = {}
        fixed = [n for n in order if self.blocks[n].fixed_bytes is not None]
        for n in fixed:
            self._put(offsets, self.blocks[n], self.blocks[n].fixed_bytes or 0)
        for n in order:
            if self.blocks[n].fixed_bytes is None:
                self._put(offsets, self.blocks[n], self._lowest(offsets, self.blocks[n]))
        return offsets

    @staticmethod
    def _put(offsets: dict[Key, int], block: Block, base: int) -> None:
        for item, at in block.members:
            offsets[item.id] = base + at

    def _lowest(self, offsets: Mapping[Key, int], block: Block) -> int:
        """Lowest legal base: step over the forbidden intervals, taken by their start."""
        align = block.align_bytes
        base = -(-block.lowest_bytes // align) * align
        for start, end in sorted(self._forbidden(offsets, block)):
            if start > base:
                break
            if end >= base:
                base = -(-(end + 1) // align) * align
        return base

    def _forbidden(self, offsets: Mapping[Key, int], block: Block) -> list[Interval]:
        found: list[Interval] = []
        for item, at in block.members:
            home = self.home[item.id]
            for other in self.neighbours[item.id]:
                placed = offsets.get(other.id)
                if placed is None or self.home[other.id] == home:
                    continue
                whole = (placed - item.size_bytes + 1 - at, placed + other.size_bytes - 1 - at)
                found += self._minus_allowed(whole, item, other, placed, at)
        return found

    def _minus_allowed(
        self, whole: Interval, item: Item, other: Item, placed: int, at: int
    ) -> list[Interval]:
        """The interval without the bases at which the two may overlap."""
        start, end = whole
        if pair := self.pairs.get((item.id, other.id)):
            point = placed + pair.limit_bytes - at
            if pair.distance_bytes:
                return [(max(start, point + 1), end)] if point < end else []
        elif pair := self.pairs.get((other.id, item.id)):
            point = placed - pair.limit_bytes - at
            if pair.distance_bytes:
                return [(start, min(end, point - 1))] if point > start else []
        else:
            return [whole]
        if not start <= point <= end:
            return [whole]
        return [(s, e) for s, e in ((start, point - 1), (point + 1, end)) if s <= e]


def _neighbours(problem: Problem) -> dict[Key, list[Item]]:
    """Items live together with each item, its own group left out."""
    by_start = sorted((i for i in problem.items if i.size_bytes), key=lambda i: i.first)
    found: dict[Key, list[Item]] = {i.id: [] for i in problem.items}
    group = problem.group_of
    for n, a in enumerate(by_start):
        for b in by_start[n + 1:]:
            if b.first >= a.last:
                break
            if a.id not in group or group[a.id] != group.get(b.id):
                found[a.id].append(b)
                found[b.id].append(a)
    return found


def orders(problem: Problem) -> Orders:
    """Sort keys by name; every key ends in something unique enough to be deterministic."""
    crowd = _crowding(problem)

    def crowded(block: Block) -> int:
        return max(crowd[i.id] for i, _ in block.members)

    return {
        "size": lambda b: (-b.size_bytes, b.first),
        "size x lifetime": lambda b: (-b.area, b.first),
        "contention": lambda b: (-crowded(b), -b.size_bytes, b.first),
        "contention, lifetime": lambda b: (-crowded(b), b.first - b.last, -b.size_bytes),
        "lifetime": lambda b: (b.first - b.last, -b.size_bytes, b.first),
        "start": lambda b: (b.first, -b.size_bytes),
        "end": lambda b: (-b.last, -b.size_bytes),
    }


def _crowding(problem: Problem) -> dict[Key, int]:
    """Largest sum of live bytes that each item meets in its lifetime."""
    times = sorted({i.first for i in problem.items})
    sums = [(t, sum(i.size_bytes for i in problem.items if i.first <= t < i.last)) for t in times]
    return {i.id: max((s for t, s in sums if i.first <= t < i.last), default=0)
            for i in problem.items}


def check_fixed(problem: Problem) -> None:
    """Raises DoesNotFit if fixed positions exclude each other."""
    fixed = [(i, i.fixed_bytes) for i in problem.items if i.fixed_bytes is not None]
    for n, (a, at) in enumerate(fixed):
        for b, other in fixed[n + 1:]:
            if not may_stand(problem, a, at, b, other):
                raise DoesNotFit(
                    f"fixed positions of {a.id} and {b.id} overlap",
                    needed=f"{a.size_bytes:,} B at {at:,} and {b.size_bytes:,} B at {other:,}",
                    advice="move one of them, or let the planner place it",
                )
