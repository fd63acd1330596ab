"""Straight lines of A64 vector code in an order that cores without reordering can follow.

Lines keep their registers, so what may move is what reads and writes of registers leave free: a
value's readers stay behind it, and ahead of what next overwrites it. Of the lines that could come
next, the one that most waits for goes first. Memory that is written is not read again.
Source: latencies are about those of Cortex-A53 and A55 in their Software Optimization Guides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

LOAD, VECTOR = 4, 5  # cycles until a result can be read
REGISTER = re.compile(r"(?<![\w$#:])[vq](\d+)\b")
ACCUMULATES = re.compile(r"smlal|sadalp|sqxtn2|sqrshrn2")


@dataclass
class _Line:
    text: str
    after: dict[int, int] = field(default_factory=dict)  # line before it: cycles it takes
    height: int = 0


def effects(text: str) -> tuple[set[str], set[str]]:
    """What a line reads and writes: registers by number, pointers that move by operand."""
    name, _, rest = text.partition(" ")
    registers = REGISTER.findall(rest)
    count = len(registers) if name in ("ld1", "ldr", "ldp") else 0 if name == "st1" else 1
    writes, reads = set(registers[:count]), set(registers[count:])
    if ACCUMULATES.match(name):
        reads |= writes
    if name in ("ld1", "st1"):
        pointer = rest[rest.index("[") + 1 : rest.index("]")]
        reads.add(pointer)
        if not rest.endswith("]"):
            writes.add(pointer)
    elif name == "add":
        to, by, _ = rest.split(", ")
        reads, writes = {by}, {to}
    return reads, writes


def ordered(lines: Sequence[str]) -> list[str]:
    """The same lines, none before what it needs."""
    found = _linked(lines)
    for number in reversed(range(len(found))):
        for before, cycles in found[number].after.items():
            found[before].height = max(found[before].height, found[number].height + cycles)
    issued: dict[int, int] = {}
    left, now = set(range(len(found))), 0
    while left:
        ready = {number: max([issued[b] + c for b, c in found[number].after.items()], default=0)
                 for number in left if found[number].after.keys() <= issued.keys()}
        now = max(now, min(ready.values()))
        chosen = max((number for number in ready if ready[number] <= now),
                     key=lambda number: (found[number].height, -number))
        issued[chosen] = now
        left.remove(chosen)
        now += 1
    return [found[number].text for number in issued]


def _linked(lines: Sequence[str]) -> list[_Line]:
    """Every line with those that it must come after."""
    found: list[_Line] = []
    written: dict[str, int] = {}
    read: dict[str, list[int]] = {}
    for number, text in enumerate(lines):
        line, (reads, writes) = _Line(text), effects(text)
        for name in reads & written.keys():
            before = written[name]
            cycles = 1 if name.startswith("$") else _cycles(lines[before])
            line.after[before] = max(line.after.get(before, 0), cycles)
        for name in writes:
            for before in [*read.get(name, []), *([written[name]] if name in written else [])]:
                line.after.setdefault(before, 1)
            written[name], read[name] = number, []
        for name in reads:
            read.setdefault(name, []).append(number)
        line.after.pop(number, None)
        found.append(line)
    return found


def _cycles(text: str) -> int:
    return LOAD if text.startswith("ld") else VECTOR
