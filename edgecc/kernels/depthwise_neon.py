"""int8 depthwise convolutions on plain NEON (Cortex-A53, A72): windows that walk along rows.

A row of 16 (or 8) channels is one statement (`isa/neon_walk.py`), which reads the image where it
lies and puts padding left and right of it itself; rows above and below are a row of padding in
scratch. Rows and blocks of channels are TIR.

Packed constants: header, then the blocks of channels as the statement reads them. The last block
takes some channels again instead of being narrower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgecc.kernels.depthwise_plan import refused
from edgecc.kernels.int8_packing import HEADER_BYTES, header, wrapped
from edgecc.kernels.isa import neon_walk
from edgecc.kernels.isa.neon import NeonEnd
from edgecc.kernels.isa.neon_walk import MOST_ROWS, WIDTHS, Walk
from edgecc.kernels.isa.neon_walk_lines import executed, text
from edgecc.kernels.planned import planned
from edgecc.kernels.ring import COPY_LANES, padded
from edgecc.kernels.spec import Conv2d

AROUND = 60  # instructions of an output row outside its statements, by the listing
BETWEEN = 12  # the same of a block


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution, a row of some channels at a time."""

    spec: Conv2d

    @property
    def isa(self) -> NeonEnd:
        return NeonEnd()

    def walk(self, width: int) -> Walk:
        spec = self.spec
        return Walk(spec.kh, spec.kw, spec.strides[1], spec.ow, spec.pads[1], spec.w, width,
                    spec.short_sums, spec.clamp)

    @cached_property
    def width(self) -> int:
        """Channels of a block; 0 if no window of any fits the registers."""
        return next((width for width in WIDTHS if width <= self.spec.c
                     and self.walk(width).registers is not None), 0)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """(first channel, width) of every block."""
        whole, rest = divmod(self.spec.c, self.width)
        found = [(i * self.width, self.width) for i in range(whole)]
        if rest:
            width = WIDTHS[-1] if rest <= WIDTHS[-1] else self.width
            found.append((self.spec.c - width, width))
        return found

    @property
    def extent(self) -> int:
        return self.spec.n * self.spec.oh

    def scratch_bytes(self) -> int:
        above, _, below, _ = self.spec.pads
        return padded(self.spec.w * self.spec.c, COPY_LANES) if above or below else 0

    def accepts(self) -> str | None:
        s = self.spec
        if reason := refused(s):
            return reason
        if s.wide_weights:
            return "a weight of -128 could overflow the int16 sum of two products"
        if s.dilations[1] > 1 or s.strides[1] > s.kw:
            return "columns of the window are apart, or windows are"
        if s.kh > MOST_ROWS or not self.width:
            return "the window does not fit the registers, or there are fewer than 8 channels"
        return None

    def cost(self) -> float:
        """Instructions, as they are written."""
        spec = self.spec
        walked = sum(executed(self.walk(width)) + BETWEEN for _, width in self.blocks)
        return spec.n * spec.oh * (AROUND + walked) + 3 * self.scratch_bytes() / COPY_LANES

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec = self.spec
        weights = np.asarray(constants["weights"]).reshape(spec.c, spec.kh, spec.kw)
        zero = int(constants["input_zero_point"])
        total = weights.sum(axis=(1, 2), dtype=np.int64)
        bias = wrapped(np.asarray(constants["bias"], np.int64) - zero * total)
        scale = np.asarray(constants["scale"], np.float32)
        parts = [header(constants, spec.clamp, spec.residual, self.isa)]
        for first, width in self.blocks:
            some = slice(first, first + width)
            parts += [bias[some].view(np.uint8), scale[some].view(np.uint8),
                      self._woven(weights[some]).view(np.uint8)]
        return np.concatenate(parts)

    def _woven(self, weights: np.ndarray) -> np.ndarray:
        """The weights of a block, interleaved as positions are."""
        spec = self.spec
        parts = [np.stack([weights[:, ky, kx] for ky, kx in pair], axis=1).ravel()
                 for pair in neon_walk.pairs(spec.kh, spec.kw)]
        tap = neon_walk.single(spec.kh, spec.kw)
        if tap:
            parts.append(weights[:, tap[0], tap[1]])
        woven = np.concatenate(parts)
        return np.pad(woven, (0, -len(woven) % 16))


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    spec = plan.spec
    inputs = [("int8", spec.n * spec.h * spec.w * spec.c)]
    outputs = [("int8", spec.n * spec.oh * spec.ow * spec.k)]
    scratch = ("int8", plan.scratch_bytes()) if plan.scratch_bytes() else None
    with tir.kernel(symbol, inputs=inputs, outputs=outputs, weights=True, scratch=scratch,
                    may_alias=True) as k:
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
            first = tir.let(y * spec.strides[0] - spec.pads[0])
            self._blocks(row, [self._line(image, tir.let(first + ky * spec.dilations[0]))
                               for ky in range(spec.kh)])

    def _line(self, image: Any, line: Any) -> Any:
        """Where a row begins in the input; -1 if it is not of the image."""
        from edgecc.kernels import tir

        T, spec = tir.T, self.spec
        begin = tir.let((image * spec.h + line) * (spec.w * spec.c))
        if not self.plan.scratch_bytes():
            return begin
        return tir.let(T.Select(T.And(line >= 0, line < spec.h), begin, T.int32(-1)))

    def _blocks(self, row: Any, lines: list[Any]) -> None:
        from edgecc.kernels import tir

        blocks, walk = self.plan.blocks, self.plan.walk(self.plan.width)
        alike = sum(width == walk.width for _, width in blocks)
        with tir.loop(0, alike) as j:
            channel = tir.let(tir.T.min(j * walk.width, self.spec.c - walk.width))
            self._walk(walk, row, lines, HEADER_BYTES + j * walk.block_bytes, channel)
        for first, width in blocks[alike:]:
            self._walk(self.plan.walk(width), row, lines,
                       HEADER_BYTES + alike * walk.block_bytes, first)

    def _walk(self, walk: Walk, row: Any, lines: list[Any], block: Any, channel: Any) -> None:
        from edgecc.kernels import tir

        T, spec = tir.T, self.spec
        self.k.llvm_function(walk.symbol, lambda: text(walk))
        T.evaluate(T.call_extern(
            "int32", walk.symbol, T.address_of(self.k.weights("uint8")[block]),
            T.address_of(self.k.outputs[0][row * (spec.ow * spec.c) + channel]),
            T.int64(spec.c), self.round, *self.bounds, self.pad,
            T.address_of(self.k.inputs[0][channel]), self._blank(channel), *lines))

    def _blank(self, channel: Any) -> Any:
        """The row of padding; where there is none, no row asks for it."""
        from edgecc.kernels import tir

        rows = self.k.scratch if self.plan.scratch_bytes() else self.k.inputs[0]
        return tir.T.address_of(rows[channel])


KERNELS = (planned("depthwise_walk", "conv2d", NeonEnd(), Plan, build),)
