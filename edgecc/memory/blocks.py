"""Blocks: items tied together rigidly, by an alias group or by a chosen in-place pair.

Takes a Problem and the pairs to tie, gives blocks whose members keep fixed relative offsets, or
nothing where the ties contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from edgecc.memory.problem import Distance, Item, Key, Problem


@dataclass(frozen=True)
class Block:
    """Members with their offsets from the block's base; the first one stands at 0."""

    members: tuple[tuple[Item, int], ...]

    @property
    def size_bytes(self) -> int:
        return max(at + i.size_bytes for i, at in self.members) + self.lowest_bytes

    @property
    def lowest_bytes(self) -> int:
        """The least base that keeps every member at or above 0."""
        return max(0, -min(at for _, at in self.members))

    @property
    def align_bytes(self) -> int:
        return self.members[0][0].align_bytes

    @property
    def first(self) -> int:
        return min(i.first for i, _ in self.members)

    @property
    def last(self) -> int:
        return max(i.last for i, _ in self.members)

    @property
    def area(self) -> int:
        """Bytes times steps, summed over members."""
        return sum(i.size_bytes * (i.last - i.first) for i, _ in self.members)

    @property
    def fixed_bytes(self) -> int | None:
        """The base that a fixed member asks for."""
        bases = [i.fixed_bytes - at for i, at in self.members if i.fixed_bytes is not None]
        return bases[0] if bases else None


def tie(problem: Problem, pairs: Iterable[Distance]) -> list[Block] | None:
    """Blocks of the problem with `pairs` overlapping at their limit; None if they cannot."""
    relative: dict[Key, dict[Key, int]] = {i.id: {i.id: 0} for i in problem.items}
    ties = [(g[0], key, 0) for g in problem.groups for key in g[1:]]
    ties += [(p.input, p.output, p.limit_bytes) for p in pairs]
    for base, other, at in ties:
        if not _join(relative, base, other, at):
            return None
    unique = {id(block): block for block in relative.values()}
    blocks = [_block(problem, places) for places in unique.values()]
    return blocks if all(_is_legal(problem, block) for block in blocks) else None


def _join(relative: dict[Key, dict[Key, int]], base: Key, other: Key, at: int) -> bool:
    """Merge the two blocks so that `other` stands `at` bytes after `base`."""
    left, right = relative[base], relative[other]
    shift = left[base] + at - right[other]
    if left is right:
        return shift == 0
    for key, place in right.items():
        left[key] = place + shift
        relative[key] = left
    return True


def _block(problem: Problem, places: dict[Key, int]) -> Block:
    members = [(problem.by_id[key], at) for key, at in places.items()]
    anchor, origin = max(members, key=lambda m: m[0].align_bytes)
    rest = [(item, at - origin) for item, at in members if item is not anchor]
    return Block(((anchor, 0), *rest))


def _is_legal(problem: Problem, block: Block) -> bool:
    fixed = {i.fixed_bytes - at for i, at in block.members if i.fixed_bytes is not None}
    if len(fixed) > 1 or any(at % i.align_bytes for i, at in block.members):
        return False
    if any(block.align_bytes % i.align_bytes for i, _ in block.members):
        return False
    at_of = {i.id: at for i, at in block.members}
    members = [i for i, _ in block.members]
    return all(may_stand(problem, a, at_of[a.id], b, at_of[b.id])
               for n, a in enumerate(members) for b in members[n + 1:])


def may_stand(problem: Problem, a: Item, a_bytes: int, b: Item, b_bytes: int) -> bool:
    """Whether `a` and `b` may have these offsets."""
    if a.last <= b.first or b.last <= a.first:
        return True
    if a_bytes + a.size_bytes <= b_bytes or b_bytes + b.size_bytes <= a_bytes:
        return True
    groups = problem.group_of
    if a.id in groups and groups.get(a.id) == groups.get(b.id):
        return True
    return any(p.allows(a_bytes, b_bytes) if (p.output, p.input) == (a.id, b.id)
               else p.allows(b_bytes, a_bytes)
               for p in problem.distances if {p.output, p.input} == {a.id, b.id})
