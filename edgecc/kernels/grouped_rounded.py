"""Matrix products with 4-bit weights whose rows are rounded to int8 first, group by group.

Every result is the same on every target: sums of groups are exact, and are added in float32 in
order. A word holds codes 0 to 3 of a column in the lower halves of its bytes and codes 4 to 7 in
the upper ones: one mask makes four bytes of a word, as dot products take them. Codes are at most
15, so neither an int16 sum of two products nor VPMADDUBSW can overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from edgecc.kernels.elementwise import MAGIC, MAGIC_BITS
from edgecc.kernels.float_tile import ISAS, FloatIsa
from edgecc.kernels.grouped_plan import PER_WORD, Plan
from edgecc.kernels.grouped_product import Code
from edgecc.kernels.grouped_spec import LARGEST, LEAST, GroupedProduct
from edgecc.kernels.isa.dotprod import SDOT
from edgecc.kernels.isa.dsp import halves
from edgecc.kernels.isa.vnni import VPDPBUSD
from edgecc.kernels.registry import KernelRecord

MASK = 0x0F0F0F0F  # the lower half of every byte
Dot = Callable[[Any, Any, Any, int], Any]


def plain(acc: Any, codes: Any, values: Any, lanes: int) -> Any:
    """acc + four codes of every lane times the four int8 values in a word."""
    from edgecc.kernels import tir

    T = tir.T
    for i in range(4):
        code = T.bitwise_and(T.shift_right(codes, tir.splat(T.int32(8 * i), lanes)),
                             tir.splat(T.int32(15), lanes))
        value = T.shift_right(T.shift_left(values, T.int32(24 - 8 * i)), T.int32(24))
        acc = acc + code * tir.splat(value, lanes)
    return acc


def _bytes(word: Any, lanes: int, dtype: str) -> Any:
    from edgecc.kernels import tir

    return tir.T.reinterpret(tir.vector(dtype, 4 * lanes), word)


def sdot(acc: Any, codes: Any, values: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    spread = _bytes(tir.splat(values, lanes), lanes, "int8")
    return tir.llvm("int32x4", SDOT, acc, _bytes(codes, lanes, "int8"), spread)


def vpdpbusd(acc: Any, codes: Any, values: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    spread = _bytes(tir.splat(values, lanes), lanes, "int8")
    return tir.llvm(tir.vector("int32", lanes), f"{VPDPBUSD}{32 * lanes}", acc,
                    _bytes(codes, lanes, "uint8"), spread)


def vpmaddubsw(acc: Any, codes: Any, values: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    spread = _bytes(tir.splat(values, lanes), lanes, "int8")
    pairs = tir.llvm("int16x16", "llvm.x86.avx2.pmadd.ub.sw", _bytes(codes, lanes, "uint8"), spread)
    ones = tir.splat(tir.T.int16(1), 16)
    return acc + tir.llvm("int32x8", "llvm.x86.avx2.pmadd.wd", pairs, ones)


def smlad(acc: Any, codes: Any, values: Any, lanes: int) -> Any:
    """A code's byte has no sign to extend: both halves of a word by one mask each."""
    from edgecc.kernels import tir

    T = tir.T
    for shift, pair in zip((0, 8), halves(values), strict=True):
        two = T.bitwise_and(T.shift_right(codes, T.int32(shift)), T.int32(0x000F000F))
        acc = tir.llvm("int32", "llvm.arm.smlad", two, pair, acc)
    return acc


def _isa(name: str, requires: frozenset[str], lanes: int, columns: int, accumulators: int,
         wants: tuple[str, ...] = ("vectors",)) -> FloatIsa:
    return FloatIsa(name, requires, lanes, columns, accumulators, wants=frozenset(wants))


ARM, X86 = frozenset({"dotprod"}), frozenset({"avx2", "fma"})
TILES: tuple[tuple[FloatIsa, Dot, float], ...] = (  # instructions of a dot product and its mask
    (_isa("generic", frozenset(), 4, 1, 4), plain, 9.0),
    (_isa("scalar", frozenset(), 1, 2, 4, ()), plain, 14.0),
    *((_isa(isa.name, isa.requires, isa.lanes, 1, 4), plain, 8.0) for isa in ISAS
      if isa.name.startswith("rvv") and isa.accumulators == 7),
    (_isa("dsp", frozenset({"dsp", "fpu32"}), 1, 2, 4, ()), smlad, 6.0),
    (_isa("dotprod", ARM, 4, 4, 16), sdot, 1.5),
    (_isa("avx2", X86, 8, 2, 6), vpmaddubsw, 3.5),
    (_isa("avxvnni", X86 | {"avxvnni"}, 8, 2, 8), vpdpbusd, 1.7),
    (_isa("vnni", frozenset({"avx512f", "avx512bw", "avx512vl", "avx512vnni"}), 16, 2, 12),
     vpdpbusd, 1.7),
)


@dataclass(frozen=True)
class RoundedPlan(Plan):
    """Rows are bytes in scratch, with a sum and a step for every group."""

    dot: Dot
    dot_cost: float

    @property
    def places(self) -> tuple[int, ...]:
        return (0, 8, 16, 24, 4, 12, 20, 28)

    def scratch_bytes(self) -> int:
        return self.rows * (self.pitch + 8 * self.spec.groups)

    def accepts(self) -> str | None:
        if not self.spec.rounded:
            return "activations stay float32"
        whole = self.dot is plain or self.shape.lanes == self.isa.lanes
        return None if whole else "too few columns for a vector"

    def cost(self) -> float:
        """Estimated instructions."""
        s, columns, rows = self.spec, self.shape.columns, min(self.rows, self.spec.m)
        step = columns * (3 + 2 * rows * self.dot_cost) + 2 * rows + 3
        end = s.groups * columns * (5 + 6 * rows)
        tiles = -(-s.m // rows) * self.shape.blocks
        return 50 + tiles * (self.pitch / PER_WORD * step + end + 12 * rows * columns) + (
            s.m * self.pitch * 4.0)


class _Rounded(Code):
    """Emits one product."""

    sum_dtype: ClassVar[str] = "int32"

    def __init__(self, k: Any, plan: RoundedPlan) -> None:
        super().__init__(k, plan)
        self.dot = plan.dot
        whole = plan.rows * plan.pitch
        self.values, self.value_words = k.area("int8", 0), k.area("int32", 0)
        self.steps = k.area("float32", whole)
        self.totals = k.area("int32", whole + 4 * plan.rows * plan.spec.groups)

    def row_sums(self, r: Any) -> Any:
        return r * self.spec.groups

    def prepare_group(self, source: Any, to: Any, count: int, at: Any) -> None:
        """Round a group: bytes, their sum, and what one step of them is worth."""
        from edgecc.kernels import tir

        T = tir.T
        largest, total = tir.local(1, "float32"), tir.local(1, "int32")
        tir.store(largest, 0, T.float32(0))
        tir.store(total, 0, T.int32(0))
        with tir.loop(0, count) as i:
            value = tir.let(tir.load(self.k.inputs[0], source + i))
            tir.store(largest, 0, T.max(largest[0], T.max(value, T.float32(0) - value)))
        there = largest[0] >= T.float32(LEAST)
        factor = tir.let(T.Select(there, T.float32(LARGEST) / largest[0], T.float32(0)))
        with tir.loop(0, count) as i:
            real = tir.fenced(tir.load(self.k.inputs[0], source + i) * factor, "float32")
            bits = T.reinterpret("int32", real + T.float32(MAGIC))
            whole = tir.let(bits - T.int32(MAGIC_BITS))
            tir.store(self.values, to + i, T.cast(whole, "int8"))
            tir.store(total, 0, total[0] + whole)
        for i in range(count, -(-count // PER_WORD) * PER_WORD):
            tir.store(self.values, to + i, T.int8(0))
        tir.store(self.steps, at, largest[0] / T.float32(LARGEST))
        tir.store(self.totals, at, total[0])

    def group(self, acc: Any, rows: int, columns: int, at: Any, number: Any, words: int) -> None:
        from edgecc.kernels import tir

        lanes = self.shape.lanes
        sums = self.sums(rows, columns, at, number, words)
        for c in range(columns):
            scale, zero = tir.let(self.scale(at, c * lanes)), self.zero(at, c * lanes)
            zero = tir.let(zero) if self.spec.affine else zero
            for r in range(rows):
                index, place = (r * columns + c) * lanes, r * self.spec.groups + number
                total = tir.splat(tir.load(self.totals, place), lanes)
                whole = tir.load(sums, index, lanes) - zero * total
                real = tir.T.cast(whole, tir.vector("float32", lanes))
                worth = scale * tir.splat(tir.load(self.steps, place), lanes)
                product = tir.fenced(real * worth, tir.vector("float32", lanes))
                tir.store(acc, index, tir.load(acc, index, lanes) + product, lanes)

    def step(self, sums: Any, rows: int, columns: int, at: Any, source: Any) -> None:
        """Eight values of k: one word of every column, two of every row."""
        from edgecc.kernels import tir

        T, lanes = tir.T, self.shape.lanes
        mask = tir.splat(T.int32(MASK), lanes)
        values = [[tir.let(tir.load(self.value_words, (source + r * self.plan.pitch) // 4 + i))
                   for i in range(2)] for r in range(rows)]
        for c in range(columns):
            word = tir.let(tir.load(self.words, at + c * lanes, lanes))
            upper = T.shift_right(word, tir.splat(T.int32(4), lanes))
            for i, part in enumerate((word, upper)):
                codes = tir.let(T.bitwise_and(part, mask))
                for r in range(rows):
                    index = (r * columns + c) * lanes
                    acc = tir.load(sums, index, lanes)
                    tir.store(sums, index, self.dot(acc, codes, values[r][i], lanes), lanes)


def build(plan: RoundedPlan, symbol: str) -> Any:
    from edgecc.kernels import tir

    s = plan.spec
    result = ("float32", s.m * s.n)
    inputs = [("float32", s.m * s.k), *[result] * s.residual]
    with tir.kernel(symbol, inputs=inputs, outputs=[result], weights=True, may_alias=True,
                    scratch=("int8", plan.scratch_bytes())) as k:
        _Rounded(k, plan).emit()
    return k.func


def record(isa: FloatIsa, dot: Dot, cost: float) -> KernelRecord:
    def plan(spec: GroupedProduct) -> RoundedPlan:
        return RoundedPlan(spec, isa, dot, cost)

    return KernelRecord(
        f"int4_product_rounded_{isa.accumulators // isa.columns}x{isa.columns * isa.lanes}"
        f"__{isa.name}", "grouped_product", "float32", isa.requires,
        accepts=lambda spec: plan(spec).accepts(),
        cost=lambda spec: plan(spec).cost(), extent=lambda spec: plan(spec).extent,
        pack=lambda spec, constants: plan(spec).pack(constants),
        build=lambda spec, symbol, target: build(plan(spec), symbol),
        scratch_bytes=lambda spec: plan(spec).scratch_bytes(),
        fast=isa.name not in ("generic", "scalar"), wants=isa.wants)


KERNELS = tuple(record(*tile) for tile in TILES)
