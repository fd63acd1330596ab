"""int8 depthwise convolutions on plain NEON (Cortex-A53, A72): windows that walk along rows.

A row of 16 (or 8) channels is one statement (`isa/neon_walk.py`), which reads the image where it
lies and knows what is left and right of it. If only the first and last rows have padding above or
below, they have statements with fewer rows of the kernel (`edges.py`) where rows are long enough;
otherwise rows of padding are one in scratch. Rows and blocks of channels are TIR.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import reduce
from typing import Any

from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.depthwise_neon_plan import Band, Plan
from edgecc.kernels.int8_packing import HEADER_BYTES
from edgecc.kernels.isa.neon import NeonEnd
from edgecc.kernels.isa.neon_walk import End, Walk
from edgecc.kernels.isa.neon_walk_lines import text
from edgecc.kernels.planned import planned
from edgecc.kernels.ring import COPY_LANES


def build(plan: Plan, symbol: str) -> Any:
    scratch = ("int8", plan.scratch_bytes()) if plan.scratch_bytes() else None
    with open_kernel(plan.spec, symbol, scratch) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one depthwise convolution."""

    def __init__(self, k: Any, plan: Plan) -> None:
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        words = k.weights("int32")
        self.pad = tir.let(words[0])
        self.round = tir.let(words[13 if plan.spec.short_sums else 1])
        self.bounds = [tir.let(words[i]) for i in (4, 5)]

    def emit(self) -> None:
        from edgecc.kernels import tir

        spec = self.spec
        if self.plan.scratch_bytes():
            row = tir.splat(tir.T.cast(self.pad, "int8"), COPY_LANES)
            with tir.loop(0, self.plan.scratch_bytes() // COPY_LANES) as i:
                tir.store(self.k.scratch, i * COPY_LANES, row, COPY_LANES)
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // spec.oh), tir.let(row % spec.oh)
            for bands in self.plan.shared:
                with self._where(bands, y):
                    self._row(bands, row, image, y)

    def _where(self, bands: list[Band], y: Any) -> Any:
        """Runs its body at the output rows of some bands."""
        from edgecc.kernels import tir

        if bands[0].y is not None:
            return tir.when(reduce(tir.T.Or, [y == band.y for band in bands]))
        others = [y != band.y for band in self.plan.bands[1:]]
        return tir.when(reduce(tir.T.And, others)) if others else nullcontext()

    def _row(self, bands: list[Band], row: Any, image: Any, y: Any) -> None:
        """One output row, of one of some bands."""
        from edgecc.kernels import tir

        spec, plan, walk = self.spec, self.plan, self.plan.walk(self.plan.width, band=bands[0])
        above = self._of(bands, y, [band.first for band in bands])
        at = self._of(bands, y, [plan.at(band) for band in bands])
        first = tir.let(y * spec.strides[0] - spec.pads[0] + above * spec.dilations[0])
        lines = [self._line(image, tir.let(first + ky * spec.dilations[0]))
                 for ky in range(walk.kh)]
        alike = sum(width == plan.width for _, width in plan.blocks)
        with tir.loop(0, alike) as j:
            channel = tir.let(tir.T.min(j * plan.width, spec.c - plan.width))
            self._block(j, walk, at + j * walk.block_bytes, row, lines, channel)
        for channel, width in plan.blocks[alike:]:
            self._block(alike, plan.walk(width, band=bands[0]), at + alike * walk.block_bytes,
                        row, lines, channel)

    def _of(self, bands: list[Band], y: Any, values: list[int]) -> Any:
        """The value of the band that output row y is of."""
        from edgecc.kernels import tir

        if len(values) == 1:
            return values[0]
        return tir.let(tir.T.Select(y == bands[0].y, values[0], values[1]))

    def _line(self, image: Any, line: Any) -> Any:
        """Where a row begins in the input; -1 if it is not of the image."""
        from edgecc.kernels import tir

        T, spec = tir.T, self.spec
        begin = tir.let((image * spec.h + line) * (spec.w * spec.c))
        if not self.plan.scratch_bytes():
            return begin
        return tir.let(T.Select(T.And(line >= 0, line < spec.h), begin, T.int32(-1)))

    def _block(self, number: Any, walk: Walk, at: Any, row: Any, lines: list[Any],
               channel: Any) -> None:
        """One block, its sums to int8 in fixed point or not."""
        from edgecc.kernels import tir

        fixed = tir.let(self.k.weights("int32")[HEADER_BYTES // 4 + number])
        ends: list[tuple[End, Any]] = [("fixed", fixed != 0), (self.plan.real, fixed == 0)]
        for end, condition in ends:
            with tir.when(condition):
                self._walk(replace(walk, end=end), at, row, lines, channel)

    def _walk(self, walk: Walk, at: Any, row: Any, lines: list[Any], channel: Any) -> None:
        from edgecc.kernels import tir

        T, spec = tir.T, self.spec
        self.k.llvm_function(walk.symbol, lambda: text(walk))
        T.evaluate(T.call_extern(
            "int32", walk.symbol, T.address_of(self.k.weights("uint8")[at]),
            T.address_of(self.k.outputs[0][row * (spec.ow * spec.c) + channel]),
            T.int64(spec.c), self.round, *self.bounds, self.pad,
            T.address_of(self.k.inputs[0][0]), T.address_of(self._blank[0]), channel, *lines))

    @property
    def _blank(self) -> Any:
        """The row of padding; where there is none, no row asks for it."""
        return self.k.scratch if self.plan.scratch_bytes() else self.k.inputs[0]


KERNELS = (planned("depthwise_walk", "conv2d", NeonEnd(), Plan, build),)
