"""float32 matrix products with 4-bit weights, decoded in registers.

Code i of a word is masked where it stands and converted: 16^i times the code. So rows are made
ready first, value i of eight divided by 16^i (exactly), and their sums over every group taken: a
group adds scale * (sum of products) - zero * scale * (sum of the row).
"""

from __future__ import annotations

from typing import Any, ClassVar

from edgecc.kernels.elementwise import pieces
from edgecc.kernels.float_tile import Epilogue, FloatIsa
from edgecc.kernels.grouped_plan import HEADER_BYTES, PER_WORD, TILES, Plan
from edgecc.kernels.grouped_spec import SYMMETRIC_ZERO, GroupedProduct
from edgecc.kernels.registry import KernelRecord

FACTORS = tuple(16.0**-i for i in range(PER_WORD - 1)) + (1.0,)  # the last code is shifted down


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    s = plan.spec
    result = ("float32", s.m * s.n)
    inputs = [("float32", s.m * s.k), *[result] * s.residual]
    with tir.kernel(symbol, inputs=inputs, outputs=[result], weights=True, may_alias=s.residual,
                    scratch=("float32", plan.scratch_bytes() // 4)) as k:
        Code(k, plan).emit()
    return k.func


class Code:
    """Emits one product."""

    sum_dtype: ClassVar[str] = "float32"

    def __init__(self, k: Any, plan: Plan) -> None:
        self.k, self.plan, self.spec, self.shape = k, plan, plan.spec, plan.shape
        self.words = k.weights("int32", HEADER_BYTES)
        self.sums_at = plan.rows * plan.pitch
        self.epilogue = Epilogue(k, plan.spec.clamp, plan.spec.residual)

    def emit(self) -> None:
        from edgecc.kernels import tir

        k, rows, m = self.k, self.plan.rows, self.spec.m
        if self.plan.by_blocks:
            with tir.when(k.begin < k.end):
                self._tiles(tir.T.int32(0), m, k.begin, k.end)
            return
        whole, rest = divmod(m, rows)
        with tir.loop(k.begin, tir.T.min(k.end, whole)) as line:
            self._tiles(tir.let(line * rows), rows, 0, self.shape.blocks)
        if rest:
            with tir.when(k.end > tir.T.max(k.begin, whole)):
                self._tiles(tir.T.int32(whole * rows), rest, 0, self.shape.blocks)

    def _tiles(self, first: Any, rows: int, begin: Any, end: Any) -> None:
        """Rows from `first` on, by blocks of columns [begin, end)."""
        from edgecc.kernels import tir

        self._prepare(first, rows)
        block, valid = self.shape.block, self.spec.n % self.shape.block
        whole = self.spec.n // block
        if whole:
            with tir.loop(begin, tir.T.min(end, whole)) as b:
                self._tile(first, rows, b, block)
        if valid:
            with tir.when(end > whole):
                self._tile(first, rows, tir.T.int32(whole), valid)

    def _prepare(self, first: Any, rows: int) -> None:
        """Rows of the input into scratch, ready to be multiplied, and their sums by groups."""
        from edgecc.kernels import tir

        s, plan = self.spec, self.plan
        with tir.loop(0, rows) as r:
            source, to = tir.let((first + r) * s.k), tir.let(r * plan.pitch)
            sums = tir.let(self.row_sums(r))
            with tir.loop(0, plan.whole_groups) as g:
                self.prepare_group(tir.let(source + g * s.group),
                                    tir.let(to + g * (plan.words * PER_WORD)), s.group, sums + g)
            if s.k % s.group:
                done = plan.whole_groups
                self.prepare_group(source + done * s.group, to + done * plan.words * PER_WORD,
                                    s.k % s.group, sums + done)

    def row_sums(self, r: Any) -> Any:
        """The element where row r's sums by groups begin."""
        return self.sums_at + r * self.spec.groups

    def prepare_group(self, source: Any, to: Any, count: int, at: Any) -> None:
        from edgecc.kernels import tir

        lanes = 4 if self.shape.isa.lanes > 1 else 1
        total, factors = tir.local(lanes, "float32"), tir.local(PER_WORD, "float32")
        tir.store(total, 0, tir.splat(tir.T.float32(0), lanes), lanes)
        for i, factor in enumerate(FACTORS):
            tir.store(factors, i, tir.T.float32(factor))

        def move(word: Any, i: int, n: int) -> None:
            values = tir.let(tir.load(self.k.inputs[0], source + word * PER_WORD + i, n))
            tir.store(self.k.scratch, to + word * PER_WORD + i,
                      values * tir.load(factors, i, n), n)
            tir.store(total, 0, tir.load(total, 0, n) + values, n)

        whole, rest = divmod(count, PER_WORD)
        with tir.loop(0, whole) as word:
            for i in range(0, PER_WORD, lanes):
                move(word, i, lanes)
        for i in range(rest):
            move(whole, i, 1)
        for i in range(rest, PER_WORD if rest else 0):
            tir.store(self.k.scratch, to + whole * PER_WORD + i, tir.T.float32(0))
        tir.store(self.k.scratch, at, sum((total[i] for i in range(1, lanes)), total[0]))

    def _tile(self, first: Any, rows: int, block: Any, valid: int) -> None:
        from edgecc.kernels import tir

        s, plan, lanes = self.spec, self.plan, self.shape.lanes
        columns = -(-valid // lanes)
        acc = tir.local(rows * columns * lanes, "float32")
        base = tir.let(block * plan.block_words)
        bias = self.k.weights("float32", HEADER_BYTES)
        for c in range(columns):
            value = tir.let(tir.load(bias, base + c * lanes, lanes))
            for r in range(rows):
                tir.store(acc, (r * columns + c) * lanes, value, lanes)
        groups = tir.let(base + self.shape.block)
        with tir.loop(0, plan.whole_groups) as g:
            self.group(acc, rows, columns, tir.let(groups + g * plan.group_words), g, plan.words)
        if plan.last_words:
            at = groups + plan.whole_groups * plan.group_words
            self.group(acc, rows, columns, tir.let(at), plan.whole_groups, plan.last_words)
        out = tir.let(first * s.n + block * self.shape.block)
        for r in range(rows):
            for at, n in pieces(valid, lanes):
                value = tir.load(acc, r * columns * lanes + at, n)
                self.epilogue(value, out + r * s.n + at, n)

    def group(self, acc: Any, rows: int, columns: int, at: Any, number: Any, words: int) -> None:
        """Group `number`, whose constants begin at word `at`, for a tile."""
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        sums = self.sums(rows, columns, at, number, words)
        for c in range(columns):
            scale = tir.let(self.scale(at, c * lanes))
            zero = tir.T.cast(self.zero(at, c * lanes), tir.vector("float32", lanes))
            offset = tir.let(zero * scale)
            for r in range(rows):
                index = (r * columns + c) * lanes
                row = tir.load(self.k.scratch, self.sums_at + r * self.spec.groups + number)
                value = tir.load(acc, index, lanes) - offset * tir.splat(row, lanes)
                tir.store(acc, index, value + tir.load(sums, index, lanes) * scale, lanes)

    def sums(self, rows: int, columns: int, at: Any, number: Any, words: int) -> Any:
        """What the codes of a group come to with every row, before scale and zero point."""
        from edgecc.kernels import tir

        plan, lanes = self.plan, self.shape.lanes
        sums = tir.local(rows * columns * lanes, self.sum_dtype)
        for i in range(rows * columns):
            tir.store(sums, i * lanes, tir.splat(tir.T.Cast(self.sum_dtype, 0), lanes), lanes)
        codes = tir.let(at + plan.head_words)
        source = tir.let(number * (plan.words * PER_WORD))
        with tir.loop(0, words) as w:
            self.step(sums, rows, columns, tir.let(codes + w * self.shape.block),
                      tir.let(source + w * PER_WORD))
        return sums

    def scale(self, at: Any, column: int) -> Any:
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        if not self.spec.short_scales:
            return tir.load(self.k.weights("float32", HEADER_BYTES), at + column, lanes)
        halves = tir.load(self.k.weights("uint16", HEADER_BYTES), at * 2 + column, lanes)
        wide = tir.T.cast(halves, tir.vector("uint32", lanes))
        bits = tir.T.shift_left(wide, tir.splat(tir.T.uint32(16), lanes))
        return tir.T.reinterpret(tir.vector("float32", lanes), bits)

    def zero(self, at: Any, column: int) -> Any:
        """The zero points of a vector of columns, as int32."""
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        if not self.spec.affine:
            return tir.splat(tir.T.int32(SYMMETRIC_ZERO), lanes)
        start = (at + self.plan.scale_words) * 4 + column
        values = tir.load(self.k.weights("uint8", HEADER_BYTES), start, lanes)
        return tir.T.cast(values, tir.vector("int32", lanes))

    def step(self, sums: Any, rows: int, columns: int, at: Any, source: Any) -> None:
        """Eight values of k: one word of every column."""
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        words = [tir.let(tir.load(self.words, at + c * lanes, lanes)) for c in range(columns)]
        values = [self._values(source + r * self.plan.pitch) for r in range(rows)]
        for i in range(PER_WORD):
            for c, word in enumerate(words):
                code = tir.let(_code(word, i, lanes))
                for r in range(rows):
                    index = (r * columns + c) * lanes
                    product = code * tir.splat(values[r](i), lanes)
                    tir.store(sums, index, tir.load(sums, index, lanes) + product, lanes)

    def _values(self, at: Any) -> Any:
        """The prepared values of a row by number."""
        from edgecc.kernels import tir

        if not self.shape.isa.by_lane:
            return lambda i: tir.load(self.k.scratch, at + i)
        halves = [tir.let(tir.load(self.k.scratch, at + i, 4)) for i in (0, 4)]
        return lambda i: tir.T.Shuffle([halves[i // 4]], [i % 4])


def _code(word: Any, i: int, lanes: int) -> Any:
    """Code i of every word, times 16^i but for the last one, as float32."""
    from edgecc.kernels import tir

    last = i == PER_WORD - 1
    if last:
        word = tir.T.shift_right(word, tir.splat(tir.T.int32(4 * i), lanes))
    mask = tir.splat(tir.T.int32(15 if last else 15 << 4 * i), lanes)
    return tir.T.cast(tir.T.bitwise_and(word, mask), tir.vector("float32", lanes))


def accepts(spec: GroupedProduct) -> str | None:
    return "activations are rounded to int8" if spec.rounded else None


def record(isa: FloatIsa) -> KernelRecord:
    return KernelRecord(
        f"int4_product_{isa.accumulators // isa.columns}x{isa.columns * isa.lanes}__{isa.name}",
        "grouped_product", "float32", isa.requires, accepts,
        cost=lambda spec: Plan(spec, isa).cost(),
        extent=lambda spec: Plan(spec, isa).extent,
        pack=lambda spec, constants: Plan(spec, isa).pack(constants),
        build=lambda spec, symbol, target: build(Plan(spec, isa), symbol),
        scratch_bytes=lambda spec: Plan(spec, isa).scratch_bytes(),
        fast=isa.lanes > 1 and isa.name != "generic",
        wants=isa.wants,
    )


KERNELS = tuple(record(isa) for isa in TILES)
