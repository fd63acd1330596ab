"""The memory map as text: steps across, offsets down, one letter per buffer."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from edgecc.memory.plan import MemoryPlan
from edgecc.report.table import shortened
from edgecc.schedule.program import Program

LETTERS = string.ascii_letters + string.digits
MAX_ROWS = 28
MAX_LISTED = 60


@dataclass(frozen=True)
class Block:
    """A placement as drawn: bytes [start, end) while steps [first, last) run."""

    name: str
    kind: str
    start: int
    end: int
    first: int
    last: int


def blocks(manifest: Mapping[str, Any]) -> list[Block]:
    """Placements of a manifest by first step and offset; none if it lists none."""
    found = (manifest.get("memory") or {}).get("placements") or []
    drawn = [Block(str(p["name"]), str(p.get("kind", _kind(p["name"]))), p["offset_bytes"],
                   p["offset_bytes"] + p["size_bytes"], p["first"], p["last"]) for p in found]
    return sorted(drawn, key=lambda b: (b.first, b.start, b.name))


def _kind(name: str) -> str:
    return "scratch" if str(name).endswith(".scratch") else "activation"


def step_count(manifest: Mapping[str, Any]) -> int:
    return max([len(manifest["steps"]), *(b.last for b in blocks(manifest))], default=0)


def memory_map(manifest: Mapping[str, Any], width: int = 100) -> str:
    """A diagram of at most `width` columns, and a list of the buffers with their places.

    Every row covers the bytes from its offset to the next row's.
    """
    drawn = blocks(manifest)
    if not drawn:
        return "nothing is placed in the arena\n"
    arena = manifest["arena_bytes"]
    letters = [LETTERS[n % len(LETTERS)] for n in range(len(drawn))]
    margin = max(len(f"{arena:,}"), 8)
    grid = _grid(drawn, letters, arena, step_count(manifest), width - margin - 3)
    lines = [_title(manifest), "", *_ruler(step_count(manifest), width - margin - 3, margin)]
    lines += [f"{offset:>{margin},} │{row}" for offset, row in grid]
    lines += [f"{arena:>{margin},} ┘", "", *_legend(drawn, letters, width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def plan_map(program: Program, plan: MemoryPlan, width: int = 100) -> str:
    """The same diagram from a program and its plan, before there is a manifest."""
    steps = [{"name": step.name} for entry in program.entries for step in entry.steps]
    placements = [asdict(p) for p in plan.placements if p.program in ("", program.name)]
    memory = {"placements": placements, "peak_step": plan.peak_step}
    return memory_map({"steps": steps, "arena_bytes": plan.arena_bytes, "memory": memory,
                       "arena_lower_bound_bytes": plan.lower_bound_bytes}, width)


def _title(manifest: Mapping[str, Any]) -> str:
    arena, bound = manifest["arena_bytes"], manifest["arena_lower_bound_bytes"]
    above = "= lower bound" if arena == bound else f"(lower bound {bound:,} B)"
    peak = (manifest.get("memory") or {}).get("peak_step")
    text = f"arena {arena:,} B {above}"
    return text + (f" · peak at {shortened(peak, 40)}" if peak else "")


def _columns(steps: int, room: int) -> list[tuple[int, int]]:
    """Steps [first, last) of every column of the diagram, one character wide each."""
    if steps <= room:
        wide = max(1, min(8, room // steps))
        return [(n, n + 1) for n in range(steps) for _ in range(wide)]
    return [(n * steps // room, max(n * steps // room + 1, (n + 1) * steps // room))
            for n in range(room)]


def _ruler(steps: int, room: int, margin: int) -> list[str]:
    """Step numbers above their first column, where there is room for them."""
    text = ""
    columns = [first for first, _ in _columns(steps, room)]
    for at, first in enumerate(columns):
        starts = at == 0 or columns[at - 1] != first
        if starts and len(text) <= at and at + len(str(first)) <= len(columns):
            text = text.ljust(at) + f"{first} "
    return [f"{'step':>{margin}}  {text}"]


def _rows(drawn: Sequence[Block], arena: int) -> list[tuple[int, int]]:
    """Byte ranges of the rows: cut where buffers begin and end, if that is not too many."""
    cuts = _apart(sorted({0, arena, *(b.start for b in drawn), *(b.end for b in drawn)}), arena)
    if len(cuts) - 1 > MAX_ROWS:
        cuts = sorted({n * arena // MAX_ROWS for n in range(MAX_ROWS + 1)})
    ranges = []
    for start, end in zip(cuts[:-1], cuts[1:], strict=True):
        parts = max(1, round((end - start) * 16 / arena)) if len(cuts) <= 16 else 1
        marks = [start + (end - start) * n // parts for n in range(parts + 1)]
        ranges += [r for r in zip(marks[:-1], marks[1:], strict=True) if r[0] < r[1]]
    return ranges


def _apart(cuts: list[int], arena: int) -> list[int]:
    """Cuts without those that follow another one too closely to be worth a row."""
    kept = [0]
    for cut in cuts[1:]:
        if cut - kept[-1] >= arena / 64 and (cut == arena or arena - cut >= arena / 64):
            kept.append(cut)
    return kept if kept[-1] == arena else [*kept, arena]


def _grid(
    drawn: Sequence[Block], letters: Sequence[str], arena: int, steps: int, room: int
) -> list[tuple[int, str]]:
    columns = _columns(steps, room)
    return [(start, "".join(_cell(drawn, letters, start, end, column) for column in columns))
            for start, end in _rows(drawn, arena)]


def _cell(
    drawn: Sequence[Block], letters: Sequence[str], start: int, end: int, column: tuple[int, int]
) -> str:
    """The buffer that fills most of the cell; a later one wins where two share bytes."""
    best, most = "·", 0
    for block, letter in zip(drawn, letters, strict=True):
        if block.first < column[1] and column[0] < block.last:
            filled = min(end, block.end) - max(start, block.start)
            if filled > 0 and filled >= most:
                best, most = letter, filled
    return best


def _legend(drawn: Sequence[Block], letters: Sequence[str], width: int) -> list[str]:
    digits = max(len(f"{b.end:,}") for b in drawn)
    room = max(12, width // 2 - 2 * digits - 18)
    room = min(room, max(len(b.name) for b in drawn))
    entries = [f"{letter} {shortened(b.name, room):<{room}} {b.start:>{digits},} + "
               f"{b.end - b.start:<{digits},} [{b.first}, {b.last})"
               for letter, b in zip(letters, drawn, strict=True)]
    shown = entries[:MAX_LISTED]
    column = max(width // 2, max(map(len, shown)) + 2)
    half = -(-len(shown) // 2) if 2 * column <= width + 3 else len(shown)
    lines = [f"{left:<{column}}{right}" for left, right in
             zip_longest(shown[:half], shown[half:], fillvalue="")]
    more = len(entries) - len(shown)
    return ["buffers: letter, name, offset + bytes, steps", *lines,
            *([f"… {more} more"] if more else [])]
