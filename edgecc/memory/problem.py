"""Problem: the placement problem behind a memory plan, free of programs and targets.

Items are rectangles: a lifetime [first, last) by a size. The answer is an offset for each. The
lower bound of a problem is computed here too, since it depends on nothing else.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

Key = tuple[str, ...] | str | int


@dataclass(frozen=True)
class Item:
    """`size_bytes` needed while [first, last) runs, at a multiple of `align_bytes`, and exactly
    at `fixed_bytes` if that is given."""

    id: Key
    first: int
    last: int
    size_bytes: int
    align_bytes: int = 1
    fixed_bytes: int | None = None


@dataclass(frozen=True)
class Distance:
    """`output` and `input` are live together, yet may overlap: at
    output == input + shift_bytes if `distance_bytes` is 0 (the same address, nothing else), and
    wherever output <= input + shift_bytes - distance_bytes otherwise.

    `shift_bytes` is the input view's offset in its buffer minus the output view's in its own.
    """

    output: Key
    input: Key
    distance_bytes: int = 0
    shift_bytes: int = 0

    @property
    def limit_bytes(self) -> int:
        """The largest output - input that allows overlap."""
        return self.shift_bytes - self.distance_bytes

    def allows(self, output_bytes: int, input_bytes: int) -> bool:
        gap = output_bytes - input_bytes
        return gap == self.limit_bytes if self.distance_bytes == 0 else gap <= self.limit_bytes


@dataclass(frozen=True)
class Problem:
    """Items, groups of ids that must share one offset, and pairs that may overlap."""

    items: tuple[Item, ...]
    groups: tuple[tuple[Key, ...], ...] = ()
    distances: tuple[Distance, ...] = ()

    @cached_property
    def by_id(self) -> dict[Key, Item]:
        return {item.id: item for item in self.items}

    @cached_property
    def group_of(self) -> dict[Key, int]:
        return {key: n for n, group in enumerate(self.groups) for key in group}

    @cached_property
    def bound(self) -> tuple[int, int]:
        """(bytes, time): the largest live sum, and the first time at which it is met."""
        return lower_bound(self)

    @cached_property
    def aligned_bound_bytes(self) -> int:
        """A bound that counts alignment gaps, for the search to stop at: rounding all sizes up
        to the common alignment costs nothing but the last item's own gap."""
        step = math.gcd(*(i.align_bytes for i in self.items)) or 1
        wide = {i.id: replace(i, size_bytes=-(-i.size_bytes // step) * step) for i in self.items}
        best = self.bound[0]
        for time in {item.first for item in self.items}:
            live = {k: i for k, i in wide.items() if i.first <= time < i.last}
            gap = max(i.size_bytes - self.by_id[k].size_bytes for k, i in live.items())
            best = max(best, live_bytes(self, live) - gap)
        return best


def lower_bound(problem: Problem) -> tuple[int, int]:
    """What no placement can go below, and when: the largest sum of live bytes over time.

    Members of a group that live together count once, by the largest. A pair that may overlap
    counts its union at the closest overlap allowed: an output saves at most its own size, and
    each pair saves at most what `_saving` says. Alignment gaps are not counted, so the bound
    holds whatever the alignment is.
    """
    best, when = 0, 0
    for time in sorted({item.first for item in problem.items}):
        live = {i.id: i for i in problem.items if i.first <= time < i.last}
        total = live_bytes(problem, live)
        if total > best:
            best, when = total, time
    return best, when


def live_bytes(problem: Problem, live: Mapping[Key, Item]) -> int:
    """Bytes that the items `live` at one time need at least."""
    sizes: dict[Key, int] = {}
    for key, item in live.items():
        group = ("group", str(problem.group_of[key])) if key in problem.group_of else key
        sizes[group] = max(sizes.get(group, 0), item.size_bytes)
    return sum(sizes.values()) - _savings(problem.distances, live)


def _savings(distances: Iterable[Distance], live: Mapping[Key, Item]) -> int:
    saved: dict[Key, int] = defaultdict(int)
    for pair in distances:
        if pair.output in live and pair.input in live:
            saved[pair.output] += _saving(pair, live[pair.output], live[pair.input])
    return sum(min(live[key].size_bytes, value) for key, value in saved.items())


def _saving(pair: Distance, output: Item, source: Item) -> int:
    """Most bytes that the two can share: with the output at `limit_bytes` from the input, or
    anywhere below that if the distance is not 0."""
    at = pair.limit_bytes
    if pair.distance_bytes:
        at = min(at, max(0, source.size_bytes - output.size_bytes))
    return max(0, min(at + output.size_bytes, source.size_bytes) - max(at, 0))
