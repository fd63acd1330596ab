"""int8 depthwise convolutions for MVE (Cortex-M55, M85), windows of up to 4 rows and 4 columns.

Scratch holds a word for every position and channel: its values in the last four input rows, the
newest on top. A window of one channel is then up to four words, which one gathering load brings
and one VMLADAV multiplies and sums.

Packed constants: header, then per 4 channels bias int32, scale float32 and 4 x 16 weights:
[channel][column][byte of the word].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.depthwise_plan import NOT_DEPTHWISE
from edgecc.kernels.int8_packing import HEADER_BYTES, header, wrapped
from edgecc.kernels.isa.mve import VMLADAVA, Mve
from edgecc.kernels.mve_end import LANES, End
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.planned import planned
from edgecc.kernels.ring import padded
from edgecc.kernels.spec import Conv2d

WORD = 4  # rows in a word, columns in a vector
BLOCK_BYTES = LANES * (4 + 4 + WORD * WORD)
GATHER = "llvm.arm.mve.vldr.gather.offset.v4i32.p0.v4i32"
SHIFT_IN = "llvm.arm.mve.vsri.v4i32"


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution, four channels at a time."""

    spec: Conv2d

    @property
    def channels(self) -> int:
        return padded(self.spec.c, LANES)

    @property
    def width(self) -> int:
        """Columns of the padded image."""
        return self.spec.w + self.spec.pads[1] + self.spec.pads[3]

    @property
    def extent(self) -> int:
        return self.spec.n * self.spec.oh

    def over_input(self) -> int | None:
        return distance_bytes(self.spec, self.spec.ow)

    def scratch_bytes(self) -> int:
        return WORD * self.width * self.channels

    def accepts(self) -> str | None:
        s = self.spec
        if not s.depthwise:
            return NOT_DEPTHWISE
        if s.kh > WORD or s.kw > WORD or s.dilations[0] > 1:
            return f"the window has more than {WORD} rows or columns, or rows apart"
        return None

    def cost(self) -> float:
        """Estimated instructions: 18 for four outputs, 6 to bring in four values."""
        spec = self.spec
        rows = spec.n * spec.oh * self.channels / LANES
        brought = 6 if spec.c % LANES == 0 else 10
        extra = 10 if spec.residual else 0
        return rows * (spec.ow * (22 + extra) + spec.strides[0] * spec.w * brought + 20)

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec, count = self.spec, self.channels
        weights = np.asarray(constants["weights"]).reshape(spec.c, spec.kh, spec.kw)
        total = weights.sum(axis=(1, 2), dtype=np.int64)
        words = np.zeros((count, WORD, WORD), np.int8)
        words[: spec.c, : spec.kw, WORD - spec.kh :] = weights.transpose(0, 2, 1)
        head = np.zeros((2, count), np.int32)
        bias = np.asarray(constants["bias"], np.int64)
        head[0, : spec.c] = wrapped(bias - int(constants["input_zero_point"]) * total)
        head.view(np.float32)[1, : spec.c] = np.asarray(constants["scale"], np.float32)
        heads = head.reshape(2, -1, LANES).transpose(1, 0, 2).reshape(-1, 2 * LANES)
        blocks = [np.ascontiguousarray(heads).view(np.uint8),
                  words.reshape(len(heads), -1).view(np.uint8)]
        parts = [header(constants, spec.clamp, spec.residual, Mve()),
                 np.concatenate(blocks, axis=1).ravel()]
        return np.concatenate(parts)


def build(plan: Plan, symbol: str) -> Any:
    with open_kernel(plan.spec, symbol, ("int32", plan.scratch_bytes() // WORD)) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one depthwise convolution."""

    def __init__(self, k: Any, plan: Plan) -> None:
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        self.end = End(k, plan.spec.residual, bounds=plan.spec.clamp)
        byte = tir.T.cast(self.end.params.pad_value, "uint8")
        self.pad_top = tir.let(tir.T.cast(byte, "int32") << 24)
        self.pads = tir.let(tir.T.reinterpret("int32x4", tir.splat(byte, 4 * LANES)))
        step = self.spec.dilations[1] * plan.channels * WORD
        columns = tir.T.ramp(tir.T.int32(0), step, LANES)
        last = tir.splat(tir.T.int32((self.spec.kw - 1) * step), LANES)
        self.columns = tir.let(tir.T.min(columns, last))  # past the last: weights of zero

    def emit(self) -> None:
        from edgecc.kernels import tir

        plan, spec = self.plan, self.spec
        with tir.loop(0, plan.width * plan.channels // LANES) as i:
            tir.store(self.k.scratch, i * LANES, self.pads, LANES)
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // spec.oh), tir.let(row % spec.oh)
            self._advance(row, image, y)
            with tir.loop(0, spec.c // LANES) as block:
                self._channels(row, block, LANES)
            if spec.c % LANES:
                self._channels(row, spec.c // LANES, spec.c % LANES)

    def _advance(self, row: Any, image: Any, y: Any) -> None:
        """Bring in the rows that output row y is the first to need."""
        from edgecc.kernels import tir

        T, spec = tir.T, self.spec
        fresh = T.Or(row == self.k.begin, y == 0)
        kept = max(spec.kh - spec.strides[0], 0)
        with tir.loop(tir.let(T.Select(fresh, T.int32(0), T.int32(kept))), spec.kh) as r:
            line = tir.let(y * spec.strides[0] + r - spec.pads[0])
            with tir.when(T.And(line >= 0, line < spec.h)):
                self._push((image * spec.h + line) * (spec.w * spec.c))
            if spec.pads[0] or spec.pads[2]:
                with tir.when(T.Or(line < 0, line >= spec.h)):
                    self._push(None)

    def _push(self, source: Any) -> None:
        """Shift a row of the input (None: padding) into the words."""
        from edgecc.kernels import tir

        spec, count = self.spec, self.plan.channels
        start = spec.pads[1] * count
        if source is None or spec.c == count:
            with tir.loop(0, spec.w * count // LANES) as i:
                self._push_four(start + i * LANES, None if source is None else source + i * LANES)
            return
        with tir.loop(0, spec.w) as x:
            at, origin = start + x * count, tir.let(source + x * spec.c)
            with tir.loop(0, spec.c // LANES) as i:
                self._push_four(at + i * LANES, origin + i * LANES)
            for c in range(spec.c - spec.c % LANES, spec.c):
                self._push_one(at + c, origin + c)

    def _push_four(self, at: Any, source: Any) -> None:
        from edgecc.kernels import tir

        top = tir.splat(self.pad_top, LANES)
        if source is not None:
            new = tir.T.reinterpret("uint8x4", tir.load(self.k.inputs[0], source, LANES))
            top = tir.T.cast(new, "int32x4") << tir.splat(tir.T.int32(24), LANES)
        old = tir.load(self.k.scratch, at, LANES)
        tir.store(self.k.scratch, at, tir.llvm("int32x4", SHIFT_IN, top, old, tir.T.int32(8)),
                  LANES)

    def _push_one(self, at: Any, source: Any) -> None:
        from edgecc.kernels import tir

        T = tir.T
        new = T.cast(self.k.inputs[0][source], "uint32") << T.uint32(24)
        old = T.reinterpret("uint32", self.k.scratch[at]) >> T.uint32(8)
        tir.store(self.k.scratch, at, T.reinterpret("int32", T.bitwise_or(new, old)))

    def _channels(self, row: Any, block: Any, lanes: int) -> None:
        """A row of `lanes` channels."""
        from edgecc.kernels import tir

        spec, count = self.spec, self.plan.channels
        at = tir.let(HEADER_BYTES + block * BLOCK_BYTES)
        bias = tir.let(tir.load(self.k.weights("int32"), at // 4, LANES))
        scale = tir.let(tir.load(self.k.weights("float32"), at // 4 + LANES, LANES))
        weights = [tir.let(tir.load(self.k.weights("int8"), at + 8 * LANES + 16 * c, 16))
                   for c in range(lanes)]
        with tir.loop(0, spec.ow) as x:
            sums = tir.local(LANES, "int32")
            for c in range(LANES):
                first = x * (spec.strides[1] * count) + block * LANES + c
                total = self._window(first, weights[c]) if c < lanes else tir.T.int32(0)
                tir.store(sums, c, total)
            out = (row * spec.ow + x) * spec.c + block * LANES
            self.end(tir.load(sums, 0, LANES) + bias, scale, out, lanes)

    def _window(self, first: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        T, zero = tir.T, tir.T.int32(0)
        words = tir.llvm("int32x4", GATHER, T.address_of(self.k.scratch[first]), self.columns,
                         T.int32(32), zero, T.int32(1))
        return tir.llvm("int32", VMLADAVA, zero, zero, zero, zero,
                        T.reinterpret("int8x16", words), weights)


KERNELS = (planned("depthwise_words", "conv2d", Mve(), Plan, build),)
