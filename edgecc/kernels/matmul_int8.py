"""int8 products of two computed matrices in the register tiles of convolutions.

With za, zb the zero points, sum((a - za)(b - zb)) is the tile's sum(a b), less za times the sums
of b's columns (in the bias of a column, with the constant k za zb), less zb times the sums of a's
rows (added at the end). The sums of columns come from a tile too: of one row of ones.
"""

from __future__ import annotations

from typing import Any

from edgecc.kernels import conv2d_int8
from edgecc.kernels.elementwise import pieces
from edgecc.kernels.int8_parameters import Parameters
from edgecc.kernels.int8_run import Run
from edgecc.kernels.int8_tile import Tile
from edgecc.kernels.isa.base import Isa
from edgecc.kernels.isa.neon import NeonExact
from edgecc.kernels.matmul import start_of
from edgecc.kernels.matmul_plan import B_ZERO_POINT, SCALE, Plan
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.right_packing import Right

SUMMED = 16  # values of a row that are added at once


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    spec = plan.spec
    with tir.kernel(symbol, inputs=[("int8", spec.a_size), ("int8", spec.b_size)],
                    outputs=[("int8", spec.batches * spec.m * spec.n)], weights=True,
                    scratch=("int8", plan.scratch_bytes()), may_alias=True) as k:
        Code(k, plan).emit()
    return k.func


class _Packed:
    """The kernel as a tile sees it: weights and biases are in scratch."""

    def __init__(self, k: Any, plan: Plan) -> None:
        self.outputs, self.llvm_function = k.outputs, k.llvm_function
        self._areas = {plan.isa.weight_dtype: k.area(plan.isa.weight_dtype, plan.start("right")),
                       "int32": k.area("int32", plan.start("bias")),
                       "uint8": k.area("uint8", plan.start("bias"))}

    def weights(self, dtype: str) -> Any:
        return self._areas[dtype]


class Code:
    """Emits one product."""

    def __init__(self, k: Any, plan: Plan) -> None:
        from edgecc.kernels import tir

        self.k, self.plan, self.spec, self.isa = k, plan, plan.spec, plan.isa
        self.params = Parameters(k, plan.isa, residual=False)
        self.scale = tir.let(k.weights("float32")[SCALE])
        self.zb = tir.let(k.weights("int32")[B_ZERO_POINT])
        self.packed = _Packed(k, plan)
        self.bias = self.packed.weights("int32")
        self.right = Right(k, plan, self.packed.weights(plan.isa.weight_dtype))
        self.sums = k.area("int32", plan.start("rows"))
        self.ones = k.area(plan.isa.activation_dtype, plan.start("ones"))
        self.left = k.inputs[0] if plan.direct else k.area(
            plan.isa.activation_dtype, plan.start("left"))

    def emit(self) -> None:
        from edgecc.kernels import tir

        spec, plan, begin = self.spec, self.plan, self.k.begin
        self.right.clear()
        with tir.loop(0, plan.depth) as i:
            tir.store(self.ones, i, tir.T.cast(1, plan.isa.activation_dtype))
        whole, rest = divmod(spec.m, plan.mr)
        with tir.loop(begin, self.k.end) as line:
            matrix, block = tir.let(line // plan.blocks), tir.let(line % plan.blocks)
            with tir.when(tir.T.Or(line == begin, block == 0)):
                self._bring(tir.let(start_of(spec, spec.b_strides, matrix)))
            first = tir.let(matrix * spec.m + block * plan.mr)
            a = tir.let(start_of(spec, spec.a_strides, matrix)
                        + block * (plan.mr * spec.a_strides[-2]))
            with tir.when(block < whole):
                self._rows(a, first, plan.mr)
            if rest:
                with tir.when(block == whole):
                    self._rows(a, first, rest)

    def _blocks(self, tiles: Any) -> None:
        """tiles(first column, element of the weights, width, used) for every block of columns."""
        from edgecc.kernels import tir

        columns, depth = self.plan.columns, self.plan.depth
        nr, whole = columns.nr, columns.whole
        if whole:
            with tir.loop(0, whole) as j:
                tiles(tir.let(j * nr), tir.let(j * (nr * depth)), nr, nr)
        if columns.rest:
            tiles(tir.T.int32(whole * nr), tir.T.int32(whole * nr * depth), columns.rest_width,
                  columns.rest)

    def _tile(self, rows: int, width: int, used: int) -> Tile:
        isa = self.isa if width == self.plan.nr else self.isa.fitted(width)
        return Tile(isa, rows, width, used)

    def _bring(self, b: Any) -> None:
        """A new right operand: its values in order, and the biases of its columns."""
        self.right.pack(b)
        self._blocks(self._column_sums)

    def _column_sums(self, column: Any, at: Any, width: int, used: int) -> None:
        from edgecc.kernels import tir

        tile = self._tile(1, width, used)
        lanes, offset = tile.isa.lanes, self.isa.activation_offset
        zero = tir.splat(tir.T.int32(0), lanes)
        for j in range(0, width, lanes):
            tir.store(self.bias, column + j, zero, lanes)
        acc = tile.start(self.packed, column * 4)
        self.add(tile, acc, self.ones, tir.T.int32(0), at)
        constant = tir.splat((self.params.pad_value - offset) * self.zb * self.spec.k, lanes)
        factor = tir.splat(-self.params.pad_value, lanes)
        for j in range(0, width, lanes):
            total = tile.sums(self.packed, acc, column * 4, 0, j)
            tir.store(self.bias, column + j, total * factor + constant, lanes)

    def _rows(self, a: Any, first: Any, rows: int) -> None:
        """`rows` rows from element a of the first input on: row `first` of the output."""
        from edgecc.kernels import tir

        down = self.spec.a_strides[-2]
        for i in range(rows):
            total = self._row_sum(a + i * down)
            tir.store(self.sums, i, -self.zb * total)
        if not self.plan.direct:
            self.copy(a, rows)
        base = a if self.plan.direct else tir.T.int32(0)

        def tiles(column: Any, at: Any, width: int, used: int) -> None:
            tile = self._tile(rows, width, used)
            acc = tile.start(self.packed, column * 4)
            self.add(tile, acc, self.left, base, at)
            self._finish(tile, acc, column, first)

        self._blocks(tiles)

    def add(self, tile: Tile, acc: Any, rows: Any, base: Any, at: Any) -> None:
        """Rows from element `base` of a buffer on, times the weights from element `at` on."""
        run = Run(rows, self.spec.k, self.plan.pitch, ends=True)
        tile.accumulate(self.packed, acc, run, base, at)

    def _finish(self, tile: Tile, acc: Any, column: Any, first: Any) -> None:
        from edgecc.kernels import tir

        isa, spec = tile.isa, self.spec
        scale = tir.splat(self.scale, isa.lanes)

        def row(i: int) -> list[Any]:
            more = tir.let(tir.splat(tir.load(self.sums, i), isa.lanes))
            return [isa.scaled(tile.sums(self.packed, acc, column * 4, i, j) + more, scale)
                    for j in range(0, tile.width, isa.lanes)]

        tile.store(self.k, row, self.params, first * spec.n + column, spec.n, spec.clamp)

    def _row_sum(self, a: Any) -> Any:
        """The sum of the k values of a row of a."""
        from edgecc.kernels import tir

        along, k = self.spec.a_strides[-1], self.spec.k
        total = tir.local(1, "int32")
        tir.store(total, 0, tir.T.int32(0))

        def add(at: Any, lanes: int) -> None:
            wide = tir.T.cast(tir.load(self.k.inputs[0], a + at * along, lanes),
                              tir.vector("int32", lanes))
            value = wide if lanes == 1 else tir.llvm(
                "int32", f"llvm.vector.reduce.add.v{lanes}i32", wide)
            tir.store(total, 0, total[0] + value)

        if self.isa.lanes == 1 or along != 1:
            with tir.loop(0, k) as at:
                add(at, 1)
            return total[0]
        with tir.loop(0, k // SUMMED) as i:
            add(i * SUMMED, SUMMED)
        for at, lanes in pieces(k % SUMMED, SUMMED):
            add(k // SUMMED * SUMMED + at, lanes)
        return total[0]

    def copy(self, a: Any, rows: int) -> None:
        """Rows as the tile wants its activations, whole groups of them."""
        from edgecc.kernels import tir

        (down, along), k, plan = self.spec.a_strides[-2:], self.spec.k, self.plan

        def move(i: Any, at: Any, lanes: int) -> None:
            values = tir.load(self.k.inputs[0], a + i * down + at * along, lanes)
            tir.store(self.left, i * plan.depth + at, self.isa.to_activation(values, lanes), lanes)

        vectors = self.isa.lanes > 1 and along == 1
        with tir.loop(0, rows) as i:
            if vectors:
                with tir.loop(0, k // SUMMED) as turn:
                    move(i, turn * SUMMED, SUMMED)
            with tir.loop(k // SUMMED * SUMMED if vectors else 0, k) as at:
                move(i, at, 1)
            for at in range(k, plan.depth):
                tir.store(self.left, i * plan.depth + at, tir.T.cast(0, self.isa.activation_dtype))


def tiles() -> tuple[tuple[Isa, tuple[tuple[int, int], ...]], ...]:
    """Those of convolutions, where any value may be -128, and none is arranged by hand."""
    found: list[tuple[Isa, tuple[tuple[int, int], ...]]] = []
    for isa, sizes in conv2d_int8.TILES:
        several = tuple((mr, nr) for mr, nr in sizes if mr > 1 or isa.columns == 1)
        if isa.name == "neon":
            found.append((NeonExact(), several))
        elif several and not isa.narrow_weights:
            found.append((isa, several))
    return tuple(found)


def record(isa: Isa, mr: int, nr: int) -> KernelRecord:
    return planned(f"matmul_{mr}x{nr}", "matmul", isa,
                   lambda spec: Plan(spec, isa, mr, nr), build)


TILES: tuple[tuple[Isa, tuple[tuple[int, int], ...]], ...] = tiles()
KERNELS = tuple(record(isa, mr, nr) for isa, sizes in TILES for mr, nr in sizes)
