"""int8 products of two computed matrices for Cortex-M4, M7 and M33: rows widened once, by SMLAD.

SXTB16 takes values 0 and 2, then 1 and 3, out of a word. Weights come from b as they are, so rows
of a are taken apart alike: neither needs another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edgecc.kernels.int8_packing import Columns
from edgecc.kernels.int8_tile import Tile
from edgecc.kernels.isa.dsp import Dsp, halves
from edgecc.kernels.isa.dsp_loop import Loop
from edgecc.kernels.matmul_int8 import Code
from edgecc.kernels.matmul_plan import Plan
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord

GROUP = 4
TILES = ((3, 2), (2, 2))


class Widened(Dsp):
    """Rows are int16 in scratch, four values of each row of a tile after the other."""

    activation_dtype = "int16"
    reads_input = False


@dataclass(frozen=True)
class DspPlan(Plan):
    """A product in tiles of `mr` rows by `nr` columns, an even number of them."""

    @property
    def columns(self) -> Columns:
        return Columns(self.spec.n, self.nr, self.nr)

    def loop(self, rows: int) -> Loop:
        """The inner loop of a tile of `rows` rows."""
        return Loop(rows, self.nr, 1, 0, self.depth // GROUP, 2 * GROUP * rows, 2 * GROUP, True)

    @property
    def loops(self) -> list[Loop]:
        """Of whole tiles, of the rest and of the row of ones."""
        return [self.loop(rows) for rows in sorted({self.mr, self.spec.m % self.mr, 1} - {0})]

    def accepts(self) -> str | None:
        too_few = super().accepts()
        if too_few is None and not self.loop(self.mr).reaches:
            return "rows are too far apart for one pointer"
        return too_few

    def cost(self) -> float:
        """Estimated instructions."""
        s, mr, nr = self.spec, self.mr, self.nr
        tile = self.depth / GROUP * (2 * mr * nr + mr + 2.5 * nr + 2) + mr * nr * 14 + 30
        brought = self.depth * self.wide * 5 + s.m * s.k * 3
        return s.batches * (self.blocks * self.wide / nr * tile + brought) + 200


def build(plan: DspPlan, symbol: str) -> Any:
    from edgecc.kernels import tir

    spec = plan.spec
    with (tir.kernel(symbol, inputs=[("int8", spec.a_size), ("int8", spec.b_size)],
                     outputs=[("int8", spec.batches * spec.m * spec.n)], weights=True,
                     scratch=("int8", plan.scratch_bytes()), may_alias=True) as k,
          tir.imported([loop.text() for loop in plan.loops])):
        _DspCode(k, plan).emit()
    return k.func


class _DspCode(Code):
    """Emits one product."""

    def __init__(self, k: Any, plan: DspPlan) -> None:
        super().__init__(k, plan)
        self.loop = plan.loop
        self.words = k.area("int32", plan.start("left"))

    def add(self, tile: Tile, acc: Any, rows: Any, base: Any, at: Any) -> None:
        from edgecc.kernels import tir

        sums = (acc[i] for i in range(tile.mr * tile.width))
        tir.T.evaluate(tir.T.call_extern(
            "void", self.loop(tile.mr).symbol, *map(
                tir.T.address_of, [*sums, rows[base], self.packed.weights("int8")[at]])))

    def copy(self, a: Any, rows: int) -> None:
        """Fours of values of every row in turn, taken apart."""
        from edgecc.kernels import tir

        (down, along), k = self.spec.a_strides[-2:], self.spec.k
        whole, rest = divmod(k, GROUP)
        with tir.loop(0, rows) as i:
            row = tir.let(a + i * down)
            with tir.loop(0, whole) as g:
                at = tir.let(row + g * (GROUP * along))
                four = tir.load(self.k.inputs[0], at, GROUP) if along == 1 else (
                    self._gathered(at, along, GROUP))
                self._put(four, (g * rows + i) * 2)
            if rest:
                four = self._gathered(row + whole * GROUP * along, along, rest)
                self._put(four, (whole * rows + i) * 2)

    def _gathered(self, at: Any, along: int, count: int) -> Any:
        """`count` values that are apart, and zeros."""
        from edgecc.kernels import tir

        four = tir.local(GROUP, "int8")
        for j in range(GROUP):
            value = tir.load(self.k.inputs[0], at + j * along) if j < count else tir.T.int8(0)
            tir.store(four, j, value)
        return tir.load(four, 0, GROUP)

    def _put(self, four: Any, at: Any) -> None:
        from edgecc.kernels import tir

        word = tir.let(tir.T.reinterpret("int32", four))
        for i, pair in enumerate(halves(word)):
            tir.store(self.words, at + i, pair)


def record(mr: int, nr: int) -> KernelRecord:
    return planned(f"matmul_widened_{mr}x{nr}", "matmul", Widened(),
                   lambda spec: DspPlan(spec, Widened(), mr, nr), build)


KERNELS = tuple(record(mr, nr) for mr, nr in TILES)
