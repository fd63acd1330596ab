"""A row of an int8 image as words of two int16 columns, channel by channel, on Cortex-M.

Four channels of four columns come as four words; SXTB16 and PKH turn them about into two words of
every channel: 24 instructions for 16 values. Columns of padding are a register.
Source: Armv7-M Architecture Reference Manual, SXTB16, PKHBT, PKHTB, STRD.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgecc.kernels.isa.dsp_pairs import FARTHEST, FARTHEST_PAIR
from edgecc.kernels.isa.dsp_text import Operand, add, function

CHANNELS = 4
COLUMNS = 4
LOOPED = 3  # groups of columns that are worth a loop


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
        free = [f"{kind}{i}" for kind in "eo" for i in range(COLUMNS)] + ["t", "turns"]
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
        whole = (True,) * COLUMNS
        groups, turns = self.groups, self.groups.count(whole)
        lines = ["1:"]
        for number, group in enumerate(groups):
            if group != whole or turns < LOOPED:
                lines += self._group(group)
            elif number == groups.index(whole):
                lines += [f"movw {{turns}}, #{turns}", "2:", *self._group(group),
                          "subs {turns}, {turns}, #1", "bne.w 2b"]
        taken = sum(sum(group) for group in groups) * self.pitch
        lines += add("{from}", "{from}", CHANNELS - taken, "{t}")
        lines += add("{to}", "{to}", CHANNELS * self.channel_bytes - 4 * self.words, "{t}")
        return [*lines, "subs {blocks}, {blocks}, #1", "bne.w 1b"]

    def _group(self, inside: tuple[bool, ...]) -> list[str]:
        lines, taken = [], 0
        for i in (i for i, real in enumerate(inside) if real):
            lines.append(f"ldr.w {{o{i}}}, [{{from}}, #{taken * self.pitch}]")
            taken += 1
        lines += add("{from}", "{from}", taken * self.pitch, "{t}")
        for i in (i for i, real in enumerate(inside) if real):
            lines += [f"sxtb16 {{e{i}}}, {{o{i}}}", f"sxtb16 {{o{i}}}, {{o{i}}}, ror #8"]
        first = self._pair(inside, 0, "{t}", "{e0}")
        found = [first]
        lines += first.lines
        if len(inside) == COLUMNS:
            found.append(self._pair(inside, 2, "{o0}", "{e2}"))
            lines += found[1].lines
        for channel in range(CHANNELS):
            lines += self._store(channel, [pair.words[channel] for pair in found])
        return lines + add("{to}", "{to}", 4 * len(found))

    def _pair(self, inside: tuple[bool, ...], i: int, low: str, odd: str) -> _Pair:
        """Columns i and i + 1 of four channels. `low` and `odd` are free for channels 0 and 1,
        `odd` once column i has been read."""
        even, other = ((f"{{e{c}}}", f"{{o{c}}}") if inside[c] else ("{pad}", "{pad}")
                       for c in (i, i + 1))
        if not (inside[i] or inside[i + 1]):
            return _Pair([], ["{pad}"] * CHANNELS)
        high, top = f"{{e{i + 1}}}", f"{{o{i + 1}}}"
        lines = [f"pkhbt {low}, {even[0]}, {other[0]}, lsl #16",
                 f"pkhtb {high}, {other[0]}, {even[0]}, asr #16",
                 f"pkhbt {odd}, {even[1]}, {other[1]}, lsl #16",
                 f"pkhtb {top}, {other[1]}, {even[1]}, asr #16"]
        return _Pair(lines, [low, odd, high, top])

    def _store(self, channel: int, words: list[str]) -> list[str]:
        at = channel * self.channel_bytes
        if len(words) == 2 and at <= FARTHEST_PAIR:
            return [f"strd {words[0]}, {words[1]}, [{{to}}, #{at}]"]
        return [f"str.w {word}, [{{to}}, #{at + 4 * i}]" for i, word in enumerate(words)]


@dataclass(frozen=True)
class _Pair:
    """What makes a word of every channel, and the registers of those words."""

    lines: list[str]
    words: list[str]


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
