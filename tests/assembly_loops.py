"""Innermost loops of assembly text, by the flow of control: blocks may lie in any order."""

import re
from dataclasses import dataclass, field

ENDS = ("b", "b.w", "j", "jmp", "ret", "bx", "tail")  # what never goes on to the next line
LABEL = re.compile(r"(\.L\w+|\d+):")
TARGET = re.compile(r"(?<![.\w])(\.L\w+|\d+b)$")


@dataclass
class Block:
    """Instructions without a branch between them, and the numbers of what may follow."""

    lines: list[str] = field(default_factory=list)
    after: set[int] = field(default_factory=set)

    @property
    def target(self):
        found = TARGET.search(self.lines[-1]) if self.lines else None
        return found[1] if found else None

    @property
    def goes_on(self):
        return not self.lines or self.lines[-1].split()[0] not in ENDS


def blocks_of(text):
    """The blocks of a text, linked."""
    blocks, places = [Block()], {}
    for line in (re.split(r"//|# |@ ", line)[0].strip() for line in text.splitlines()):
        last = blocks[-1]
        label = LABEL.match(line)
        if last.lines and (label or last.target or not last.goes_on):
            blocks.append(Block())
        if label:
            places.setdefault(label[1], []).append(len(blocks) - 1)
        elif line and line[0] not in ".#" and not line.endswith(":"):
            blocks[-1].lines.append(line)
    for number, block in enumerate(blocks):
        block.after = _after(block, number, places) & set(range(len(blocks)))
    return blocks


def _after(block, number, places):
    after = {number + 1} if block.goes_on else set()
    if block.target and block.target[0] == ".":
        return after | set(places.get(block.target, ()))
    if block.target:  # `1b`: the last such label before
        after.add(max(place for place in places[block.target[:-1]] if place <= number))
    return after


def innermost_loops(text):
    """Lists of the instructions of every innermost loop."""
    blocks = blocks_of(text)
    for loop in _innermost(set(range(len(blocks))), blocks):
        yield [line for number in sorted(loop) for line in blocks[number].lines]


def _innermost(inside, blocks):
    """Sets of blocks that go round, and no longer do without the block that they are entered by."""
    for loop in _cycles(inside, blocks):
        entered = {n for b, block in enumerate(blocks) if b not in loop for n in block.after & loop}
        yield from [*_innermost(loop - {min(entered or loop)}, blocks)] or [loop]


def _cycles(inside, blocks):
    """Sets of blocks each of which leads to every other and itself."""
    reach = {number: _reached(number, inside, blocks) for number in inside}
    left = set(inside)
    while left:
        first = min(left)
        loop = {number for number in reach[first] if first in reach[number]}
        left -= loop | {first}
        if loop:
            yield loop


def _reached(start, inside, blocks):
    seen, todo = set(), [start]
    while todo:
        fresh = (blocks[todo.pop()].after & inside) - seen
        seen |= fresh
        todo += fresh
    return seen
