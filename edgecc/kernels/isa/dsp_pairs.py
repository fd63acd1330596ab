"""Depthwise sums from pairs of neighbouring columns: SMLAD takes two taps of a kernel row at once.

A row of one channel lies in scratch as words of two int16 columns. An output that starts on an
even column has its taps in words as they are; one that starts on an odd column shares those words:
its first tap is an upper half. So a word is loaded once for all outputs of a tile that it is
under, and the weights of a row are pairs beginning at even and at odd taps: four bytes, which
SXTB16 widens to two words.

Kernel rows are found by slot: the ring of rows stays where it is, and the offset of every slot's
weights waits in an FPU register.
Source: Armv7-M Architecture Reference Manual, SMLAD, SMLABB, SXTB16, VMOV.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from edgecc.kernels.isa.dsp_end import LANES, End, Sum
from edgecc.kernels.isa.dsp_text import Operand, add, function

FARTHEST_PAIR = 1020  # bytes that LDRD and STRD reach
FARTHEST = 4095  # bytes that LDR and STRB reach
HEAD_BYTES = 8  # bias and scale before the weights of a channel
CORE = 14  # registers
SCALE = "s4"

Word = tuple[int | None, int | None]  # taps of a kernel row in the halves of a word of weights


class Product(NamedTuple):
    """`half` of a word of columns times `other` of a word of weights; both None: all of them."""

    group: int  # of two words of weights
    pair: int
    output: int
    word: int
    half: int | None
    other: int | None


def starts(stride: int) -> tuple[int, ...]:
    """Whether outputs start on even columns, or on odd ones too."""
    return (0,) if stride % 2 == 0 else (0, 1)


def by_pair(taps: int, dilation: int, start: int) -> dict[int, Word]:
    """The taps of an output that starts at column `start`, by the words they are in."""
    found: dict[int, Word] = {}
    for tap in range(taps):
        pair, half = divmod(start + tap * dilation, 2)
        low, high = found.get(pair, (None, None))
        found[pair] = (low, tap) if half else (tap, high)
    return found


def words(taps: int, dilation: int, stride: int) -> list[Word]:
    """The words of weights that the outputs of a row need."""
    whole = sorted({word for start in starts(stride)
                    for word in by_pair(taps, dilation, start).values() if None not in word})
    left = [tap for tap in range(taps) if not any(tap in word for word in whole)]
    left += [None] * (len(left) % 2)  # type: ignore[list-item]
    return [*whole, *zip(left[::2], left[1::2], strict=True)]


@dataclass(frozen=True)
class Sums:
    """`mr` neighbouring outputs of every channel of a block, from `kh` rows of `row_bytes`.

    Channels are `channel_bytes` apart, their outputs `pitch`. `short`: see `short_sums`; one that
    is clamped is not taken for short.
    """

    mr: int
    kh: int
    kw: int
    stride: int
    dilation: int
    row_bytes: int
    channel_bytes: int
    pitch: int
    short: bool
    clamp: bool

    @property
    def symbol(self) -> str:
        numbers = (self.mr, self.kh, self.kw, self.stride, self.dilation, self.row_bytes,
                   self.channel_bytes, self.pitch, int(self.short), int(self.clamp))
        return f"edgecc_pairs_{'_'.join(map(str, numbers))}"

    @cached_property
    def words(self) -> list[Word]:
        return words(self.kw, self.dilation, self.stride)

    @property
    def groups(self) -> int:
        return -(-len(self.words) // 2)

    @cached_property
    def products(self) -> list[Product]:
        """Of one kernel row, in order."""
        found = []
        for output in range(self.mr):
            for pair, taps in by_pair(self.kw, self.dilation, output * self.stride).items():
                found.append(self._product(pair, output, taps))
        return sorted(found)

    def _product(self, pair: int, output: int, taps: Word) -> Product:
        if taps in self.words:
            group, word = divmod(self.words.index(taps), 2)
            whole = None not in taps
            return Product(group, pair, output, word, None if whole else 0, None if whole else 0)
        half = 0 if taps[1] is None else 1
        place = next(i for i, word in enumerate(self.words) if taps[half] in word)
        group, word = divmod(place, 2)
        return Product(group, pair, output, word, half, self.words[place].index(taps[half]))

    @property
    def reach(self) -> int:
        """The farthest load from a channel's first word."""
        return (self.kh - 1) * self.row_bytes + 4 * max(p.pair for p in self.products)

    def _waits(self, name: str) -> bool:
        """Whether the outputs' pointer or the last address of weights is in an FPU register."""
        held = self.mr + 6  # two words of weights, two of columns, two pointers
        return held + {"out": 1, "end": 2}[name] > CORE

    def text(self) -> str:
        sums = [Operand(f"a{i}", "temporary") for i in range(self.mr)]
        free = [Operand(name, "temporary") for name in ("w0", "w1", "x0", "x1")]
        place = {name: "t" if self._waits(name) else "r" for name in ("out", "end")}
        moving = [Operand("x", "moving", pointer=True), Operand("w", "moving", pointer=True),
                  Operand("out", "moving", place["out"], pointer=True)]  # type: ignore[arg-type]
        given = [Operand("end", "given", place["end"], pointer=True)]  # type: ignore[arg-type]
        words = [*(f"slot{i}" for i in range(self.kh)), "zero"]
        words += ["low", "high"] if self.clamp else []
        operands = [*sums, *free, *moving, *given, *(Operand(n, "given", "t") for n in words)]
        return function(self.symbol, operands, self.lines, [*LANES, SCALE])

    @property
    def lines(self) -> list[str]:
        """One turn for every channel."""
        lines = ["1:", f"ldr.w {{a{self._last}}}, [{{w}}]", f"vldr {SCALE}, [{{w}}, #4]"]
        started: set[int] = set()
        for group in range(self.groups):
            for slot in range(self.kh):
                lines += self._row(group, slot, started)
            lines += add("{w}", "{w}", 4 * self.kh) if group + 1 < self.groups else []
        lines += add("{w}", "{w}", 4 * self.kh + HEAD_BYTES)
        lines += add("{x}", "{x}", self.channel_bytes, "{x0}")
        return [*lines, *self._end(), *self._again()]

    @property
    def _last(self) -> int:
        """The output whose first product comes last: its register brings the bias."""
        first: dict[int, int] = {}
        for number, product in enumerate(self.products):
            first.setdefault(product.output, number)
        return max(first, key=lambda output: first[output])

    def _row(self, group: int, slot: int, started: set[int]) -> list[str]:
        """The products of one kernel row with two words of its weights."""
        chosen = [p for p in self.products if p.group == group]
        lines = [f"vmov {{w1}}, {{slot{slot}}}", "ldr.w {w1}, [{w}, {w1}]", "sxtb16 {w0}, {w1}"]
        if any(p.word for p in chosen):
            lines.append("sxtb16 {w1}, {w1}, ror #8")
        pairs = sorted({p.pair for p in chosen})
        while pairs:
            at = slot * self.row_bytes + 4 * pairs[0]
            two = pairs[1:2] == [pairs[0] + 1] and at <= FARTHEST_PAIR
            names = "{x0}, {x1}" if two else "{x0}"
            lines.append(f"{'ldrd' if two else 'ldr.w'} {names}, [{{x}}, #{at}]")
            for register, pair in zip(("x0", "x1"), pairs[: 2 if two else 1], strict=False):
                lines += [self._multiply(p, register, started) for p in chosen if p.pair == pair]
            pairs = pairs[2 if two else 1 :]
        return lines

    def _multiply(self, product: Product, columns: str, started: set[int]) -> str:
        kind = "smlad" if product.half is None else (
            f"smla{'bt'[product.half]}{'bt'[product.other or 0]}")
        bias = product.output if product.output in started else self._last
        started.add(product.output)
        return f"{kind} {{a{product.output}}}, {{{columns}}}, {{w{product.word}}}, {{a{bias}}}"

    def _end(self) -> list[str]:
        """Sums to int8."""
        lines = ["vmov {x0}, {out}"] if self._waits("out") else []
        if self.clamp:
            lines += ["vmov {w0}, {low}", "vmov {w1}, {high}"]
        if not self.short:
            lines.append("vmov {x1}, {zero}")
        zero = "{zero}" if self.short else "{x1}"
        end = End(self._out, zero, "{w0}", "{w1}", self.short, self.clamp)
        lines += end.lines([Sum(f"{{a{i}}}", SCALE, i * self.pitch) for i in range(self.mr)])
        lines += add(self._out, self._out, 1)
        return lines + (["vmov {out}, {x0}"] if self._waits("out") else [])

    @property
    def _out(self) -> str:
        return "{x0}" if self._waits("out") else "{out}"

    def _again(self) -> list[str]:
        if not self._waits("end"):
            return ["cmp {w}, {end}", "bne.w 1b"]
        return ["vmov {x1}, {end}", "cmp {w}, {x1}", "bne.w 1b"]
