"""The portable instruction set: plain TIR that LLVM vectorizes. Others override what they do
better. Numeric results are the same by construction (see docs/numerics.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

MAGIC = 12582912.0  # 1.5 * 2^23: adding it rounds |x| < 2^22 half to even
MAGIC_BITS = 0x4B400000


@dataclass(frozen=True)
class Isa:
    """`group` values of K are multiplied per int32 lane at once; `lanes` int32 per vector;
    `registers` bounds the tile (accumulators, one row of weights, activations).

    `activation_dtype` is how a padded copy of the input is kept in scratch and
    `activation_offset` what is added to every activation on the way (VNNI wants unsigned).
    """

    name: ClassVar[str] = "generic"
    requires: ClassVar[frozenset[str]] = frozenset()
    wants: ClassVar[frozenset[str]] = frozenset({"vectors", "fpu"})  # registry.strengths
    group: ClassVar[int] = 1
    lanes: ClassVar[int] = 4
    acc_lanes: ClassVar[int] = 0  # int32 in an accumulator while summing; 0: as many as lanes
    columns: ClassVar[int] = 0  # output columns per accumulator vector; 0: one per lane
    partials: ClassVar[int] = 1  # partial sums of a column in an accumulator vector
    multiply_cost: ClassVar[float] = 1.0  # instructions per multiply step
    column_cost: ClassVar[float] = 0.6  # the same, shared by the rows of a tile
    narrow_weights: ClassVar[bool] = False  # exact only while no weight is -128
    registers: ClassVar[int] = 16
    piece: ClassVar[int] = 1  # most values of K one activation load brings
    turns: ClassVar[int] = 1  # such loads in one turn of the loop over K
    row_by_row: ClassVar[bool] = False  # tiles leave LLVM no registers to load rows ahead, so
    # that short runs are taken a row at a time and their steps kept `apart`
    activation_dtype: ClassVar[str] = "int8"
    activation_offset: ClassVar[int] = 0
    reads_input: ClassVar[bool] = True  # can use activations where they lie, without a copy
    fast: ClassVar[bool] = False
    weight_dtype: ClassVar[str] = "int8"
    shares_taps: ClassVar[bool] = False  # loads a position once for all taps of a kernel row
    row_pairs: ClassVar[bool] = False  # assembled: an accumulator is of two rows and two columns
    rows_joined: ClassVar[int] = 1  # rows of a tile that share an accumulator: see `joined`
    sum_dtype: ClassVar[str] = "int32"  # of an accumulator
    functions: ClassVar[Mapping[str, str]] = {}  # in LLVM IR, by name, that `multiply` calls
    longest_sum: ClassVar[int] = 0  # most products of a sum; 0: any number
    starts_with_bias: ClassVar[bool] = False  # assembled, and accumulators are whole columns
    leaves_rows_out: ClassVar[bool] = False  # skips kernel rows in the padding: see `edges`
    assembled: ClassVar[bool] = False  # runs of a tile are assembler text: see `statement`

    def crowded(self, rows: int, columns: int, values: int) -> bool:
        """Whether what LLVM fetches ahead of a run of `values` that is written out leaves the
        accumulators of `rows` by `columns` no room."""
        return False

    def widths(self, values: int) -> list[tuple[int, int]]:
        """(offset, width) of the activation loads that cover `values` (a multiple of group)."""
        pieces, at = [], 0
        width = self.piece
        while at < values:
            while width > values - at:
                width //= 2
            pieces.append((at, width))
            at += width
        return pieces

    def chunk(self, length: int) -> int:
        """Values of K that one multiply step takes from an activation load of `length`."""
        return self.group

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        """Activation operands for `width // group` multiply steps."""
        from edgecc.kernels import tir

        return [tir.let(tir.T.cast(tir.load(buffer, offset + i), "int32")) for i in range(width)]

    def fitted(self, columns: int) -> Isa:
        """The instruction set for the last block, which has `columns` columns or a few more."""
        return self

    def parts(self, count: int) -> list[tuple[int, int]]:
        """(first, lanes) of the loads and stores of a vector of which `count` lanes exist."""
        return [(lane, 1) for lane in range(count)]

    def arranged(self, steps: np.ndarray) -> np.ndarray:
        """Weights (..., columns, K of a multiply step) in the order that `column` reads them."""
        return steps

    def column(self, weights: Any, offset: Any, chunk: int) -> Any:
        """The weights of one multiply step and accumulator, from element `offset` on."""
        from edgecc.kernels import tir

        return tir.let(tir.load(weights, offset, (self.columns or self.lanes) * chunk))

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        """acc + activation · weights, lane by lane."""
        from edgecc.kernels import tir

        wide = tir.T.cast(weights, tir.vector("int32", self.lanes))
        return acc + tir.splat(activation, self.lanes) * wide

    def apart(self) -> None:
        """Keep LLVM from loading what follows before this point."""

    def statement(self, shape: Any) -> Any:
        """The `assembled.Code` of one run, for instruction sets that are assembled."""
        return None

    def joined(self, rows: list[Any]) -> Any:
        """The activations of `rows_joined` rows (or fewer, the last ones) as one operand."""
        return rows[0]

    def half(self, sums: Any, row: int) -> Any:
        """The int32 sums of one of the rows that share an accumulator."""
        return sums

    def row_of(self, even: bool, left: Any, right: Any) -> Any:
        """A row's sums from two accumulators, where those are of pairs of rows."""
        return left

    def total(self, partial_sums: list[Any]) -> Any:
        """One vector of `lanes` columns from the accumulators of as many columns."""
        return partial_sums[0]

    def to_activation(self, values: Any, lanes: int) -> Any:
        """int8 input values as the padded copy keeps them."""
        return values

    def rounded(self, value: Any) -> Any:
        """float32 rounded half to even, still float32; |value| < 2^22."""
        from edgecc.kernels import tir

        magic = tir.splat(tir.T.float32(MAGIC), self.lanes)
        dtype = tir.vector("float32", self.lanes)  # the fence keeps + and - from cancelling
        return tir.fenced(value + magic, dtype) - magic

    def scaled(self, acc: Any, scale: Any) -> Any:
        """int32 sums times their scales: the float32 product, unrounded."""
        from edgecc.kernels import tir

        return tir.T.cast(acc, tir.vector("float32", self.lanes)) * scale

    def inner(self, value: Any, params: Any) -> Any:
        """What a residual is added to: a scaled value rounded and clamped, as float32."""
        from edgecc.kernels import tir

        low = tir.splat(params.inner_lo, self.lanes)
        high = tir.splat(params.inner_hi, self.lanes)
        return self.rounded(tir.T.min(tir.T.max(value, low), high))

    copy_lanes: ClassVar[int] = 16  # elements that move at once when rows are copied
    joins_rows: ClassVar[bool] = False  # narrows four rows of four columns at once
    residual_lanes: ClassVar[int] = 0  # most int8 that `centred` takes at once; 0: `lanes`

    def centred(self, values: Any, lanes: int, params: Any) -> list[Any]:
        """Residual values about their zero point, as float32 vectors of `self.lanes`."""
        from edgecc.kernels import tir

        wide = tir.T.cast(values, tir.vector("int32", lanes))
        centred = wide - params.vector("residual_zero_point", lanes)
        return [tir.T.cast(centred, tir.vector("float32", lanes))]

    def narrow_scaled(
        self, values: Sequence[Any], params: Any, clamp: bool
    ) -> list[tuple[Any, int]]:
        """`narrow` for values that come straight from `scaled`."""
        return self.narrow(values, params, clamp)

    def narrow(self, values: Sequence[Any], params: Any, clamp: bool) -> list[tuple[Any, int]]:
        """int8 vectors with their lane counts: clamp(rint(value) + zero point)."""
        from edgecc.kernels import tir

        out = []
        for value in values:
            low = tir.splat(params.lo, self.lanes)
            high = tir.splat(params.hi, self.lanes)
            bounded = tir.T.min(tir.T.max(value, low), high)
            biased = bounded + tir.splat(tir.T.float32(MAGIC), self.lanes)
            bits = tir.T.reinterpret(tir.vector("int32", self.lanes), biased)
            shifted = bits + tir.splat(params.zero_point - MAGIC_BITS, self.lanes)
            out.append((tir.T.cast(shifted, tir.vector("int8", self.lanes)), self.lanes))
        return out
