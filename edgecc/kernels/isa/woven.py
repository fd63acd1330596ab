"""Depthwise tiles with SDOT as one statement: positions interleaved by fours, then multiplied.

Registers are handed out as values appear and taken back after their last use. Where all channels
of a block do not fit at once, the block is done in halves of eight channels.
The statement is given pointers only, and leaves sums that are scaled: what LLVM would have to
hold around it is as little as possible.
Source: Arm Architecture Reference Manual, A64 SIMD instructions, SDOT, ZIP1 and ZIP2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from edgecc.kernels.isa.assembled import PAIR_LOAD, function, named, statement

REGISTERS = 32
Tap = tuple[int, int]  # (kernel row, column of the tile)
Quad = tuple[Tap, ...]
Product = tuple[Quad, int, int]  # (taps, row of the tile, offset of their weights in the block)

Place = tuple[int, int, int]  # first channel of those done together, the first of four, how many


@dataclass(frozen=True)
class Work:
    """A tile of `rows` by `width` channels: its products, in order. Positions lie `pitch` bytes
    apart; weights of four channels lie 16 bytes apart."""

    rows: int
    width: int
    pitch: int
    lines: int
    products: tuple[Product, ...]

    @property
    def accumulators(self) -> int:
        return self.rows * self.width // 4

    @property
    def block(self) -> str:
        """The operand that points to bias, scales and weights."""
        return f"${self.accumulators + self.lines}"


class Full(Exception):
    """More values at a time than registers."""


@dataclass
class Writer:
    """Lines, and which value is in which register."""

    work: Work
    uses: Counter[Hashable]
    free: list[int]
    lines: list[str] = field(default_factory=list)
    held: dict[Hashable, int] = field(default_factory=dict)

    def value(self, key: Hashable, make: Callable[[int], None]) -> int:
        """The register of a value, made if it is not there."""
        if key not in self.held:
            if not self.free:
                raise Full
            self.held[key] = self.free.pop()
            make(self.held[key])
        return self.held[key]

    def used(self, key: Hashable) -> None:
        self.uses[key] -= 1
        if self.uses[key] == 0:
            self.free.append(self.held.pop(key))

    def emit(self, line: str) -> None:
        self.lines.append(line)


def lines(work: Work) -> list[str]:
    """The statement's text. Operands: accumulators, a pointer for every line, one to the block of
    constants. Raises Full."""
    return [*_start(work), *_products(work), *_end(work)]


def _products(work: Work) -> list[str]:
    if work.width == 16 and work.pitch % 16 == 0:
        try:
            return _written(work, 16)
        except Full:
            pass
    return _written(work, 8)


def _written(work: Work, channels: int) -> list[str]:
    found: list[str] = []
    for first in range(0, work.width, channels):
        writer = Writer(work, _uses(work, first, channels),
                        list(range(work.accumulators, REGISTERS)))
        for _, users in groupby(work.products, key=lambda product: product[0]):
            together = list(users)
            for j in range(first, first + channels, 4):
                for product in together:
                    _multiply(writer, product, (first, j, channels))
        found += writer.lines
    return found


def _start(work: Work) -> list[str]:
    """Every accumulator is its channels' bias."""
    across = work.width // 4
    return [f"ldp ${{{i}:q}}, ${{{i + 1}:q}}, [{work.block}, #{16 * (i % across)}]"
            for i in range(0, work.accumulators, 2)]


def _end(work: Work) -> list[str]:
    """Sums become float32 and are scaled."""
    across, found = work.width // 4, []
    for j in range(0, across, 2):
        scales = work.accumulators, work.accumulators + 1
        found.append(f"ldp q{scales[0]}, q{scales[1]}, [{work.block}, #{4 * work.width + 16 * j}]")
        for i in range(j, work.accumulators, across):
            found += [f"scvtf ${i + half}.4s, ${i + half}.4s" for half in (0, 1)]
            found += [f"fmul ${i + half}.4s, ${i + half}.4s, v{scales[half]}.4s"
                      for half in (0, 1)]
    return found


def _pairs(quad: Quad) -> tuple[Quad, Quad]:
    return quad[:2], quad[2:]


def _uses(work: Work, first: int, channels: int) -> Counter[Hashable]:
    """How often each value is read."""
    uses: Counter[Hashable] = Counter()
    parts, pairs = set(), set()
    for quad, _, offset in work.products:
        for j in range(first, first + channels, 4):
            uses["quad", quad, j] += 1
            uses["weights", offset, j] += 1
            parts.add((quad, j))
    for quad, j in parts:
        for pair in _pairs(quad):
            uses["pair", pair, j // 8] += 1
            pairs.add((pair, j // 8))
    for pair, _ in pairs:
        for tap in set(pair):
            uses["position", tap] += 1
    return uses


def _multiply(writer: Writer, product: Product, place: Place) -> None:
    """Four channels, four taps, one row of the tile."""
    quad, row, offset = product
    work, j = writer.work, place[1]

    def weights(register: int) -> None:
        pointer, at = work.block, 8 * work.width + offset + 4 * j
        if j % 8 == 0 and at in PAIR_LOAD and writer.free:
            second = writer.held["weights", offset, j + 4] = writer.free.pop()
            writer.emit(f"ldp q{register}, q{second}, [{pointer}, #{at}]")
        else:
            writer.emit(f"ldr q{register}, [{pointer}, #{at}]")

    woven = writer.value(("quad", quad, j), lambda to: _quad(writer, quad, place, to))
    column = writer.value(("weights", offset, j), weights)
    writer.emit(f"sdot ${row * (work.width // 4) + j // 4}.4s, v{woven}.16b, v{column}.16b")
    writer.used(("quad", quad, j))
    writer.used(("weights", offset, j))


def _quad(writer: Writer, quad: Quad, place: Place, to: int) -> None:
    """Four channels of four taps, from pairs of eight channels."""
    pairs, j = _pairs(quad), place[1]
    low, high = (writer.value(("pair", pair, j // 8), partial(_pair, writer, pair, place))
                 for pair in pairs)
    writer.emit(f"zip{1 + j // 4 % 2} v{to}.8h, v{low}.8h, v{high}.8h")
    for pair in pairs:
        writer.used(("pair", pair, j // 8))


def _pair(writer: Writer, pair: Quad, place: Place, to: int) -> None:
    """Eight channels of two taps."""
    first, j, channels = place
    size = "q" if channels == 16 else "d"

    def position(tap: Tap, register: int) -> None:
        pointer = f"${writer.work.accumulators + tap[0]}"
        at = tap[1] * writer.work.pitch + first
        writer.emit(f"ldr {size}{register}, [{pointer}, #{at}]")

    taps = [writer.value(("position", tap), partial(position, tap)) for tap in pair]
    half = 1 + (j // 8 % 2 if channels == 16 else 0)
    writer.emit(f"zip{half} v{to}.16b, v{taps[0]}.16b, v{taps[1]}.16b")
    for tap in set(pair):
        writer.used(("position", tap))


def add_products(k: Any, acc: Any, work: Work, name: str, given: list[Any]) -> None:
    """Emit the call of the statement in kernel `k`, which leaves scaled sums in `acc` (float32):
    `given` are pointers to the lines and to the block of constants."""
    from edgecc.kernels import tir

    k.llvm_function(name, lambda: _llvm(work, name))
    tir.T.evaluate(tir.T.call_extern("int32", name, tir.T.address_of(acc[0]), *given))


def _llvm(work: Work, name: str) -> str:
    n, pointers = work.accumulators, work.lines + 1
    fixed = [f"~{{v{i}}}" for i in range(n, REGISTERS)]
    constraints = [*named(n), *["r"] * pointers, *fixed, "~{memory}"]
    kind = "{ " + ", ".join(["<4 x float>"] * n) + " }"
    after = []
    for i in range(n):
        after += [f"%p{i} = getelementptr i8, ptr %acc, i64 {16 * i}",
                  f"%o{i} = extractvalue {kind} %r, {i}",
                  f"store <4 x float> %o{i}, ptr %p{i}, align 4"]
    operands = [f"ptr %g{i}" for i in range(pointers)]
    call = statement("%r", kind, lines(work), ",".join(constraints), operands)
    parameters = ", ".join(["ptr %acc", *(f"ptr %g{i}" for i in range(pointers))])
    return function(name, parameters, [call, *after])
