"""int8 convolutions and matrix products for Cortex-M4, M7 and M33: widened rows by SMLAD.

Activations are widened to int16 once; four weights come as one word, whose bytes are arranged so
that SXTB16 makes pairs in order of them. So a step of 4 K costs two loads a row and three
instructions a column beside its SMLADs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.fully_connected_int8 import as_conv2d
from edgecc.kernels.int8_packing import HEADER_BYTES, header, wrapped
from edgecc.kernels.int8_parameters import Parameters
from edgecc.kernels.int8_tile import Tile
from edgecc.kernels.isa.dsp import Dsp
from edgecc.kernels.isa.dsp_loop import Loop
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import padded
from edgecc.kernels.spec import Conv2d
from edgecc.kernels.widened_rows import RowsShape, WidenedRows

GROUP = 4
TILES = ((3, 2), (2, 2), (1, 4))


@dataclass(frozen=True)
class Plan:
    """A convolution in tiles of `mr` positions by `nr` output channels."""

    spec: Conv2d
    mr: int
    nr: int

    @property
    def flat(self) -> bool:
        s = self.spec
        return not any(s.pads) and (s.kh, s.kw, s.strides) == (1, 1, (1, 1))

    @property
    def groups(self) -> int:
        """Groups of 4 K in a kernel row."""
        return padded(self.spec.kw * self.spec.c, GROUP) // GROUP

    @property
    def row_length(self) -> int:
        return self.spec.n * self.spec.oh * self.spec.ow if self.flat else self.spec.ow

    @property
    def extent(self) -> int:
        return -(-self.row_length // self.mr) if self.flat else self.spec.n * self.spec.oh

    @property
    def rows(self) -> RowsShape:
        return RowsShape(self.spec, spare=0)

    @property
    def even(self) -> bool:
        """Whether every position starts at an even element."""
        return self.flat or self.spec.strides[1] * self.spec.c % 2 == 0

    @property
    def overlaps(self) -> bool:
        """Whether the last block takes some columns again instead of being narrower: all blocks
        share one code then. A residual may lie where the output does, so it is read once only."""
        return not self.spec.residual and self.spec.k >= self.nr

    @property
    def starts(self) -> np.ndarray:
        """First column of every block."""
        starts = np.arange(0, self.spec.k, self.nr)
        return np.minimum(starts, self.spec.k - self.nr) if self.overlaps else starts

    @property
    def block_bytes(self) -> int:
        return self.nr * (8 + GROUP * self.spec.kh * self.groups)

    @property
    def narrow(self) -> bool:
        """A single row is read where it lies: widened, it would be used once only per column."""
        return self.flat and self.mr == self.row_length == 1 and self.spec.c % GROUP == 0

    def loop(self, rows: int) -> Loop:
        """The inner loop of a tile of `rows` positions."""
        spec = self.spec
        if self.narrow:
            return Loop(1, self.nr, 1, 0, self.groups, GROUP, 0, even=True, narrow=True)
        if self.flat:
            return Loop(rows, self.nr, 1, 0, self.groups, 2 * GROUP * rows, 2 * GROUP, True)
        line = 2 * spec.dilations[0] * self.rows.row_elements
        return Loop(rows, self.nr, spec.kh, line, self.groups, 2 * GROUP,
                    2 * spec.strides[1] * spec.c, self.even)

    @property
    def loops(self) -> list[Loop]:
        """Of whole tiles and of the rest."""
        rest = self.row_length % self.mr
        return [self.loop(rows) for rows in (self.mr, rest) if rows]

    def scratch_bytes(self) -> int:
        if self.flat:
            return 0 if self.narrow else 2 * self.mr * self.groups * GROUP
        return 2 * self.rows.elements

    def accepts(self) -> str | None:
        if self.spec.groups > 1:
            return "grouped convolutions have other kernels"
        if self.spec.dilations[1] > 1:
            return "columns of the window are apart"
        if self.row_length < self.mr:
            return f"fewer than {self.mr} positions in a row"
        if not self.loop(self.mr).reaches:
            return "positions are too far apart for one pointer"
        return None

    def cost(self) -> float:
        """Estimated instructions."""
        spec = self.spec
        rows = 1 if self.flat else spec.n * spec.oh
        blocks = -(-spec.k // self.nr)
        groups = spec.kh * self.groups

        def tile(mr: int) -> float:
            step = 2 * mr * self.nr + (mr if self.even else 2 * mr) + 2.5 * self.nr + 2
            return groups * step + 6 * spec.kh + mr * self.nr * 10 + 10

        whole, rest = divmod(self.row_length, self.mr)
        brought = spec.n * spec.h * spec.w * spec.c * 1.8
        return rows * blocks * (whole * tile(self.mr) + (tile(rest) if rest else 0)) + brought

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec, blocks = self.spec, self.starts
        weights = np.asarray(constants["weights"]).reshape(spec.k, spec.kh, -1)
        total = weights.sum(axis=(1, 2), dtype=np.int64)
        bias = np.asarray(constants["bias"], np.int64) - int(constants["input_zero_point"]) * total
        columns = np.add.outer(blocks, np.arange(self.nr)).ravel()
        kept, chosen = columns < spec.k, columns[columns < spec.k]
        full = np.zeros((len(columns), spec.kh, self.groups * GROUP), np.int8)
        full[kept, :, : weights.shape[2]] = weights[chosen]
        words = full.reshape(len(blocks), self.nr, spec.kh, self.groups, GROUP)
        if not self.narrow:  # as it unpacks weights, so it does activations
            words = words[..., [0, 2, 1, 3]]
        head = np.zeros((2, len(columns)), np.int32)
        head[0, kept] = wrapped(bias)[chosen]
        head.view(np.float32)[1, kept] = np.asarray(constants["scale"], np.float32)[chosen]
        heads = head.reshape(2, len(blocks), self.nr).transpose(1, 0, 2)
        packed = words.transpose(0, 2, 3, 1, 4)
        parts = [np.ascontiguousarray(p.reshape(len(blocks), -1)).view(np.uint8)
                 for p in (heads, packed)]
        return np.concatenate([header(constants, spec.clamp, spec.residual, Dsp()),
                               np.concatenate(parts, axis=1).ravel()])


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    spec = plan.spec
    size = spec.n * spec.oh * spec.ow * spec.k
    inputs = [("int8", spec.n * spec.h * spec.w * spec.c)]
    inputs += [("int8", size)] if spec.residual else []
    scratch = ("int16", plan.scratch_bytes() // 2) if plan.scratch_bytes() else None
    with (tir.kernel(symbol, inputs=inputs, outputs=[("int8", size)], weights=True,
                     scratch=scratch, may_alias=True) as k,
          tir.imported([loop.text() for loop in plan.loops])):
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
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // self.spec.oh), tir.let(row % self.spec.oh)
            self.rows.advance(row, image, y)
            self._blocks(lambda block, column, used: self._row(row, block, column, used))

    def _flat(self) -> None:
        """Positions of all rows, mr at a time."""
        from edgecc.kernels import tir

        spec, mr = self.spec, self.plan.mr
        whole, rest = divmod(self.plan.row_length, mr)

        def tiles(first: Any, count: int) -> None:
            if not self.plan.narrow:
                with tir.loop(0, count) as i:
                    self.rows.bring((first + i) * spec.c, i * GROUP, spec.c, count * GROUP)
            self._blocks(lambda block, column, used: self._tile(
                count, used, block, 0, first * spec.k + column))

        with tir.loop(self.k.begin, tir.T.min(self.k.end, whole)) as t:
            tiles(t * mr, mr)
        if rest:
            with tir.when(self.k.end > tir.T.max(self.k.begin, whole)):
                tiles(whole * mr, rest)

    def _blocks(self, emit: Any) -> None:
        """emit(byte offset, first column, columns in use) for every block of columns."""
        from edgecc.kernels import tir

        nr, size = self.plan.nr, self.plan.block_bytes
        whole, rest = divmod(self.spec.k, nr)
        if rest and self.plan.overlaps:
            with tir.loop(0, whole + 1) as b:
                column = tir.let(tir.T.min(b * nr, self.spec.k - nr))
                emit(tir.let(HEADER_BYTES + b * size), column, nr)
            return
        if whole:
            with tir.loop(0, whole) as b:
                emit(tir.let(HEADER_BYTES + b * size), b * nr, nr)
        if rest:
            emit(HEADER_BYTES + whole * size, whole * nr, rest)

    def _row(self, row: Any, block: Any, column: Any, used: int) -> None:
        from edgecc.kernels import tir

        spec, mr = self.spec, self.plan.mr
        whole, rest = divmod(spec.ow, mr)
        step = spec.strides[1] * spec.c
        out = row * (spec.ow * spec.k) + column
        if whole:
            with tir.loop(0, whole) as t:
                self._tile(mr, used, block, t * (mr * step), out + t * (mr * spec.k))
        if rest:
            self._tile(rest, used, block, whole * mr * step, out + whole * mr * spec.k)

    def _tile(self, rows: int, used: int, block: Any, at: Any, out: Any) -> None:
        """`rows` positions from element `at` of the first widened row on."""
        from edgecc.kernels import tir

        plan, spec = self.plan, self.spec
        tile = Tile(Dsp(), rows, plan.nr, used)
        acc = tile.start(self.k, block)
        address = tir.T.address_of
        tir.T.evaluate(tir.T.call_extern(
            "void", plan.loop(rows).symbol, address(acc[0]), address(self.activations[at]),
            address(self.k.weights("int32")[(block + 8 * plan.nr) // 4])))
        residual = self.k.inputs[1] if spec.residual else None
        tile.finish(self.k, acc, block, self.params, out, spec.k, spec.clamp, residual)


def records(mr: int, nr: int) -> tuple[KernelRecord, KernelRecord]:
    """Of convolutions and of matrix products."""
    name = f"widened_{mr}x{nr}"
    return (planned(f"conv2d_{name}", "conv2d", Dsp(), lambda spec: Plan(spec, mr, nr), build),
            planned(f"fully_connected_{name}", "fully_connected", Dsp(),
                    lambda spec: Plan(as_conv2d(spec), mr, nr), build))


KERNELS = tuple(record for mr, nr in TILES for record in records(mr, nr))
