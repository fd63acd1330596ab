"""The sums of an MVE tile as assembly: VMLADAVA with its loads, and nothing else.

LLVM's own loops cost it a third of that again: accumulators to clear, pointers to set up. The
first step needs no cleared accumulators (VMLADAV); few steps follow each other without a loop.
Loads and products alternate, so that their beats overlap.
Source: Armv8-M Architecture Reference Manual, VLDRB, VMLADAV, LE.
"""

from __future__ import annotations

from dataclasses import dataclass

STEP = 16
STRAIGHT = 12  # steps without a loop
HELD = 4  # vectors of activations that may wait in registers for all columns
PER_TURN = 3
MIDDLE = 112  # VLDRB reaches 127 bytes to either side


@dataclass(frozen=True)
class Loop:
    """`steps` of 16 K for `mr` rows by `nr` columns; sums of a row lie `apart` words from those
    of the next."""

    mr: int
    nr: int
    steps: int
    apart: int

    @property
    def symbol(self) -> str:
        return f"vmladava_{self.mr}x{self.nr}x{self.steps}_{self.apart}"

    @property
    def straight(self) -> bool:
        return self.steps <= STRAIGHT

    @property
    def held(self) -> bool:
        """Whether activations are loaded outside: LLVM then does so once for all columns."""
        return self.steps * self.mr <= HELD

    def text(self) -> str:
        """LLVM IR: void symbol(sums, weights, row of activations...), all pointers."""
        return self._held_text() if self.held else self._loading_text()

    def _held_text(self) -> str:
        """Weights are constant, so that the assembly has no effect but its results."""
        count = self.mr * self.nr
        kinds = ", ".join(["i32"] * count + ["ptr", "<4 x i32>", "<4 x i32>"])
        lines, given = [self._head()], ["ptr %w"]
        for s in range(self.steps):
            for i in range(self.mr):
                lines += [f"  %p{s}_{i} = getelementptr i8, ptr %x{i}, i32 {s * STEP}",
                          f"  %v{s}_{i} = load <4 x i32>, ptr %p{s}_{i}, align 1"]
                given.append(f"<4 x i32> %v{s}_{i}")
        constraints = ",".join(["=&^Te"] * count + ["=r", "=&w", "=&w", str(count)]
                               + ["w"] * (self.steps * self.mr))
        code = [line for s in range(self.steps) for j in range(self.nr)
                for line in self._held_column(s, j)]
        return self._finished(lines, kinds, f'asm "{_joined(code)}", "{constraints}"', given)

    def _held_column(self, s: int, j: int) -> list[str]:
        count = self.mr * self.nr
        w, first = f"${count + 1 + j % 2}", count + 4 + s * self.mr
        kind = "vmlava.s8" if s else "vmlav.s8"
        return [f"vldrb.u8 {w}, [${count}], #{STEP}",
                *(f"{kind} ${i * self.nr + j}, ${first + i}, {w}" for i in range(self.mr))]

    def _head(self) -> str:
        rows = ", ".join(f"ptr %x{i}" for i in range(self.mr))
        return (f"define internal void @{self.symbol}(ptr %sums, ptr %w, {rows}) alwaysinline"
                " nounwind {")

    def _finished(self, lines: list[str], kinds: str, call: str, given: list[str]) -> str:
        """The call of the assembly, and its results stored."""
        lines.append(f"  %r = call {{{kinds}}} {call}({', '.join(given)})")
        for i in range(self.mr * self.nr):
            at = i // self.nr * self.apart + i % self.nr
            lines += [f"  %r{i} = extractvalue {{{kinds}}} %r, {i}",
                      f"  %a{i} = getelementptr i32, ptr %sums, i32 {at}",
                      f"  store i32 %r{i}, ptr %a{i}, align 4"]
        return "\n".join([*lines, "  ret void", "}", ""])

    def _loading_text(self) -> str:
        count, vectors = self.mr * self.nr, self.mr + 2
        pointers = 1 if self.straight else 1 + self.mr
        kinds = ", ".join(["i32"] * count + ["ptr"] * pointers + ["<4 x i32>"] * vectors)
        lines = [self._head()]
        given = [f"ptr %x{i}" for i in range(self.mr)]
        if self.straight:
            lines += [f"  %m{i} = getelementptr i8, ptr %x{i}, i32 {MIDDLE}"
                      for i in range(self.mr)]
            given = [f"ptr %m{i}" for i in range(self.mr)]
        call = f'asm sideeffect "{_joined(self._code())}", "{self._constraints()}"'
        return self._finished(lines, kinds, call, ["ptr %w", *given])

    def _constraints(self) -> str:
        count, vectors = self.mr * self.nr, self.mr + 2
        outputs = ["=&^Te"] * count + ["=r"] * (1 if self.straight else 1 + self.mr)
        inputs = [str(count)]
        inputs += ["r" if self.straight else str(count + 1 + i) for i in range(self.mr)]
        last = ["~{memory}"] if self.straight else ["~{lr}", "~{memory}"]
        return ",".join([*outputs, *["=&w"] * vectors, *inputs, *last])

    def _pointer(self, i: int) -> str:
        """Operand that points to row i."""
        count = self.mr * self.nr
        past = count + 1 + self.mr + 2 + 1 if self.straight else count + 1
        return f"${past + i}"

    def _code(self) -> list[str]:
        if self.straight:
            return [line for s in range(self.steps) for line in self._step(s)]
        turns, rest = divmod(self.steps - 1, PER_TURN)
        lines = [line for s in range(1 + rest) for line in self._step(s)]
        lines += [f"movw lr, #{turns}", "dls lr, lr", "1:"]
        lines += [line for s in range(PER_TURN) for line in self._step(1 + s)]
        return [*lines, "le lr, 1b"]

    def _step(self, s: int) -> list[str]:
        """Step s: the weights by turns in two registers, so that a load overlaps products."""
        count = self.mr * self.nr
        first = count + (1 if self.straight else 1 + self.mr)
        rows = [f"${first + i}" for i in range(self.mr)]
        lines: list[str] = []
        for j in range(self.nr):
            w = f"${first + self.mr + j % 2}"
            lines.append(f"vldrb.u8 {w}, [${count}], #{STEP}")
            for i, row in enumerate(rows):
                if j == 0:
                    lines.append(self._load(row, i, s))
                kind = "vmlava.s8" if s else "vmlav.s8"
                lines.append(f"{kind} ${i * self.nr + j}, {row}, {w}")
        return lines

    def _load(self, row: str, i: int, s: int) -> str:
        if self.straight:
            return f"vldrb.u8 {row}, [{self._pointer(i)}, #{s * STEP - MIDDLE}]"
        return f"vldrb.u8 {row}, [{self._pointer(i)}], #{STEP}"


def _joined(code: list[str]) -> str:
    return "\\0A\\09".join(code)
