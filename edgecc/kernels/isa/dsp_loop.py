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

from edgecc.kernels.isa.dsp_text import add

FARTHEST_PAIR = 1020  # bytes that LDRD reaches
FARTHEST = 4095  # bytes that LDR reaches
MANY_GROUPS = 24  # in a line, so that turns of four are worth 160 bytes more than turns of two
MOST_WRITTEN = 6  # groups of a line whose taps are apart that are worth no loop
TEMPORARIES = ("odd0", "odd1", "even0", "even1", "a0", "a1")


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
        """LLVM IR: void symbol(accumulators, activations, weights), all pointers."""
        count = self.mr * self.nr
        kinds = ", ".join(["i32"] * count + ["ptr", "ptr"] + ["i32"] * len(TEMPORARIES)
                          + ["float"] * len(self._ends))
        lines = [f"define internal void @{self.symbol}(ptr %acc, ptr %x, ptr %w) alwaysinline"
                 " nounwind {"]
        for i in range(count):
            lines += [f"  %a{i} = getelementptr i32, ptr %acc, i32 {i}",
                      f"  %v{i} = load i32, ptr %a{i}, align 4"]
        lines += [f"  %end = getelementptr i8, ptr %w, i32 {self.lines * self._line_weights}",
                  "  %bits = ptrtoint ptr %end to i32", "  %kept = bitcast i32 %bits to float"]
        given = ", ".join([f"i32 %v{i}" for i in range(count)] + ["ptr %x, ptr %w, float %kept"])
        lines.append(f'  %r = call {{{kinds}}} asm sideeffect "{self._code()}", '
                     f'"{self._constraints()}"({given})')
        for i in range(count):
            lines += [f"  %r{i} = extractvalue {{{kinds}}} %r, {i}",
                      f"  store i32 %r{i}, ptr %a{i}, align 4"]
        return "\n".join([*lines, "  ret void", "}", ""])

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

    def _constraints(self) -> str:
        count = self.mr * self.nr + 2
        outputs = ["=r"] * count + ["=&r"] * len(TEMPORARIES) + ["=&t"] * len(self._ends)
        return ",".join([*outputs, *(str(i) for i in range(count)), "t", "~{cc}", "~{memory}"])

    @property
    def _ends(self) -> list[str]:
        """FPU registers for where the weights of inner loops end: those of a tap that a loop goes
        through (`turns`), and of a line."""
        return ["turns", *(["line"] if self.taps > 1 and not self.written else [])]

    def _register(self, name: str) -> str:
        """Operand of x, w, a temporary, one of the ends, or where all weights end (`end`)."""
        first = self.mr * self.nr
        names = ["x", "w", *TEMPORARIES, *self._ends]
        place = 2 * first + len(names) + 2 if name == "end" else first + names.index(name)
        return f"${place}"

    def _code(self) -> str:
        body, moved = self._taps() if self.written else self._tap()
        if self.taps > 1 and not self.written:
            body = [*self._until_after("line", self._line_weights), "2:", *body,
                    *self._on(self.tap_bytes - moved), *self._again("line", "2b")]
            moved = self.taps * self.tap_bytes
        if self.lines > 1:
            body = ["3:", *body, *self._on(self.line_bytes - moved), *self._again("end", "3b")]
        return "\\0A\\09".join(body)

    def _taps(self) -> tuple[list[str], int]:
        """All taps of a line, and how far the row pointer has moved."""
        places = [tap * self.tap_bytes + g * self.group_bytes
                  for tap in range(self.taps) for g in range(self.groups)]
        return [line for place in places for line in self._group(place)], 0

    def _tap(self) -> tuple[list[str], int]:
        """The groups of one tap, and how far the row pointer has moved."""
        body: list[str] = []
        if self._looped:
            body += [*self._until_after("turns", self._looped * self.nr * 4), "1:"]
            for g in range(self._per_turn):
                body += self._group(g * self.group_bytes)
            body += [*self._on(self._per_turn * self.group_bytes), *self._again("turns", "1b")]
        for g in range(self.groups - self._looped):
            body += self._group(g * self.group_bytes)
        return body, self._looped * self.group_bytes

    def _on(self, count: int) -> list[str]:
        x, free = self._register("x"), self._register("odd0")
        return add(x, x, count, free)

    def _until_after(self, end: str, weights: int) -> list[str]:
        free = self._register("odd0")
        return [*add(free, self._register("w"), weights), f"vmov {self._register(end)}, {free}"]

    def _again(self, end: str, label: str) -> list[str]:
        free = self._register("odd0")
        return [f"vmov {free}, {self._register(end)}", f"cmp {self._register('w')}, {free}",
                f"bne.w {label}"]

    def _group(self, place: int) -> list[str]:
        """One group, `place` bytes on: columns two at a time."""
        return [line for j in range(0, self.nr, 2) for line in self._two_columns(place, j)]

    def _two_columns(self, place: int, j: int) -> list[str]:
        odd0, odd1, even0, even1, a0, a1 = map(self._register, TEMPORARIES)
        lines = [f"ldrd {odd0}, {odd1}, [{self._register('w')}], #8",
                 f"sxtb16 {even0}, {odd0}", f"sxtb16 {even1}, {odd1}",
                 f"sxtb16 {odd0}, {odd0}, ror #8", f"sxtb16 {odd1}, {odd1}, ror #8"]
        for i in range(self.mr):
            if j == 0 or self.mr > 1:
                lines += self._activations(i * self.row_bytes + place, a0, a1)
            p, q = f"${i * self.nr + j}", f"${i * self.nr + j + 1}"
            lines += [f"smlad {p}, {a0}, {even0}, {p}", f"smlad {q}, {a0}, {even1}, {q}",
                      f"smlad {p}, {a1}, {odd0}, {p}", f"smlad {q}, {a1}, {odd1}, {q}"]
        return lines

    def _activations(self, at: int, a0: str, a1: str) -> list[str]:
        x = self._register("x")
        if self.narrow:
            return [f"ldr.w {a0}, [{x}, #{at}]", f"sxtb16 {a1}, {a0}, ror #8",
                    f"sxtb16 {a0}, {a0}"]
        if self.even and at <= FARTHEST_PAIR:
            return [f"ldrd {a0}, {a1}, [{x}, #{at}]"]
        return [f"ldr.w {a0}, [{x}, #{at}]", f"ldr.w {a1}, [{x}, #{at + 4}]"]
