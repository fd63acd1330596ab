"""int8 convolutions and matrix products for Cortex-M4, M7 and M33: widened rows by SMLAD.

Activations are widened to int16 once; four weights come as one word, whose bytes are arranged so
that SXTB16 makes pairs in order of them. So a step of 4 K costs two loads a row and three
instructions a column beside its SMLADs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgecc.kernels.conv2d_dsp_plan import GROUP, Plan
from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.fully_connected_int8 import as_conv2d
from edgecc.kernels.int8_packing import HEADER_BYTES
from edgecc.kernels.int8_parameters import Parameters
from edgecc.kernels.int8_tile import Tile
from edgecc.kernels.isa.dsp import Dsp
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.widened_rows import WidenedRows

TILES = ((3, 2), (2, 2), (1, 4))


def build(plan: Plan, symbol: str) -> Any:
    scratch = ("int16", plan.scratch_bytes() // 2) if plan.scratch_bytes() else None
    with open_kernel(plan.spec, symbol, scratch) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one convolution."""

    def __init__(self, k: Any, plan: Plan) -> None:
        self.k, self.plan, self.spec = k, plan, plan.spec
        self.params = Parameters(k, Dsp(), plan.spec.residual)
        self.rows: Any = None
        if plan.narrow:
            self.activations = k.inputs[0]
        else:
            self.rows = WidenedRows(k, plan.rows, self.params.pad_value)
            self.activations = self.rows.values

    def emit(self) -> None:
        from edgecc.kernels import tir

        if self.plan.flat:
            self._flat()
            return
        self.rows.clear()
        with tir.loop(self.k.begin, self.k.end) as number:
            self.rows.visit(number, self._output_row)

    def _output_row(self, image: Any, y: Any) -> None:
        from edgecc.kernels import tir

        out = tir.let((image * self.spec.oh + y) * (self.spec.ow * self.spec.k))
        self._blocks(lambda group, block, column, used: self._row(
            group * self.plan.channels, used, block, out + column))

    def _flat(self) -> None:
        """Positions of all rows, mr at a time."""
        from edgecc.kernels import tir

        spec, mr = self.spec, self.plan.mr
        whole, rest = divmod(self.plan.row_length, mr)

        def tiles(first: Any, count: int) -> None:
            if not self.plan.narrow:
                with tir.loop(0, count) as i:
                    self.rows.bring_fours((first + i) * spec.c, i * GROUP, spec.c, count * GROUP)
            self._blocks(lambda group, block, column, used: self._tile(
                count, used, block, group * (self.plan.channels * count),
                first * spec.k + column))

        with tir.loop(self.k.begin, tir.T.min(self.k.end, whole)) as t:
            tiles(t * mr, mr)
        if rest:
            with tir.when(self.k.end > tir.T.max(self.k.begin, whole)):
                tiles(whole * mr, rest)

    def _blocks(self, emit: Any) -> None:
        """emit(group of channels, byte offset, first column, columns in use) for every block."""
        from edgecc.kernels import tir

        if self.spec.groups == 1:
            self._blocks_of(0, emit)
            return
        with tir.loop(0, self.spec.groups) as group:
            self._blocks_of(group, emit)

    def _blocks_of(self, group: Any, emit: Any) -> None:
        from edgecc.kernels import tir

        plan, nr, size = self.plan, self.plan.nr, self.plan.block_bytes
        whole, rest = divmod(plan.outputs, nr)
        first, start = group * plan.outputs, HEADER_BYTES + group * plan.group_bytes
        if rest and plan.overlaps:
            with tir.loop(0, whole + 1) as b:
                column = tir.let(first + tir.T.min(b * nr, plan.outputs - nr))
                emit(group, tir.let(start + b * size), column, nr)
            return
        if whole:
            with tir.loop(0, whole) as b:
                emit(group, tir.let(start + b * size), first + b * nr, nr)
        if rest:
            emit(group, start + whole * size, first + whole * nr, rest)

    def _row(self, at: Any, used: int, block: Any, out: Any) -> None:
        """Tiles along a row, whose first value is element `at` of the first widened row."""
        from edgecc.kernels import tir

        spec, mr = self.spec, self.plan.mr
        whole, rest = divmod(spec.ow, mr)
        step = spec.strides[1] * spec.c
        if whole:
            with tir.loop(0, whole) as t:
                self._tile(mr, used, block, at + t * (mr * step), out + t * (mr * spec.k))
        if rest:
            self._tile(rest, used, block, at + whole * mr * step, out + whole * mr * spec.k)

    def _tile(self, rows: int, used: int, block: Any, at: Any, out: Any) -> None:
        """`rows` positions from element `at` of the first widened row on."""
        tile, params = self.plan.tile(rows, used), self.params
        if not tile:
            self._sums(rows, used, block, at, out)
            return
        bounds = [params.low, params.high] if tile.clamp else []
        self._call(tile, self.activations[at], self.k.weights("uint8")[block],
                   self.k.outputs[0][out], words=[params.zero_point, *bounds])

    def _sums(self, rows: int, used: int, block: Any, at: Any, out: Any) -> None:
        """The same with an end that is not assembled."""
        plan, spec = self.plan, self.spec
        tile = Tile(Dsp(), rows, plan.nr, used)
        acc = tile.start(self.k, block)
        self._call(plan.loop(rows), *(acc[i] for i in range(rows * plan.nr)), self.activations[at],
                   self.k.weights("int32")[(block + 8 * plan.nr) // 4])
        residual = self.k.inputs[1] if spec.residual else None
        tile.finish(self.k, acc, block, self.params, out, spec.k, spec.clamp, residual)

    def _call(self, part: Any, *elements: Any, words: Sequence[Any] = ()) -> None:
        """A statement, given the addresses of elements, and words."""
        from edgecc.kernels import tir

        self.k.llvm_function(part.symbol, part.text)
        addresses = (tir.T.address_of(element) for element in elements)
        tir.T.evaluate(tir.T.call_extern("void", part.symbol, *addresses, *words))


def records(mr: int, nr: int) -> tuple[KernelRecord, KernelRecord]:
    """Of convolutions and of matrix products."""
    name = f"widened_{mr}x{nr}"
    return (planned(f"conv2d_{name}", "conv2d", Dsp(), lambda spec: Plan(spec, mr, nr), build),
            planned(f"fully_connected_{name}", "fully_connected", Dsp(),
                    lambda spec: Plan(as_conv2d(spec), mr, nr), build))


KERNELS = tuple(record for mr, nr in TILES for record in records(mr, nr))
