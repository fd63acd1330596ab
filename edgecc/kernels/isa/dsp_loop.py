"""The inner loops of a DSP tile as assembly: every register of the core is used, none is spilled.

LLVM has the intrinsics but neither keeps a 3x2 tile in registers nor pairs its loads. The loops
are an LLVM function around inline assembly, always inlined, so accumulators stay in registers.

Per group of 4 K: two weight words by one LDRD, four SXTB16, then for each row one LDRD and two
SMLADs a column. Where loops end is known by the weights' address, which waits in FPU registers.
Source: Armv7-M Architecture Reference Manual, LDRD (immediate), SMLAD, SXTB16.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgecc.kernels.isa.dsp_text import add

FARTHEST_PAIR = 1020  # bytes that LDRD reaches
FARTHEST = 4095  # bytes that LDR reaches
MANY_GROUPS = 24  # in a line, so that turns of four are worth 160 bytes more than turns of two
TEMPORARIES = 6


@dataclass(frozen=True)
class Loop:
    """Sums of `mr` rows of activations, `row_bytes` apart, by `nr` (even) columns of weights.

    The window has `lines`, `line_bytes` apart, of `groups` of 4 K, `group_bytes` apart. `even`:
    rows start at words. `narrow`: activations are int8 as they lie, in one row.
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

    @property
    def symbol(self) -> str:
        sizes = (self.lines, self.line_bytes, self.groups, self.group_bytes, self.row_bytes)
        kind = "narrow" if self.narrow else "even" if self.even else "odd"
        return f"smlad_{kind}_{self.mr}x{self.nr}_{'_'.join(map(str, sizes))}"

    @property
    def reaches(self) -> bool:
        """Whether every load is near enough to the row pointer."""
        return (self.mr - 1) * self.row_bytes + 2 * self._per_turn * self.group_bytes <= FARTHEST

    def text(self) -> str:
        """LLVM IR: void symbol(accumulators, activations, weights), all pointers."""
        count = self.mr * self.nr
        kinds = ", ".join(["i32"] * count + ["ptr", "ptr"] + ["i32"] * TEMPORARIES + ["float"])
        lines = [f"define internal void @{self.symbol}(ptr %acc, ptr %x, ptr %w) alwaysinline"
                 " nounwind {"]
        for i in range(count):
            lines += [f"  %a{i} = getelementptr i32, ptr %acc, i32 {i}",
                      f"  %v{i} = load i32, ptr %a{i}, align 4"]
        size = self.lines * self.groups * self.nr * 4
        lines += [f"  %end = getelementptr i8, ptr %w, i32 {size}",
                  "  %bits = ptrtoint ptr %end to i32", "  %kept = bitcast i32 %bits to float"]
        given = ", ".join([f"i32 %v{i}" for i in range(count)] + ["ptr %x, ptr %w, float %kept"])
        lines.append(f'  %r = call {{{kinds}}} asm sideeffect "{self._code()}", '
                     f'"{self._constraints()}"({given})')
        for i in range(count):
            lines += [f"  %r{i} = extractvalue {{{kinds}}} %r, {i}",
                      f"  store i32 %r{i}, ptr %a{i}, align 4"]
        return "\n".join([*lines, "  ret void", "}", ""])

    @property
    def _looped(self) -> int:
        """Groups of a line that a loop goes through; the others follow it."""
        turns = self.groups // self._per_turn
        return turns * self._per_turn if turns > 1 else 0

    @property
    def _per_turn(self) -> int:
        return 4 if self.groups >= MANY_GROUPS else 2

    def _constraints(self) -> str:
        count = self.mr * self.nr + 2
        outputs = ["=r"] * count + ["=&r"] * TEMPORARIES + ["=&t"]
        return ",".join([*outputs, *(str(i) for i in range(count)), "t", "~{cc}", "~{memory}"])

    def _register(self, name: str) -> str:
        """Operand of x, w, a temporary, the end of a line (`line`) or of all weights (`end`)."""
        first = self.mr * self.nr
        names = ["x", "w", "odd0", "odd1", "even0", "even1", "a0", "a1", "line"]
        place = 2 * first + len(names) + 2 if name == "end" else first + names.index(name)
        return f"${place}"

    def _code(self) -> str:
        x, w, free = (self._register(name) for name in ("x", "w", "odd0"))
        body: list[str] = []
        if self._looped:
            body += [*add(free, w, self._looped * self.nr * 4),
                     f"vmov {self._register('line')}, {free}", "1:"]
            for g in range(self._per_turn):
                body += self._group(g)
            body += [*add(x, x, self._per_turn * self.group_bytes), *self._until("line", "1b")]
        for g in range(self.groups - self._looped):
            body += self._group(g)
        if self.lines > 1:
            past = self._looped * self.group_bytes
            body = ["2:", *body, *add(x, x, self.line_bytes - past, free),
                    *self._until("end", "2b")]
        return "\\0A\\09".join(body)

    def _until(self, end: str, label: str) -> list[str]:
        free = self._register("odd0")
        return [f"vmov {free}, {self._register(end)}", f"cmp {self._register('w')}, {free}",
                f"bne.w {label}"]

    def _group(self, g: int) -> list[str]:
        """One group: columns two at a time."""
        return [line for j in range(0, self.nr, 2) for line in self._two_columns(g, j)]

    def _two_columns(self, g: int, j: int) -> list[str]:
        odd0, odd1, even0, even1, a0, a1 = (
            self._register(name) for name in ("odd0", "odd1", "even0", "even1", "a0", "a1"))
        lines = [f"ldrd {odd0}, {odd1}, [{self._register('w')}], #8",
                 f"sxtb16 {even0}, {odd0}", f"sxtb16 {even1}, {odd1}",
                 f"sxtb16 {odd0}, {odd0}, ror #8", f"sxtb16 {odd1}, {odd1}, ror #8"]
        for i in range(self.mr):
            if j == 0 or self.mr > 1:
                lines += self._activations(g, i, a0, a1)
            p, q = f"${i * self.nr + j}", f"${i * self.nr + j + 1}"
            lines += [f"smlad {p}, {a0}, {even0}, {p}", f"smlad {q}, {a0}, {even1}, {q}",
                      f"smlad {p}, {a1}, {odd0}, {p}", f"smlad {q}, {a1}, {odd1}, {q}"]
        return lines

    def _activations(self, g: int, i: int, a0: str, a1: str) -> list[str]:
        x, at = self._register("x"), i * self.row_bytes + g * self.group_bytes
        if self.narrow:
            return [f"ldr.w {a0}, [{x}, #{at}]", f"sxtb16 {a1}, {a0}, ror #8",
                    f"sxtb16 {a0}, {a0}"]
        if self.even and at <= FARTHEST_PAIR:
            return [f"ldrd {a0}, {a1}, [{x}, #{at}]"]
        return [f"ldr.w {a0}, [{x}, #{at}]", f"ldr.w {a1}, [{x}, #{at + 4}]"]
