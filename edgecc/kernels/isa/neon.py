"""Arm NEON without dot products (Cortex-A53, A72): SMULL, SMLAL2 and SADALP.

Per row, column and 16 values of K: 16 products in three instructions, two products summed in
int16 and pairs of those added to four int32 partial sums, which are added up after the loop. Two
products fit int16 only while no weight is -128 (`wide_weights` specs take another kernel).
Source: Arm Architecture Reference Manual, A64 SIMD instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edgecc.kernels.isa.assembled import Code, Shape, run_of
from edgecc.kernels.isa.base import Isa

PRODUCTS = 4  # registers for products of int16
ADDP = "llvm.aarch64.neon.addp.v4i32"


class NeonEnd(Isa):
    """What every NEON kernel ends with: FCVTNS and saturating narrows."""

    name: ClassVar[str] = "neon"
    requires: ClassVar[frozenset[str]] = frozenset({"neon"})
    lanes: ClassVar[int] = 4
    registers: ClassVar[int] = 32
    fast: ClassVar[bool] = True
    joins_rows: ClassVar[bool] = True
    copy_lanes: ClassVar[int] = 64  # LDP and STP, twice
    residual_lanes: ClassVar[int] = 16

    def rounded(self, value: Any) -> Any:
        from edgecc.kernels import tir

        return tir.llvm("float32x4", "llvm.roundeven.v4f32", value)

    def inner(self, value: Any, params: Any) -> Any:
        from edgecc.kernels import tir

        for name, bound in (("maxnum", "inner_lo"), ("minnum", "inner_hi")):
            value = tir.llvm("float32x4", f"llvm.{name}.v4f32", value, params.vector(bound, 4))
        return self.rounded(value)

    def centred(self, values: Any, lanes: int, params: Any) -> list[Any]:
        """Widened eight at a time, the zero point taken off on the way."""
        from edgecc.kernels import tir

        if lanes < 8:
            return super().centred(values, lanes, params)
        eights = [values] if lanes == 8 else [part("int8x8", values) for part in _halves()]
        offset = params.vector("residual_offset", 8)
        found = []
        for eight in eights:
            short = tir.let(offset + tir.T.cast(eight, "int16x8"))
            for four in [part("int16x4", short) for part in _halves()]:
                found.append(tir.T.cast(tir.T.cast(four, "int32x4"), "float32x4"))
        return found

    def narrow(self, values: Sequence[Any], params: Any, clamp: bool) -> list[tuple[Any, int]]:
        """Saturating narrows do the clamping; explicit bounds only where they are tighter."""
        from edgecc.kernels import tir

        left = list(values)
        out = []
        while left:
            take = min(len(left), 4)
            take = {3: 2}.get(take, take)
            out.append(_bytes(left[:take], params, clamp))
            left = left[take:]
        return [(tir.let(value), lanes) for value, lanes in out]


class Neon(NeonEnd):
    """Rows and columns of 16 (8) values of K; each accumulator holds four partial sums."""

    group: ClassVar[int] = 8
    columns: ClassVar[int] = 1
    partials: ClassVar[int] = 4
    multiply_cost: ClassVar[float] = 3.0
    piece: ClassVar[int] = 16
    narrow_weights: ClassVar[bool] = True
    assembled: ClassVar[bool] = True

    def statement(self, shape: Shape) -> Code:
        code = Code(shape, scratch=PRODUCTS)

        def piece(length: int, used: int) -> None:
            rows, parts = code.positions(length), max(used // 16, 1)
            columns = code.columns(parts * shape.width, f"{used // parts}b")
            for part in range(parts):
                for j in range(shape.width):
                    self.products(code, [row[part] for row in rows], next(columns), j,
                                  used // parts)

        run_of(code, [16, 8], piece)
        return code

    def products(self, code: Code, rows: list[int], column: int, j: int, used: int) -> None:
        """One column times every row, `used` values of K each."""
        _products(code, rows, column, j, used)

    def chunk(self, length: int) -> int:
        return length

    def total(self, partial_sums: list[Any]) -> Any:
        """Four accumulators of four partial sums each as one vector of four sums."""
        from edgecc.kernels import tir

        a, b, c, d = partial_sums
        return tir.llvm("int32x4", ADDP, tir.llvm("int32x4", ADDP, a, b),
                        tir.llvm("int32x4", ADDP, c, d))


class NeonExact(Neon):
    """Any value may be -128: the int16 products of both halves are added one by one."""

    multiply_cost: ClassVar[float] = 4.0
    narrow_weights: ClassVar[bool] = False

    def products(self, code: Code, rows: list[int], column: int, j: int, used: int) -> None:
        _halved(code, rows, column, j, used)


def _products(code: Code, rows: list[int], column: int, j: int, used: int) -> None:
    """One column times every row, `used` values of K each: a few products at a time, since a
    product has to wait for its multiplies."""
    products = [code.lowest + i for i in range(PRODUCTS)]
    for first in range(0, len(rows), PRODUCTS):
        some = list(zip(rows[first : first + PRODUCTS], products, strict=False))
        for row, product in some:
            code.emit(f"smull v{product}.8h, v{row}.8b, v{column}.8b")
        for row, product in some if used == 16 else []:
            code.emit(f"smlal2 v{product}.8h, v{row}.16b, v{column}.16b")
        for i, (_, product) in enumerate(some):
            code.emit(f"sadalp ${(first + i) * code.shape.width + j}.4s, v{product}.8h")


def _halved(code: Code, rows: list[int], column: int, j: int, used: int) -> None:
    """The same with one product a lane: the lower eight values, then the upper ones."""
    products = [code.lowest + i for i in range(PRODUCTS)]
    for half in ("smull", "smull2")[: used // 8]:
        kind = "8b" if half == "smull" else "16b"
        for first in range(0, len(rows), PRODUCTS):
            some = list(zip(rows[first : first + PRODUCTS], products, strict=False))
            for row, product in some:
                code.emit(f"{half} v{product}.8h, v{row}.{kind}, v{column}.{kind}")
            for i, (_, product) in enumerate(some):
                code.emit(f"sadalp ${(first + i) * code.shape.width + j}.4s, v{product}.8h")


def _halves() -> tuple[Any, Any]:
    from edgecc.kernels import tir

    return tir.T.vectorlow, tir.T.vectorhigh


def _bytes(values: list[Any], params: Any, clamp: bool) -> tuple[Any, int]:
    """One, two or four float32x4 as int8 of as many lanes."""
    from edgecc.kernels import tir

    whole = values if len(values) > 1 else [values[0], values[0]]
    eight = _rounded_short if params.short is not None else _rounded_wide
    quarters = [tir.llvm("int8x8", "llvm.aarch64.neon.sqxtn.v8i8", eight(low, high, params))
                for low, high in zip(whole[::2], whole[1::2], strict=True)]
    lanes = 8 * len(quarters)
    value = quarters[0] if lanes == 8 else tir.T.vectorcombine("int8x16", *quarters)
    if clamp:
        value = tir.T.min(tir.T.max(value, params.vector("low_byte", lanes)),
                          params.vector("high_byte", lanes))
    if len(values) == 1:
        words = tir.T.reinterpret("int32x2", value)
        value = tir.T.reinterpret("int8x4", tir.T.Shuffle([words], [0]))
    return value, 4 * len(values)


def _rounded_wide(low: Any, high: Any, params: Any) -> Any:
    """Eight floats of any size rounded, plus the zero point, as int16."""
    from edgecc.kernels import tir

    halves = []
    for value in (low, high):
        whole = tir.llvm("int32x4", "llvm.aarch64.neon.fcvtns.v4i32.v4f32", value)
        halves.append(tir.llvm("int16x4", "llvm.aarch64.neon.sqxtn.v4i16", whole))
    both = tir.T.vectorcombine("int16x8", *halves)
    return tir.llvm("int16x8", "llvm.sadd.sat.v8i16", both, params.vector("zero_point_short", 8))


def _rounded_short(low: Any, high: Any, params: Any) -> Any:
    """The same where they fit int16 and the zero point is even: the lower halves of what the
    addition gives."""
    from edgecc.kernels import tir

    halves = []
    for value in (low, high):
        biased = tir.fenced(value, "float32x4") + params.vector("short", 4)
        halves.append(tir.T.reinterpret("int16x8", biased))
    return tir.T.Shuffle(halves, list(range(0, 16, 2)))
