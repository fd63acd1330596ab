"""Inner loops of AArch64 tiles as assembler text inside the kernel that LLVM compiles.

LLVM neither loads four registers with one LD1 nor keeps a full register file without spilling.
So what runs innermost, a run of activations times its weights, is one assembler statement: the
accumulators are operands in the first registers, everything else has registers from the last
one down. It is made for constant shapes and inlined; loops around it, addresses and the end of
the tile stay TIR.
Source: Arm Architecture Reference Manual, A64 instructions LD1 (multiple structures), LDP, LDR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

REGISTERS = 32
BATCH = 4  # registers that one LD1 fills
SIZES = {16: "q", 8: "d", 4: "s"}  # register names by the bytes that a load brings
ONE_LOAD = range(0, 16 * 4096, 16)  # offsets that LDR of 16 bytes can name
PAIR_LOAD = range(0, 16 * 64, 16)  # those of LDP


@dataclass(frozen=True)
class Shape:
    """A run of a tile in bytes (see `int8_tile.Run`); `accumulators` are vectors of 16 bytes."""

    accumulators: int
    mr: int
    width: int
    values: int
    pitch: int
    taps: int
    step: int
    spare: bool = False

    @property
    def positions(self) -> int:
        return (self.mr - 1) * self.step + self.taps

    @property
    def name(self) -> str:
        numbers = (self.mr, self.width, self.values, self.pitch, self.taps, self.step,
                   int(self.spare))
        return "_".join(str(n) for n in numbers)


@dataclass
class Code:
    """Lines of one statement. Fixed registers, from the last one down: weights, activations,
    scratch. Operands: accumulators, pointers to activations, pointer to weights, a counter."""

    shape: Shape
    scratch: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def room(self) -> int:
        return REGISTERS - self.shape.accumulators - self.scratch

    @property
    def paired(self) -> bool:
        """Whether 32 bytes of every row are loaded at once."""
        shape = self.shape
        return (shape.taps == 1 and shape.values >= 32
                and 2 * shape.positions + BATCH <= self.room)

    @property
    def activations(self) -> int:
        return self.shape.positions * (2 if self.paired else 1)

    @property
    def weights(self) -> int:
        """Registers for weights: two batches where there is room for them, at least a few."""
        left = self.room - self.activations
        return 2 * BATCH if left >= 2 * BATCH else min(left, BATCH)

    @property
    def one_base(self) -> bool:
        """Whether loads can name every position relative to the first; otherwise each position
        has a pointer of its own."""
        last = (self.shape.positions - 1) * self.shape.pitch
        return last in (PAIR_LOAD if self.paired else ONE_LOAD) and self.shape.pitch % 16 == 0

    @property
    def pointers(self) -> int:
        return 1 if self.one_base else self.shape.positions

    @property
    def lowest(self) -> int:
        """The first of the fixed registers."""
        return REGISTERS - self.weights - self.activations - self.scratch

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def positions(self, length: int) -> list[list[int]]:
        """Bring `length` bytes of every position: the registers that they are in."""
        first = REGISTERS - self.weights - self.activations
        per = 2 if length == 32 else 1
        held = [list(range(first + p * per, first + p * per + per))
                for p in range(self.shape.positions)]
        if self.contiguous and length == 16:
            self._neighbours(first)
            return held
        for p, registers in enumerate(held):
            names = ", ".join(f"{SIZES[length // per]}{r}" for r in registers)
            pointer = f"${self.shape.accumulators + (0 if self.one_base else p)}"
            where = (f"[{pointer}, #{p * self.shape.pitch}]" if self.one_base
                     else f"[{pointer}], #{length}")
            self.emit(f"{'ldp' if per == 2 else 'ldr'} {names}, {where}")
        if self.one_base:
            self.emit(f"add {pointer}, {pointer}, #{length}")
        return held

    @property
    def contiguous(self) -> bool:
        """Whether positions follow each other without a gap: LD1 takes four of them."""
        return self.one_base and self.shape.pitch == 16 == self.shape.values

    def _neighbours(self, first: int) -> None:
        pointer = f"${self.shape.accumulators}"
        for start in range(0, self.shape.positions, BATCH):
            some = min(BATCH, self.shape.positions - start)
            names = ", ".join(f"v{first + start + i}.16b" for i in range(some))
            self.emit(f"ld1 {{{names}}}, [{pointer}], #{16 * some}")

    def columns(self, count: int, arrangement: str = "16b") -> Iterator[int]:
        """Registers of the next `count` vectors of weights, fetched a batch ahead if possible."""
        pointer = f"${self.shape.accumulators + self.pointers}"
        batch = min(self.weights, BATCH)
        sets, first = self.weights // batch, REGISTERS - self.weights
        starts = range(0, count, batch)
        each = 16 if arrangement == "16b" else 8

        def fetch(number: int) -> None:
            at, some = first + number % sets * batch, min(batch, count - starts[number])
            names = ", ".join(f"v{at + i}.{arrangement}" for i in range(some))
            self.emit(f"ld1 {{{names}}}, [{pointer}], #{some * each}")

        for number in range(min(sets - 1, len(starts))):
            fetch(number)
        for number, start in enumerate(starts):
            if number + sets - 1 < len(starts):
                fetch(number + sets - 1)
            for i in range(min(batch, count - start)):
                yield first + number % sets * batch + i

    def repeat(self, count: int, body: Callable[[], None]) -> None:
        if count == 1:
            body()
        elif count:
            counter = f"${self.shape.accumulators + self.pointers + 1}"
            self.lines += [f"mov {counter}, #{count}", "1:"]
            body()
            self.lines += [f"subs {counter}, {counter}, #1", "b.ne 1b"]


def run_of(code: Code, lengths: list[int], piece: Callable[[int, int], None]) -> None:
    """piece(length, used) along the values of K: a loop of the longest, then what is left. Of
    the `length` bytes to load, `used` are values."""
    left = code.shape.values
    longest = 32 if code.paired else lengths[0]
    whole = left // longest
    twice = not code.paired and code.shape.taps == 1 and whole % 2 == 0

    def body() -> None:
        for _ in range(2 if twice else 1):
            piece(longest, longest)

    code.repeat(whole // 2 if twice else whole, body)
    left -= whole * longest
    for length in lengths:
        while left >= length:
            piece(length, length)
            left -= length
        if code.shape.spare and length == lengths[0] and left > lengths[1]:
            piece(length, left)
            left = 0


def set_rows(k: Any, acc: Any, count: int, width: int, pairs: bool, values: Any) -> None:
    """All `count` accumulators: `width` int32 at pointer `values` for every row; where an
    accumulator is of a pair of rows, two of them twice."""
    from edgecc.kernels import tir

    name = f"edgecc_{'pairs' if pairs else 'rows'}_{count}_{width}"
    k.llvm_function(name, lambda: _rows_function(
        name, count, _pair_lines(count, width) if pairs else _row_lines(count, width)))
    tir.T.evaluate(tir.T.call_extern("int32", name, tir.T.address_of(acc[0]), values))


def _row_lines(count: int, width: int) -> list[str]:
    vectors, lines = width // 4, []
    for i in range(count):
        j = i % vectors
        if j % 2 == 0:
            pair = j + 1 < vectors
            names = f"${{{i}:q}}, ${{{i + 1}:q}}" if pair else f"${{{i}:q}}"
            lines.append(f"{'ldp' if pair else 'ldr'} {names}, [${count + 1}, #{16 * j}]")
    return lines


def _pair_lines(count: int, width: int) -> list[str]:
    lines = []
    for i in range(count):
        if i % (width // 2) == 0:
            lines.append(f"mov ${count}, ${count + 1}")
        lines.append(f"ld1r {{$0.2d}}, [${count}], #8".replace("$0", f"${i}", 1))
    return lines


def _rows_function(name: str, count: int, lines: list[str]) -> str:
    kind = "{ " + ", ".join(["<4 x i32>"] * count + ["ptr"]) + " }"
    constraints = ",".join([*named(count), "=&r", "r", "~{memory}"])
    body = [statement("%r", kind, lines, constraints, ["ptr %values"])]
    for i in range(count):
        body += [f"%p{i} = getelementptr i8, ptr %acc, i64 {16 * i}",
                 f"%o{i} = extractvalue {kind} %r, {i}",
                 f"store <4 x i32> %o{i}, ptr %p{i}, align 4"]
    return function(name, "ptr %acc, ptr %values", body)


def statement(result: str, kind: str, lines: list[str], constraints: str,
              given: list[str]) -> str:
    """LLVM's line for assembler text with operands."""
    text = "\\0A".join(lines)
    return f'{result} = call {kind} asm sideeffect "{text}", "{constraints}"({", ".join(given)})'


def named(count: int) -> list[str]:
    """Constraints of accumulators, in the first registers: left to choose, LLVM moves them about
    between statements."""
    return [f"=&{{v{i}}}" for i in range(count)]


def function(name: str, parameters: str, body: list[str]) -> str:
    """LLVM's text of a function that is inlined where it is called."""
    lines = "\n".join(f"  {line}" for line in [*body, "ret i32 0"])
    return f"define internal i32 @{name}({parameters}) alwaysinline nounwind {{\n{lines}\n}}\n"


def llvm_function(code: Code, name: str) -> str:
    """LLVM's text of `int name(accumulators, activations, weights)`, to be inlined."""
    n, moving = code.shape.accumulators, code.pointers + 1
    outputs = [*named(n), *["=&r"] * (moving + 1)]
    tied = [str(i) for i in range(n + moving)]
    clobbers = [f"~{{v{i}}}" for i in range(code.lowest, REGISTERS)] + ["~{cc}", "~{memory}"]
    kind = "{ " + ", ".join(["<4 x i32>"] * n + ["ptr"] * moving + ["i64"]) + " }"
    before, after, given = [], [], []
    for i in range(n):
        before += [f"%p{i} = getelementptr i8, ptr %acc, i64 {16 * i}",
                   f"%v{i} = load <4 x i32>, ptr %p{i}, align 4"]
        after += [f"%o{i} = extractvalue {kind} %r, {i}",
                  f"store <4 x i32> %o{i}, ptr %p{i}, align 4"]
        given.append(f"<4 x i32> %v{i}")
    for i in range(code.pointers):
        before.append(f"%a{i} = getelementptr i8, ptr %from, i64 {i * code.shape.pitch}")
        given.append(f"ptr %a{i}")
    given.append("ptr %weights")
    call = statement("%r", kind, code.lines, ",".join([*outputs, *tied, *clobbers]), given)
    return function(name, "ptr %acc, ptr %from, ptr %weights", [*before, call, *after])


def add_run(k: Any, acc: Any, make: Callable[[Shape], Code], shape: Shape, prefix: str,
            activations: Any, weights: Any) -> None:
    """Emit the call of a statement in kernel `k`; its text is added to the kernel once."""
    from edgecc.kernels import tir

    name = f"edgecc_{prefix}_{shape.name}"
    k.llvm_function(name, lambda: llvm_function(make(shape), name))
    tir.T.evaluate(tir.T.call_extern("int32", name, tir.T.address_of(acc[0]), activations,
                                     weights))
