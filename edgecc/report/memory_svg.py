"""The memory map as SVG: steps across, offsets down, and the live bytes of every step below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgecc.report.markup import Markup, escaped
from edgecc.report.memory_map import Block, blocks, step_count

KINDS = ("input", "output", "activation", "scratch", "state")
WIDTH, LEFT, RIGHT, TOP = 1000, 76, 12, 22
MAP_HEIGHT, GAP, LIVE_HEIGHT, BOTTOM = 300, 24, 56, 24
CHARACTER = 6.0  # width of one, at the size of the labels


@dataclass(frozen=True)
class Scale:
    """From steps and bytes to the picture's units."""

    steps: int
    arena: int

    def x(self, step: float) -> float:
        return LEFT + step * (WIDTH - LEFT - RIGHT) / max(1, self.steps)

    def y(self, offset: float) -> float:
        return TOP + offset * MAP_HEIGHT / max(1, self.arena)


def memory_svg(manifest: Mapping[str, Any]) -> Markup:
    """One <svg>; the names of buffers appear where they fit, and in full as tooltips."""
    drawn = blocks(manifest)
    scale = Scale(step_count(manifest), manifest["arena_bytes"])
    height = TOP + MAP_HEIGHT + GAP + LIVE_HEIGHT + BOTTOM
    parts = [_offset_axis(scale), *(_block(b, scale) for b in drawn), _live(drawn, scale),
             _peak(manifest, scale), _step_axis(scale, height)]
    return Markup(f'<svg viewBox="0 0 {WIDTH} {height}" role="img" '
                  f'aria-label="memory map of the arena">{"".join(parts)}</svg>')


def legend(manifest: Mapping[str, Any]) -> Markup:
    """The colours of the kinds that occur."""
    kinds = {_kind(b) for b in blocks(manifest)}
    items = "".join(f'<span><i style="background:var(--{k})"></i>{k}</span>'
                    for k in KINDS if k in kinds)
    return Markup(f'<div class="legend">{items}<span>hover a block for its place</span></div>')


def _kind(block: Block) -> str:
    return block.kind if block.kind in KINDS else "activation"


def _block(block: Block, scale: Scale) -> str:
    x, y = scale.x(block.first), scale.y(block.start)
    width, height = scale.x(block.last) - x, scale.y(block.end) - y
    facts = (f"{block.name}: {block.end - block.start:,} B at {block.start:,}, "
             f"steps [{block.first}, {block.last})")
    edge = ' class="edge"' if height > 4 else ""  # an outline would hide a thin block
    return (f'<g><title>{escaped(facts)}</title><rect{edge} x="{x:.1f}" y="{y:.1f}" '
            f'width="{width:.1f}" height="{max(height, 2):.1f}" rx="2" '
            f'style="fill:var(--{_kind(block)})"/>{_label(block.name, x, y, width, height)}</g>')


def _label(name: str, x: float, y: float, width: float, height: float) -> str:
    """The name inside its block: along the longer side, or not at all."""
    if height >= 13 and width >= len(name) * CHARACTER + 8:
        return f'<text class="name" x="{x + 5:.1f}" y="{y + 12:.1f}">{escaped(name)}</text>'
    if width >= 13 and height >= len(name) * CHARACTER + 8:
        at = f"{x + 11:.1f} {y + 5:.1f}"
        return (f'<text class="name" transform="translate({at}) rotate(90)" '
                f'dy="3">{escaped(name)}</text>')
    return ""


def _offset_axis(scale: Scale) -> str:
    marks = [scale.arena * n // 4 for n in range(5)]
    lines = [f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{scale.y(m):.1f}" '
             f'y2="{scale.y(m):.1f}"/><text x="{LEFT - 8}" y="{scale.y(m) + 4:.1f}" '
             f'text-anchor="end">{m:,}</text>' for m in marks]
    return "".join(lines) + f'<text x="{LEFT - 8}" y="11" text-anchor="end">byte</text>'


def _step_axis(scale: Scale, height: int) -> str:
    every = max(1, -(-scale.steps // 30))
    numbers = [f'<text x="{scale.x(n + 0.5):.1f}" y="{height - 8}" text-anchor="middle">{n}</text>'
               for n in range(0, scale.steps, every)]
    return "".join(numbers) + f'<text x="{LEFT - 8}" y="{height - 8}" text-anchor="end">step</text>'


def live_bytes(drawn: Sequence[Block], steps: int) -> list[int]:
    """Bytes of the arena that hold something, at every step (shared bytes count once)."""
    return [_covered(sorted((b.start, b.end) for b in drawn if b.first <= step < b.last))
            for step in range(steps)]


def _covered(ranges: Sequence[tuple[int, int]]) -> int:
    total, reached = 0, 0
    for start, end in ranges:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _live(drawn: Sequence[Block], scale: Scale) -> str:
    live = live_bytes(drawn, scale.steps)
    base = TOP + MAP_HEIGHT + GAP + LIVE_HEIGHT
    bars = []
    for step, size in enumerate(live):
        tall = LIVE_HEIGHT * size / max(1, scale.arena)
        top = " top" if size == max(live) else ""
        bars.append(
            f'<g><title>step {step}: {size:,} B live</title><rect class="live{top}" '
            f'x="{scale.x(step) + 1:.1f}" y="{base - tall:.1f}" '
            f'width="{max(0.5, scale.x(1) - scale.x(0) - 2):.1f}" height="{tall:.1f}"/></g>')
    return (f'<text x="{LEFT - 8}" y="{base - LIVE_HEIGHT + 10}" text-anchor="end">live</text>'
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>'
            + "".join(bars))


def _peak(manifest: Mapping[str, Any], scale: Scale) -> str:
    """A dashed frame around the step where the bound is met, with its name."""
    name = (manifest.get("memory") or {}).get("peak_step")
    at = next((n for n, s in enumerate(manifest["steps"]) if s["name"] == name), None)
    if at is None:
        return ""
    middle = scale.x(at + 0.5)
    anchor = "start" if middle < WIDTH / 4 else "end" if middle > WIDTH * 3 / 4 else "middle"
    sides = "".join(f'<line class="peak" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" '
                    f'y2="{TOP + MAP_HEIGHT + GAP + LIVE_HEIGHT}"/>'
                    for x in (scale.x(at), scale.x(at + 1)))
    return (f'{sides}<text class="peaktext" x="{middle:.1f}" y="12" text-anchor="{anchor}">'
            f"peak: {escaped(name)}</text>")
