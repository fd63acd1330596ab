"""A row of an int8 image as words of two int16 columns, channel by channel, on Cortex-M.

Four channels of four columns come as four words; PKH brings channels 0 and 1 of two columns into
one word, 2 and 3 into another, and SXTB16 makes of each a word of every channel: 20 instructions
for 16 values. Columns of padding are a register.
Source: Armv7-M Architecture Reference Manual, SXTB16, PKHBT, PKHTB, LDR and STRD (immediate).
"""

from __future__ import annotations

from dataclasses import dataclass

from edgecc.kernels.isa.dsp_pairs import FARTHEST, FARTHEST_PAIR
from edgecc.kernels.isa.dsp_text import Operand, add, function

CHANNELS = 4
COLUMNS = 4
LOOPED = 3  # groups of columns that are worth a loop
WHOLE = (True,) * COLUMNS
FARTHEST_STEP = 255  # bytes that LDR moves its pointer on by


@dataclass(frozen=True)
class Widening:
    """`columns` columns of which the first `left` and what is right of the image's `width` are
    padding; `pitch` channels lie between columns, a channel's words `channel_bytes` apart."""

    columns: int
    left: int
    width: int
    pitch: int
    channel_bytes: int

    @property
    def symbol(self) -> str:
        numbers = (self.columns, self.left, self.width, self.pitch, self.channel_bytes)
        return f"edgecc_widen_{'_'.join(map(str, numbers))}"

    @property
    def words(self) -> int:
        return -(-self.columns // 2)

    @property
    def reaches(self) -> bool:
        """Whether every load and store is near enough to its pointer."""
        return (max((COLUMNS - 1) * self.pitch,
                    (CHANNELS - 1) * self.channel_bytes + COLUMNS) <= FARTHEST)

    def text(self) -> str:
        """LLVM IR of void symbol(first value, first word, padding twice, blocks of channels)."""
        free = [f"{kind}{i}" for kind in "cw" for i in range(COLUMNS)] + ["turns"]
        operands = [*(Operand(name, "temporary") for name in free),
                    Operand("from", "moving", pointer=True), Operand("to", "moving", pointer=True),
                    Operand("blocks", "moving"), Operand("pad", "given")]
        return function(self.symbol, operands, self.lines)

    @property
    def groups(self) -> list[tuple[bool, ...]]:
        """Which columns are inside the image, four (at the end, two) at a time."""
        inside = [self.left <= x < self.left + self.width for x in range(2 * self.words)]
        return [tuple(inside[i : i + COLUMNS]) for i in range(0, len(inside), COLUMNS)]

    @property
    def lines(self) -> list[str]:
        groups, lines = self.groups, ["1:"]
        for number, group in enumerate(groups):
            if group != WHOLE or not self._turns:
                lines += self._group(group)
            elif number == groups.index(WHOLE):
                lines += [f"movw {{turns}}, #{self._turns}", "2:", *self._group(group),
                          "subs {turns}, {turns}, #1", "bne.w 2b"]
        taken = sum(sum(group) for group in groups) * self.pitch
        lines += add("{from}", "{from}", CHANNELS - taken, "{c0}")
        lines += add("{to}", "{to}", CHANNELS * self.channel_bytes - 4 * self.words, "{c0}")
        return [*lines, "subs {blocks}, {blocks}, #1", "bne.w 1b"]

    @property
    def _turns(self) -> int:
        """Of the loop over columns; 0 where they are written out."""
        turns = self.groups.count(WHOLE)
        return turns if turns >= LOOPED else 0

    @property
    def executed(self) -> int:
        """Instructions for four channels."""
        again = (self._turns - 1) * (len(self._group(WHOLE)) + 2) if self._turns else 0
        return sum(not line.endswith(":") for line in self.lines) + again

    def _group(self, inside: tuple[bool, ...]) -> list[str]:
        """Two or four columns: what brings them, turns them about, and stores them. Pointers move
        on with the last load and store."""
        lines = self._loads([i for i, real in enumerate(inside) if real])
        pairs = []
        for i in range(0, len(inside), 2):
            found, words = _pair(i, inside[i], inside[i + 1])
            lines += found
            pairs.append(words)
        for channel in reversed(range(CHANNELS)):
            lines += self._store(channel, [words[channel] for words in pairs])
        return lines

    def _loads(self, columns: list[int]) -> list[str]:
        """Four channels of every column, the first one last."""
        lines = [f"ldr.w {{c{i}}}, [{{from}}, #{place * self.pitch}]"
                 for place, i in enumerate(columns)]
        taken = len(columns) * self.pitch
        if columns and taken <= FARTHEST_STEP:
            return [*reversed(lines[1:]), f"ldr.w {{c{columns[0]}}}, [{{from}}], #{taken}"]
        return [*lines, *add("{from}", "{from}", taken, "{w0}")]

    def _store(self, channel: int, words: list[str]) -> list[str]:
        at, size = channel * self.channel_bytes, 4 * len(words)
        where = f"[{{to}}, #{at}]" if channel else f"[{{to}}], #{size}"
        if len(words) == 1:
            return [f"str.w {words[0]}, {where}"]
        if at <= FARTHEST_PAIR:
            return [f"strd {words[0]}, {words[1]}, {where}"]
        return [f"str.w {word}, [{{to}}, #{at + 4 * i}]" for i, word in enumerate(words)]


def _pair(i: int, first: bool, second: bool) -> tuple[list[str], list[str]]:
    """What makes a word of every channel of columns i and i + 1, where those are `first` and
    `second` inside the image, and the registers of those words."""
    c, d, v, w = f"{{c{i}}}", f"{{c{i + 1}}}", f"{{w{i}}}", f"{{w{i + 1}}}"
    if first and second:
        return [f"pkhbt {v}, {c}, {d}, lsl #16", f"pkhtb {d}, {d}, {c}, asr #16",
                f"sxtb16 {c}, {v}", f"sxtb16 {v}, {v}, ror #8",
                f"sxtb16 {w}, {d}", f"sxtb16 {d}, {d}, ror #8"], [c, v, w, d]
    if not (first or second):
        return [], ["{pad}"] * CHANNELS
    one, other = (c, d) if first else (d, c)
    lines = [f"sxtb16 {v}, {one}", f"sxtb16 {w}, {one}, ror #8"]
    for made, kept in ((one, v), (other, w)):
        low, top = (kept, "{pad}") if first else ("{pad}", kept)
        lines += [f"pkhtb {made}, {top}, {low}, asr #16", f"pkhbt {kept}, {low}, {top}, lsl #16"]
    return lines, [v, w, one, other]


@dataclass(frozen=True)
class Blank:
    """A row of padding: `words` words of every channel."""

    words: int
    channel_bytes: int

    @property
    def symbol(self) -> str:
        return f"edgecc_blank_{self.words}_{self.channel_bytes}"

    def text(self) -> str:
        """LLVM IR of void symbol(first word, padding twice, channels)."""
        operands = [Operand("to", "moving", pointer=True), Operand("channels", "moving"),
                    Operand("pad", "given")]
        return function(self.symbol, operands, self.lines)

    @property
    def lines(self) -> list[str]:
        stores = ["strd {pad}, {pad}, [{to}], #8"] * (self.words // 2)
        stores += ["str.w {pad}, [{to}], #4"] * (self.words % 2)
        return ["1:", *stores, *add("{to}", "{to}", self.channel_bytes - 4 * self.words),
                "subs {channels}, {channels}, #1", "bne.w 1b"]
