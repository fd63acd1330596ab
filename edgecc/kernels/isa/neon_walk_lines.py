"""Depthwise rows on plain NEON as one statement: the lines of a `neon_walk.Walk`."""

from __future__ import annotations

from dataclasses import dataclass, field

from edgecc.kernels.isa.assembled import BATCH, PAIR_LOAD, REGISTERS, function, statement
from edgecc.kernels.isa.in_order import ordered
from edgecc.kernels.isa.neon_walk import STREAMED, Registers, Tap, Walk, pairs, single
from edgecc.kernels.isa.neon_walk_end import narrowed

UPPER = (("", "8b"), ("2", "16b"))  # how instructions on the lower and the upper half are called


def text(walk: Walk) -> str:
    """LLVM's text of int symbol(constants, output, pitch, a word to round with, least, largest,
    padding, image, row of padding, channel, and of every row its offset in the image, or -1).
    Which row it is does not change from block to block: LLVM looks at it outside their loop."""
    rows = range(walk.kh)
    moved = [*(f"ptr %r{i}" for i in rows), "ptr %out"]
    words = [f"i32 %{name}" for name in ("round", "low", "high", "pad")]
    kind = "{ " + ", ".join([*["ptr"] * len(moved), "i64"]) + " }"
    tied = [str(i) for i in range(len(moved))]
    constraints = ",".join([
        *["=r"] * len(moved), "=&r", *tied, *["r"] * (2 + len(words)),
        *(f"~{{v{i}}}" for i in range(REGISTERS)), "~{cc}", "~{memory}"])
    parameters = ", ".join(["ptr %block", "ptr %out", "i64 %pitch", *words, "ptr %image",
                            "ptr %blank", "i32 %channel", *(f"i32 %o{i}" for i in rows)])
    found = [line for i in rows for line in (
        f"%at{i} = getelementptr i8, ptr %image, i32 %o{i}",
        f"%is{i} = icmp sge i32 %o{i}, 0",
        f"%row{i} = select i1 %is{i}, ptr %at{i}, ptr %blank",
        f"%r{i} = getelementptr i8, ptr %row{i}, i32 %channel")]
    call = statement("%r", kind, written(walk), constraints,
                     [*moved, "ptr %block", "i64 %pitch", *words])
    return function(walk.symbol, parameters, [*found, call])


def written(walk: Walk) -> list[str]:
    """The statement's text."""
    first, turn, rest = (ordered(lines) for lines in _sections(walk))
    if not walk.loops:
        return [*first, *rest]
    count = f"${walk.kh + 1}"
    return [*first, f"mov {count}, #{walk.loops}", "1:", *turn, f"subs {count}, {count}, #1",
            "b.ne 1b", *rest]


def executed(walk: Walk) -> int:
    """Instructions."""
    first, turn, rest = (len(lines) for lines in _sections(walk))
    return first + rest + (1 + walk.loops * (turn + 2) if walk.loops else 0)


def _sections(walk: Walk) -> tuple[list[str], list[str], list[str]]:
    """What comes before the loop, a turn of it, and the outputs after it."""
    assert walk.registers is not None
    writer = _Writer(walk, walk.registers)
    begin = walk.alike.start if walk.loops else 0
    turn = range(begin, begin + walk.turns if walk.loops else begin)
    first = writer.start() + writer.outputs(range(begin))
    return (first, writer.outputs(turn),
            writer.outputs(range(begin + walk.loops * walk.turns, walk.outputs)))


@dataclass
class _Writer:
    """Lines of a statement. Operands: row pointers, output, counter, constants, pitch, round,
    low, high, pad."""

    walk: Walk
    at: Registers
    lines: list[str] = field(default_factory=list)
    waiting: list[list[str]] = field(default_factory=list)  # what adds products on their way
    streamed: int = 0
    used: int = 0

    def operand(self, name: str) -> str:
        given = ["block", "pitch", "round", "low", "high", "pad"]
        place = (self.walk.kh if name == "out" else 2 * self.walk.kh + 3 + given.index(name))
        return f"${place}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def start(self) -> list[str]:
        """Constants, and the columns that the first output shares with none before it."""
        walk, at = self.walk, self.at.first
        if walk.end != "fixed":
            kind = "4s" if walk.end == "short" else "8h"
            self.emit(f"dup v{at['round']}.{kind}, {self._word('round')}")
        kept = walk.weight_registers if self.at.kept else 0
        self._bring(at["scale"], walk.vectors + kept, 4 * walk.width)
        for column in range(walk.kw - walk.stride):
            self._column(column)
        return self._taken()

    def outputs(self, numbers: range) -> list[str]:
        for number in numbers:
            self._output(number)
        return self._taken()

    def _taken(self) -> list[str]:
        taken, self.lines = self.lines, []
        return taken

    def _bring(self, first: int, count: int, offset: int) -> None:
        """Registers from `first` on, from the constants of the block."""
        pointer = f"${self.walk.kh + 1}"
        self.emit(f"add {pointer}, {self.operand('block')}, #{offset}")
        for at in range(first, first + count, BATCH):
            self.emit(f"{_multiple(at, min(BATCH, first + count - at))}, [{pointer}], "
                      f"#{16 * min(BATCH, first + count - at)}")

    def _load(self, registers: list[int], offset: int) -> None:
        """From the constants of the block."""
        block = self.operand("block")
        for i in range(0, len(registers), 2):
            some, at = registers[i : i + 2], offset + 16 * i
            if len(some) == 2 and at in PAIR_LOAD:
                self.emit(f"ldp q{some[0]}, q{some[1]}, [{block}, #{at}]")
            else:
                self.lines += [f"ldr q{register}, [{block}, #{at + 16 * j}]"
                               for j, register in enumerate(some)]

    def _column(self, column: int) -> None:
        """Bring in the next column of every row, rows by twos."""
        registers = [self.at.rows(column, ky, part) for ky in range(0, self.walk.kh - 1, 2)
                     for part in range(self.walk.parts)]
        last = [self.at.rows(column, self.walk.kh - 1)] if self.walk.kh % 2 else []
        if not self.walk.inside(column):
            self.lines += [f"dup v{register}.16b, {self._word('pad')}"
                           for register in last if column in self.walk.stand_ins]
            return
        kind, free = f"{self.walk.width}b", self.at.first["free"]

        def load(register: int, row: int) -> None:
            self.emit(f"ld1 {{v{register}.{kind}}}, [${row}], {self.operand('pitch')}")

        for ky in range(0, self.walk.kh - 1, 2):
            load(free, ky)
            load(free + 1, ky + 1)
            for part in range(self.walk.parts):
                self._interleave(registers.pop(0), free, free + 1, part)
        if last:
            load(last[0], self.walk.kh - 1)

    def _word(self, name: str) -> str:
        """An operand as a word."""
        return f"${{{self.operand(name)[1:]}:w}}"

    def _interleave(self, to: int, low: int, high: int, part: int) -> None:
        self.emit(f"zip{1 + part} v{to}.16b, v{low}.16b, v{high}.16b")

    def _output(self, number: int) -> None:
        walk, first = self.walk, number * self.walk.stride
        for column in range(walk.kw - walk.stride, walk.kw):
            self._column(first + column)
        left_out, tap = walk.left_out(number), single(walk.kh, walk.kw)
        self._biases(left_out)
        if tap and tap not in left_out:
            self._single(self.at.rows(first + tap[1], tap[0]))
        numbered = [(i, pair) for i, pair in enumerate(pairs(walk.kh, walk.kw))
                    if pair[0] not in left_out]
        for i in range(0, len(numbered), 2):
            for part in range(walk.parts):
                self._pairs([(self._positions(pair, first, part, number % 2),
                              self._weight(walk.parts * number + part))
                             for number, pair in numbered[i : i + 2]], part)
        self.lines += [line for adds in self.waiting for line in adds]
        self.waiting = []
        self._end()

    def _biases(self, left_out: frozenset[Tap]) -> None:
        """Sums begin as them."""
        walk, first = self.walk, self.at.first["sum"]
        if left_out:
            at = walk.edge_bytes + 4 * walk.width * walk.edges.index(left_out)
            self._load([first + i for i in range(walk.vectors)], at)
        else:
            self.emit(f"{_multiple(first, walk.vectors)}, [{self.operand('block')}]")

    def _single(self, column: int) -> None:
        """The tap that is left over."""
        weight = self._weight(self.walk.weight_registers - 1)
        for half in range(self.walk.parts):
            product, (two, kind) = self._product(), UPPER[half]
            adds = []
            for upper, lanes in enumerate(("4h", "8h")):
                total = self.at.first["sum"] + 2 * half + upper
                adds.append(f"saddw{UPPER[upper][0]} v{total}.4s, v{total}.4s, "
                            f"v{product}.{lanes}")
            self._multiply([f"smull{two} v{product}.8h, v{column}.{kind}, v{weight}.{kind}"], adds)

    def _pairs(self, operands: list[tuple[int, int]], part: int) -> None:
        """Add the products of one or two pairs of taps: (positions, weights) of eight channels."""
        for upper, (two, kind) in enumerate(UPPER):
            product, total = self._product(), self.at.first["sum"] + 2 * part + upper
            self._multiply([f"{'smlal' if i else 'smull'}{two} v{product}.8h, "
                            f"v{positions}.{kind}, v{weight}.{kind}"
                            for i, (positions, weight) in enumerate(operands)],
                           [f"sadalp v{total}.4s, v{product}.8h"])

    def _multiply(self, products: list[str], adds: list[str]) -> None:
        """Products, and when their turn comes what adds them."""
        self.lines += products
        self.waiting.append(adds)
        if len(self.waiting) == self.at.products:
            self.lines += self.waiting.pop(0)

    def _positions(self, pair: tuple[Tap, Tap], first: int, part: int, free: int) -> int:
        """The register of two interleaved taps; those along a row are interleaved here."""
        (ky, kx), (below, right) = pair
        if below != ky:
            return self.at.rows(first + kx, ky, part)
        to = self.at.first["free"] + free
        self._interleave(to, self.at.rows(first + kx, ky), self.at.rows(first + right, ky), part)
        return to

    def _weight(self, number: int) -> int:
        first = self.at.first["weight"]
        if self.at.kept:
            return first + number
        self.streamed += 1
        register = first + self.streamed % STREAMED
        self._load([register], 8 * self.walk.width + 16 * number)
        return register

    def _product(self) -> int:
        """The register of a product, of those the one used longest ago."""
        self.used += 1
        return self.at.first["product"] + self.used % self.at.products

    def _end(self) -> None:
        """Sums to int8, and where they go."""
        walk, first = self.walk, self.at.first
        self.lines += narrowed(walk, first)
        to, kind, free = first["free"], f"{walk.width}b", first["product"]
        for bound, name in (("low", "smax"), ("high", "smin")) if walk.clamp else ():
            self.emit(f"dup v{free}.16b, {self._word(bound)}")
            self.emit(f"{name} v{to}.16b, v{to}.16b, v{free}.16b")
        self.emit(f"st1 {{v{to}.{kind}}}, [{self.operand('out')}], {self.operand('pitch')}")


def _multiple(first: int, count: int) -> str:
    """The load of some registers, without its address."""
    return f"ld1 {{{', '.join(f'v{first + i}.16b' for i in range(count))}}}"
