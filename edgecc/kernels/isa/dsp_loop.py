"""The inner loops of a DSP tile as assembly: every register of the core is used, none is spilled.

LLVM has the intrinsics but neither keeps a 3x2 tile in registers nor pairs its loads. The loops
are an LLVM function around inline assembly, always inlined, so accumulators stay in registers.

Per group of 4 K: two weight words by one LDRD, four SXTB16, then for each row one LDRD and two
SMLADs a column. Where loops end is known by the weights' address, which waits in FPU registers:
up to three of them, over the rows of the kernel, its taps where those are apart, and groups.
Source: Armv7-M Architecture Reference Manual, LDRD (immediate), SMLAD, SXTB16.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgecc.kernels.isa.dsp_text import Operand, add, function

FARTHEST_PAIR = 1020  # bytes that LDRD reaches
FARTHEST = 4095  # bytes that LDR reaches
MANY_GROUPS = 24  # in a line, so that turns of four are worth 160 bytes more than turns of two
MOST_WRITTEN = 6  # groups of a line whose taps are apart that are worth no loop
TEMPORARIES = ("odd0", "odd1", "even0", "even1", "x0", "x1")


@dataclass(frozen=True)
class Loop:
    """Sums of `mr` rows of activations, `row_bytes` apart, by `nr` (even) columns of weights.

    The window has `lines`, `line_bytes` apart, of `taps`, `tap_bytes` apart, of `groups` of 4 K,
    `group_bytes` apart. `even`: rows and taps start at words. `narrow`: activations are int8 as
    they lie, in one row.
    """

    mr: int
    nr: int
    lines: int
    line_bytes: int
    groups: int
    group_bytes: int
    row_bytes: int
    even: bool
    narrow: bool = False
    taps: int = 1
    tap_bytes: int = 0

    @property
    def symbol(self) -> str:
        sizes = [self.lines, self.line_bytes, self.groups, self.group_bytes, self.row_bytes]
        sizes += [self.taps, self.tap_bytes] if self.taps > 1 else []
        kind = "narrow" if self.narrow else "even" if self.even else "odd"
        return f"smlad_{kind}_{self.mr}x{self.nr}_{'_'.join(map(str, sizes))}"

    @property
    def reaches(self) -> bool:
        """Whether every load is near enough to the row pointer."""
        return self._farthest(2 * self._per_turn * self.group_bytes) <= FARTHEST

    def _farthest(self, offset: int) -> int:
        """Of the last row's activations from the first row's, `offset` into the window."""
        return (self.mr - 1) * self.row_bytes + offset

    @property
    def written(self) -> bool:
        """Whether the taps of a line are written out."""
        last = (self.taps - 1) * self.tap_bytes + self.groups * self.group_bytes
        return (self.taps > 1 and self.taps * self.groups <= MOST_WRITTEN
                and self._farthest(last) <= FARTHEST)

    def text(self) -> str:
        """LLVM IR: void symbol(accumulators one by one, activations, weights), all pointers."""
        sums = [Operand(f"a{i}", "kept") for i in range(self.mr * self.nr)]
        return function(self.symbol, [*sums, *self.operands], self.code)

    @property
    def operands(self) -> list[Operand]:
        """All but the sums `a0` on: `x` and `w` point to activations and weights."""
        pointers = [Operand(name, "moving", pointer=True) for name in ("x", "w")]
        return [*pointers, *(Operand(name, "temporary") for name in TEMPORARIES),
                *(Operand(name, "temporary", "t") for name in self._ends)]

    @property
    def _ends(self) -> list[str]:
        """FPU registers for where the weights end: those of a tap that a loop goes through
        (`turns`), those of a line, all of them."""
        taken = {"turns": self._looped > 0, "line": self.taps > 1 and not self.written,
                 "all": self.lines > 1}
        return [name for name, used in taken.items() if used]

    @property
    def _tap_weights(self) -> int:
        """Bytes of weights for a tap."""
        return self.groups * self.nr * 4

    @property
    def _line_weights(self) -> int:
        return self.taps * self._tap_weights

    @property
    def _looped(self) -> int:
        """Groups of a tap that a loop goes through; the others follow it."""
        turns = self.groups // self._per_turn
        return turns * self._per_turn if turns > 1 else 0

    @property
    def _per_turn(self) -> int:
        return 4 if self.groups >= MANY_GROUPS or self.taps > 1 else 2

    @property
    def code(self) -> list[str]:
        """The lines of assembly."""
        body, moved = self._taps() if self.written else self._tap()
        if self.taps > 1 and not self.written:
            body = [*_until("line", self._line_weights, "2"), *body,
                    *_on(self.tap_bytes - moved), *_again("line", "2")]
            moved = self.taps * self.tap_bytes
        if self.lines > 1:
            body = [*_until("all", self.lines * self._line_weights, "3"), *body,
                    *_on(self.line_bytes - moved), *_again("all", "3")]
        return body

    def _taps(self) -> tuple[list[str], int]:
        """All taps of a line, and how far the row pointer has moved."""
        places = [tap * self.tap_bytes + g * self.group_bytes
                  for tap in range(self.taps) for g in range(self.groups)]
        return [line for place in places for line in self._group(place)], 0

    def _tap(self) -> tuple[list[str], int]:
        """The groups of one tap, and how far the row pointer has moved."""
        body: list[str] = []
        if self._looped:
            body += _until("turns", self._looped * self.nr * 4, "1")
            for g in range(self._per_turn):
                body += self._group(g * self.group_bytes)
            body += [*_on(self._per_turn * self.group_bytes), *_again("turns", "1")]
        for g in range(self.groups - self._looped):
            body += self._group(g * self.group_bytes)
        return body, self._looped * self.group_bytes

    def _group(self, place: int) -> list[str]:
        """One group, `place` bytes on: columns two at a time."""
        return [line for j in range(0, self.nr, 2) for line in self._two_columns(place, j)]

    def _two_columns(self, place: int, j: int) -> list[str]:
        lines = ["ldrd {odd0}, {odd1}, [{w}], #8",
                 "sxtb16 {even0}, {odd0}", "sxtb16 {even1}, {odd1}",
                 "sxtb16 {odd0}, {odd0}, ror #8", "sxtb16 {odd1}, {odd1}, ror #8"]
        for i in range(self.mr):
            if j == 0 or self.mr > 1:
                lines += self._activations(i * self.row_bytes + place)
            p, q = f"{{a{i * self.nr + j}}}", f"{{a{i * self.nr + j + 1}}}"
            lines += [f"smlad {p}, {{x0}}, {{even0}}, {p}", f"smlad {q}, {{x0}}, {{even1}}, {q}",
                      f"smlad {p}, {{x1}}, {{odd0}}, {p}", f"smlad {q}, {{x1}}, {{odd1}}, {q}"]
        return lines

    def _activations(self, at: int) -> list[str]:
        if self.narrow:
            return [f"ldr.w {{x0}}, [{{x}}, #{at}]", "sxtb16 {x1}, {x0}, ror #8",
                    "sxtb16 {x0}, {x0}"]
        if self.even and at <= FARTHEST_PAIR:
            return [f"ldrd {{x0}}, {{x1}}, [{{x}}, #{at}]"]
        return [f"ldr.w {{x0}}, [{{x}}, #{at}]", f"ldr.w {{x1}}, [{{x}}, #{at + 4}]"]


def _on(count: int) -> list[str]:
    """The row pointer moves on."""
    return add("{x}", "{x}", count, "{odd0}")


def _until(end: str, weights: int, label: str) -> list[str]:
    """The begin of a loop over so many bytes of weights."""
    return [*add("{odd0}", "{w}", weights), f"vmov {{{end}}}, {{odd0}}", f"{label}:"]


def _again(end: str, label: str) -> list[str]:
    return [f"vmov {{odd0}}, {{{end}}}", "cmp {w}, {odd0}", f"bne.w {label}b"]
