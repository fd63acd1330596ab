"""The int8 register tile shared by convolutions and matrix products: inner loop and end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from edgecc.kernels.int8_parameters import Parameters
from edgecc.kernels.int8_run import Run
from edgecc.kernels.isa.assembled import Shape, add_run, set_rows
from edgecc.kernels.isa.base import Isa
from edgecc.kernels.ring import padded

UNROLLED_PIECES = 3  # activation loads emitted in a row before a loop is made of them


@dataclass(frozen=True)
class Tile:
    """MR rows by `width` columns of accumulators, `used` of them real."""

    isa: Isa
    mr: int
    width: int
    used: int

    def start(self, k: Any, block: Any, statement: bool = True) -> Any:
        """Accumulators holding the bias of the block at byte offset `block` (zero where they
        hold partial sums: the bias is then added to the total)."""
        from edgecc.kernels import tir

        acc = tir.local(4 * self.vectors, self.isa.sum_dtype)
        if statement and self.isa.starts_with_bias:
            bias = tir.T.address_of(k.weights("uint8")[block])
            set_rows(k, acc, self.vectors, self.width, self.isa.row_pairs, bias)
            return acc
        lanes = self.lanes
        for j in range(0, self.width, self.columns):
            value = tir.splat(tir.T.Cast(self.isa.sum_dtype, 0), lanes)
            if not self.adds_bias:
                value = tir.let(tir.load(k.weights("int32"), block // 4 + j, lanes))
            for i in range(self.sum_rows):
                tir.store(acc, self.place(i, j), value, lanes)
        return acc

    @property
    def adds_bias(self) -> bool:
        """Whether accumulators start at zero, since one is not a column's sum."""
        return self.isa.partials > 1 or self.isa.rows_joined > 1

    @property
    def sum_rows(self) -> int:
        """Rows of accumulators."""
        return -(-self.mr // self.isa.rows_joined)

    @property
    def vectors(self) -> int:
        """Accumulators, in vectors of four int32."""
        rows = padded(self.mr, 2) if self.isa.row_pairs else self.mr
        return -(-rows * self.width * self.isa.partials // 4)

    @property
    def lanes(self) -> int:
        """int32 in an accumulator vector while summing."""
        return self.isa.acc_lanes or self.isa.lanes

    @property
    def columns(self) -> int:
        return self.isa.columns or self.isa.lanes

    def place(self, i: int, j: int) -> int:
        """Index of the accumulator vector of row i whose first column is j."""
        return (i * self.width + j) * self.isa.partials

    def accumulate(self, k: Any, acc: Any, run: Run, base: Any, at: Any) -> None:
        """Add a run of activations, the first at element `base`, times the weights from element
        `at` of the packed weights on."""
        from edgecc.kernels import tir

        if self.isa.assembled:
            self._statement(k, acc, run, base, at)
            return
        for name, text in self.isa.functions.items():
            k.llvm_function(name, partial(str, text))
        weights = k.weights(self.isa.weight_dtype)
        pieces = self.isa.widths(padded(run.values, self.isa.group))
        turns = self.turns(run)
        piece = self._by_rows if self._crowded(run) else self._piece

        def add(first: Any, some: list[tuple[int, int]]) -> None:
            for offset, length in some:
                piece(acc, run, base + (first + offset), weights,
                      at + (first + offset) * self.width, length)

        if turns:
            with tir.loop(0, turns) as turn:
                add(turn * (self.isa.piece * self.isa.turns), pieces[: self.isa.turns])
            pieces = pieces[turns * self.isa.turns :]
        add(0, pieces)

    def turns(self, run: Run) -> int:
        """Of the loop over a run; 0 where it is written out."""
        whole = padded(run.values, self.isa.group) // self.isa.piece // self.isa.turns
        written = 1 if run.ends and self._crowded(run) else UNROLLED_PIECES
        return whole if whole * self.isa.turns > written else 0

    def _crowded(self, run: Run) -> bool:
        """Whether LLVM would spill activations of a short run that it loads ahead, or what the
        tile's end holds if that lies in the same loop."""
        piece, values = self.isa.piece, padded(run.values, self.isa.group)
        short = piece < values < (UNROLLED_PIECES + 1) * piece
        return self.isa.row_by_row and short and self.mr > self.width // self.columns

    def _piece(self, acc: Any, run: Run, base: Any, weights: Any, at: Any, length: int) -> None:
        from edgecc.kernels import tir

        isa, chunk = self.isa, self.isa.chunk(length)
        rows = self._rows(run, base, length)
        for step in range(length // chunk):
            for j in range(0, self.width, self.columns):
                offset = at + (step * self.width + j) * chunk
                column = isa.column(weights, offset, chunk)
                for i in range(len(rows)):
                    place = self.place(i, j)
                    value = isa.multiply(tir.load(acc, place, self.lanes), rows[i][step], column)
                    tir.store(acc, place, value, self.lanes)

    def _by_rows(self, acc: Any, run: Run, base: Any, weights: Any, at: Any, length: int) -> None:
        """The same, a row's activations loaded where they are multiplied and not before."""
        from edgecc.kernels import tir

        isa, chunk = self.isa, self.isa.chunk(length)
        for step in range(0, length, chunk):
            isa.apart()
            columns = [isa.column(weights, at + step * self.width + j * chunk, chunk)
                       for j in range(0, self.width, self.columns)]
            for i in range(self.mr):
                [row] = isa.load(run.buffer, base + (i * run.pitch + step), chunk)
                for j, column in enumerate(columns):
                    place = self.place(i, j * self.columns)
                    value = isa.multiply(tir.load(acc, place, self.lanes), row, column)
                    tir.store(acc, place, value, self.lanes)

    def _rows(self, run: Run, base: Any, length: int) -> list[list[Any]]:
        """The operands of every row of accumulators, in the order of the multiply steps."""
        isa = self.isa
        rows = [isa.load(run.buffer, base + i * run.pitch, length) for i in range(self.mr)]
        if isa.rows_joined == 1:
            return rows
        groups = [rows[i : i + isa.rows_joined] for i in range(0, self.mr, isa.rows_joined)]
        return [[isa.joined(list(step)) for step in zip(*group, strict=True)] for group in groups]

    def _statement(self, k: Any, acc: Any, run: Run, base: Any, at: Any) -> None:
        from edgecc.kernels import tir

        weights = k.weights(self.isa.weight_dtype)
        add_run(k, acc, self.isa.statement, self._shape(run), self.isa.name,
                tir.T.address_of(run.buffer[base]), tir.T.address_of(weights[at]))

    def _shape(self, run: Run) -> Shape:
        return Shape(self.vectors, self.mr, self.width, padded(run.values, self.isa.group),
                     run.pitch, run.taps, run.step, run.spare)

    def untouched(self, run: Run) -> range:
        """Registers that the statement of a run leaves alone."""
        return range(self.vectors, self.isa.statement(self._shape(run)).lowest)

    def finish(
        self, k: Any, acc: Any, block: Any, params: Parameters, base: Any, stride: int,
        clamp: bool, residual: Any = None,
    ) -> None:
        """Requantize and store rows at base + i * stride of output 0."""
        from edgecc.kernels import tir

        scale, isa = k.weights("float32"), self.isa
        scales = [tir.let(tir.load(scale, block // 4 + self.width + j, isa.lanes))
                  for j in range(0, self.width, isa.lanes)]

        def row(i: int) -> list[Any]:
            return [isa.scaled(self.sums(k, acc, block, i, j * isa.lanes), scales[j])
                    for j in range(self.width // isa.lanes)]

        self.store(k, row, params, base, stride, clamp, residual)

    def store(
        self, k: Any, row: Callable[[int], list[Any]], params: Parameters, base: Any,
        stride: int, clamp: bool, residual: Any = None,
    ) -> None:
        """The rest of `finish`, where row(i) gives the scaled sums of a row."""
        isa = self.isa
        if isa.joins_rows and residual is None and self.used == isa.lanes and self.mr == 4:
            vector, _ = isa.narrow_scaled([row(i)[0] for i in range(4)], params, clamp)[0]
            self._write_joined(k.outputs[0], vector, base, stride)
            return
        for i in range(self.mr):
            self.store_row(k, row(i), residual, base + i * stride, params, clamp)

    def _write_joined(self, output: Any, vector: Any, base: Any, stride: int) -> None:
        """Four rows of four columns, narrowed together."""
        from edgecc.kernels import tir

        words = tir.let(tir.T.reinterpret("int32x4", vector))
        for i in range(self.mr):
            four = tir.T.reinterpret("int8x4", tir.T.Shuffle([words], [i]))
            tir.store(output, base + i * stride, four, self.used)

    def store_row(self, k: Any, values: list[Any], residual: Any, row: Any, params: Parameters,
                  clamp: bool) -> None:
        """Store a row of scaled sums at element `row`, after adding the residual if any."""
        if residual is None:
            vectors = self.isa.narrow_scaled(values, params, clamp)
        else:
            values = self._with_residual(values, residual, row, params)
            vectors = self.isa.narrow(values, params, clamp)
        self._write(k.outputs[0], row, vectors)

    def sums(self, k: Any, acc: Any, block: Any, i: int, j: int) -> Any:
        """The finished int32 sums of row i, columns j to j + lanes."""
        from edgecc.kernels import tir

        lanes = self.isa.lanes
        if self.isa.row_pairs:
            at = 4 * (i // 2 * (self.width // 2) + j // 2)
            return self.isa.row_of(i % 2 == 0, *(tir.load(acc, at + o, lanes) for o in (0, 4)))
        if not self.adds_bias:
            return tir.load(acc, self.place(i, j), lanes)
        bias = tir.load(k.weights("int32"), block // 4 + j, lanes)
        if self.isa.rows_joined > 1:
            group, row = divmod(i, self.isa.rows_joined)
            return self.isa.half(tir.load(acc, self.place(group, j), lanes), row) + bias
        parts = [tir.load(acc, self.place(i, j + c), lanes) for c in range(lanes)]
        return self.isa.total(parts) + bias

    def _with_residual(self, values: list[Any], residual: Any, row: Any, params: Parameters) -> Any:
        from edgecc.kernels import tir

        isa, out = self.isa, []
        dtype = tir.vector("float32", isa.lanes)
        others = self._others(residual, row, params)
        for value, other in zip(values, others, strict=True):
            ratio, other_ratio = (params.vector(name, isa.lanes)
                                  for name in ("ratio", "residual_ratio"))
            first = tir.fenced(isa.inner(value, params) * ratio, dtype)
            out.append(tir.let(first + tir.fenced(other * other_ratio, dtype)))
        return out

    def _others(self, residual: Any, row: Any, params: Parameters) -> list[Any]:
        """The residual of a row about its zero point: as many vectors as the row has."""
        from edgecc.kernels import tir

        found, column, isa = [], 0, self.isa
        while column < self.width:
            lanes = max(isa.residual_lanes, isa.lanes)
            while lanes > isa.lanes and column + lanes > self.used:
                lanes //= 2
            values = (tir.load(residual, row + column, lanes) if lanes > isa.lanes
                      else self._residual_lanes(residual, row + column, column))
            found += isa.centred(values, lanes, params)
            column += lanes
        return found

    def _residual_lanes(self, residual: Any, offset: Any, column: int) -> Any:
        """A vector of the residual; lanes past the last column are not read."""
        from edgecc.kernels import tir

        lanes = self.isa.lanes
        if column + lanes <= self.used:
            return tir.load(residual, offset, lanes)
        held = tir.local(lanes, "int8")
        tir.store(held, 0, tir.splat(tir.T.int8(0), lanes), lanes)
        for first, count in self.isa.parts(self.used - column):
            tir.store(held, first, tir.load(residual, offset + first, count), count)
        return tir.load(held, 0, lanes)

    def _write(self, output: Any, row: Any, vectors: list[tuple[Any, int]]) -> None:
        from edgecc.kernels import tir

        column = 0
        for value, lanes in vectors:
            inside = min(lanes, self.used - column)
            if inside == lanes:
                tir.store(output, row + column, value, lanes)
            elif inside > 0:
                kept = tir.let(value)
                for first, count in self.isa.parts(inside):
                    part = tir.T.Shuffle([kept], list(range(first, first + count)))
                    tir.store(output, row + column + first, part, count)
            column += lanes
