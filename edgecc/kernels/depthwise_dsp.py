"""int8 depthwise convolutions for Cortex-M4, M7 and M33: pairs of columns by SMLAD.

A block of channels goes through the whole image before the next one does, so that scratch holds
the rows of a few channels only. Rows are widened once, into a ring whose slots stay where they
are.

Packed constants: header, then per channel bias int32, scale float32 and the weights: of every
kernel row four bytes for two words (`isa/dsp_pairs.py`), rows of the first two words first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edgecc.kernels.int8_packing import HEADER_BYTES, header, wrapped
from edgecc.kernels.isa import dsp_pairs
from edgecc.kernels.isa.dsp import Dsp
from edgecc.kernels.isa.dsp_pairs import FARTHEST, HEAD_BYTES, Sums
from edgecc.kernels.isa.dsp_widen import CHANNELS, Blank, Widening
from edgecc.kernels.planned import planned
from edgecc.kernels.ring import padded
from edgecc.kernels.spec import Conv2d

TILES = (8, 6, 4, 2)
OUTPUTS = 96  # of a block of channels in a row: makes little of what surrounds the loops
MOST_ROWS = 8  # of a kernel: each takes a register of the FPU
Part = Sums | Widening | Blank
AROUND = 40  # instructions of a block's output row outside its loops, by the listing


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution in tiles of up to `mr` neighbouring outputs."""

    spec: Conv2d
    mr: int

    @property
    def tile(self) -> int:
        return min(self.mr, self.spec.ow)

    @property
    def columns(self) -> int:
        """Of the padded image, as far as outputs need them."""
        spec = self.spec
        return (spec.ow - 1) * spec.strides[1] + (spec.kw - 1) * spec.dilations[1] + 1

    @property
    def words(self) -> int:
        """Pairs of columns in a row."""
        return padded(self.columns, 2) // 2

    @property
    def row_bytes(self) -> int:
        return 4 * self.words

    @property
    def slots(self) -> int:
        """Rows in the ring: those that meet in an output row lie together."""
        return self.spec.dilations[0] * self.spec.kh

    @property
    def channel_bytes(self) -> int:
        return self.slots * self.row_bytes

    @property
    def block(self) -> int:
        """Channels at a time. The last block takes some again instead of being smaller."""
        count = max(self.spec.c // max(-(-OUTPUTS // self.spec.ow), CHANNELS), 1)
        return -(-self.spec.c // count)

    @property
    def blocks(self) -> int:
        return -(-self.spec.c // self.block)

    @property
    def extent(self) -> int:
        return self.spec.n * self.blocks

    def sums(self, outputs: int) -> Sums:
        spec = self.spec
        return Sums(outputs, spec.kh, spec.kw, spec.strides[1], spec.dilations[1],
                    self.row_bytes, self.channel_bytes, spec.c,
                    spec.short_sums and not spec.clamp, spec.clamp)

    @cached_property
    def tiles(self) -> list[Sums]:
        """Of a whole tile and of the rest."""
        rest = self.spec.ow % self.tile
        return [self.sums(outputs) for outputs in (self.tile, rest) if outputs]

    @property
    def widening(self) -> Widening:
        spec = self.spec
        return Widening(self.columns, spec.pads[1], spec.w, spec.c, self.channel_bytes)

    @property
    def blank(self) -> Blank:
        return Blank(self.words, self.channel_bytes)

    @property
    def weight_bytes(self) -> int:
        """Of a channel, with its bias and scale."""
        return HEAD_BYTES + 4 * self.spec.kh * self.tiles[0].groups

    def scratch_bytes(self) -> int:
        return self.block * self.channel_bytes

    def accepts(self) -> str | None:
        s = self.spec
        if not s.groups == s.c == s.k:
            return "not a depthwise convolution of multiplier 1"
        if s.residual:
            return "sums do not leave the loop before they are int8"
        if s.c < CHANNELS:
            return f"fewer than {CHANNELS} channels"
        if s.kh > MOST_ROWS:
            return f"{s.kh} kernel rows are more than {MOST_ROWS}"
        if s.ow > self.tile and self.tile * s.strides[1] % 2:
            return f"tiles of {self.tile} outputs begin on odd columns"
        farthest = max(self.tiles[0].reach, (self.tile - 1) * s.c)
        if farthest > FARTHEST or not self.widening.reaches:
            return "values are too far apart for one pointer"
        return None

    def cost(self) -> float:
        """Instructions, as they are written."""
        spec = self.spec
        whole, rest = divmod(spec.ow, self.tile)
        tiles = [*[self.tiles[0]] * whole, *self.tiles[1:] * (rest > 0)]
        row = self.block * sum(len(tile.lines) for tile in tiles) + 8 * len(tiles) + AROUND
        groups = len(self.widening.groups)
        brought = self.block / CHANNELS * (27 * groups + 8)
        lines = min(spec.strides[0], self.slots)
        return spec.n * self.blocks * spec.oh * (row + lines * brought)

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        spec = self.spec
        weights = np.asarray(constants["weights"]).reshape(spec.c, spec.kh, spec.kw)
        total = weights.sum(axis=(1, 2), dtype=np.int64)
        bias = np.asarray(constants["bias"], np.int64) - int(constants["input_zero_point"]) * total
        head = np.zeros((spec.c, 2), np.int32)
        head[:, 0] = wrapped(bias)
        head.view(np.float32)[:, 1] = np.asarray(constants["scale"], np.float32)
        parts = [head.view(np.uint8), self._words(weights).reshape(spec.c, -1).view(np.uint8)]
        return np.concatenate([header(constants, spec.clamp, spec.residual, Dsp()),
                               np.concatenate(parts, axis=1).ravel()])

    def _words(self, weights: np.ndarray) -> np.ndarray:
        """(channels, groups, kernel rows, 4): the bytes that SXTB16 makes two words of."""
        spec = self.spec
        found = dsp_pairs.words(spec.kw, spec.dilations[1], spec.strides[1])
        taps = np.zeros((*weights.shape[:2], padded(len(found), 2), 2), np.int8)
        for word, halves in enumerate(found):
            for half, tap in enumerate(halves):
                if tap is not None:
                    taps[:, :, word, half] = weights[:, :, tap]
        groups = taps.reshape(*weights.shape[:2], -1, 2, 2)
        return np.ascontiguousarray(groups.transpose(0, 2, 1, 4, 3))


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    spec = plan.spec
    inputs = [("int8", spec.n * spec.h * spec.w * spec.c)]
    outputs = [("int8", spec.n * spec.oh * spec.ow * spec.k)]
    parts: list[Part] = [*plan.tiles, plan.widening, plan.blank]
    with (tir.kernel(symbol, inputs=inputs, outputs=outputs, weights=True,
                     scratch=("int32", plan.scratch_bytes() // 4), may_alias=True) as k,
          tir.imported([part.text() for part in parts])):
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one depthwise convolution."""

    def __init__(self, k: Any, plan: Plan) -> None:
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        words, half = k.weights("int32"), tir.T.int32(0xFFFF)
        pad = tir.T.bitwise_and(words[0], half)
        self.pad = tir.let(tir.T.bitwise_or(pad, pad << 16))
        self.zero = tir.let(words[13 if plan.tiles[0].short else 1])
        self.bounds = [tir.let(words[i]) for i in (4, 5)] if plan.spec.clamp else []

    def emit(self) -> None:
        from edgecc.kernels import tir

        plan, spec = self.plan, self.spec
        with tir.loop(self.k.begin, self.k.end) as number:
            image = tir.let(number // plan.blocks)
            channel = tir.let(tir.T.min(number % plan.blocks * plan.block, spec.c - plan.block))
            with tir.loop(0, spec.oh) as y:
                self._advance(image, channel, y)
                self._tiles(image, channel, y)

    def _advance(self, image: Any, channel: Any, y: Any) -> None:
        """Bring in the rows that output row y is the first to need."""
        from edgecc.kernels import tir

        T, spec = tir.T, self.spec
        rows = spec.dilations[0] * (spec.kh - 1) + 1
        kept = max(rows - spec.strides[0], 0)
        with tir.loop(tir.let(T.Select(y == 0, T.int32(0), T.int32(kept))), rows) as r:
            line = tir.let(y * spec.strides[0] + r)
            source = tir.let(line - spec.pads[0])
            slot = tir.let(self._slot(line) * self.plan.words)
            with tir.when(T.And(source >= 0, source < spec.h)):
                self._bring((image * spec.h + source) * (spec.w * spec.c) + channel, slot)
            if spec.pads[0] or spec.pads[2]:
                with tir.when(T.Or(source < 0, source >= spec.h)):
                    _call(self.plan.blank, _address(self.k.scratch[slot]),
                          T.int32(self.plan.block), self.pad)

    def _slot(self, line: Any) -> Any:
        """Of a padded image row."""
        down, kh = self.spec.dilations[0], self.spec.kh
        return line % kh if down == 1 else line % down * kh + line // down % kh

    def _bring(self, source: Any, slot: Any) -> None:
        """Widen a row, four channels at a time; the last four may take some again."""
        from edgecc.kernels import tir

        blocks, rest = divmod(self.plan.block, CHANNELS)

        def widen(first: Any, count: Any) -> None:
            to = slot + first * (self.plan.channel_bytes // 4)
            _call(self.plan.widening, _address(self.k.inputs[0][source + first]),
                  _address(self.k.scratch[to]), count, self.pad)

        widen(0, tir.T.int32(blocks))
        if rest:
            widen(self.plan.block - CHANNELS, tir.T.int32(1))

    def _tiles(self, image: Any, channel: Any, y: Any) -> None:
        """A row of outputs of the block's channels."""
        from edgecc.kernels import tir

        plan, spec = self.plan, self.spec
        whole, rest = divmod(spec.ow, plan.tile)
        down = spec.dilations[0]
        first = tir.let(y * spec.strides[0])
        at = tir.let(first % down * (spec.kh * plan.words))
        slots = self._weights_by_slot(tir.let(first // down % spec.kh))
        out = tir.let((image * spec.oh + y) * (spec.ow * spec.c) + channel)
        weights = tir.let(HEADER_BYTES + channel * plan.weight_bytes)

        def tile(x: Any, sums: Sums) -> None:
            bytes_ = self.k.weights("uint8")
            _call(sums, _address(self.k.scratch[at + x * spec.strides[1] // 2]),
                  _address(bytes_[weights]), _address(self.k.outputs[0][out + x * spec.c]),
                  _address(bytes_[weights + plan.block * plan.weight_bytes]), *slots, self.zero,
                  *self.bounds)

        if whole == 1:
            tile(0, plan.tiles[0])
        else:
            with tir.loop(0, whole) as t:
                tile(t * plan.tile, plan.tiles[0])
        if rest:
            tile(whole * plan.tile, plan.tiles[1])

    def _weights_by_slot(self, base: Any) -> list[Any]:
        """Byte offsets in a channel's constants of the kernel row over every slot, where slot
        `base` has the first."""
        from edgecc.kernels import tir

        T, kh = tir.T, self.spec.kh
        return [tir.let(HEAD_BYTES + 4 * T.Select(base > slot, slot + kh - base, slot - base))
                for slot in range(kh)]


def _address(element: Any) -> Any:
    from edgecc.kernels import tir

    return tir.T.address_of(element)


def _call(part: Part, *arguments: Any) -> None:
    from edgecc.kernels import tir

    tir.T.evaluate(tir.T.call_extern("void", part.symbol, *arguments))


def record(mr: int) -> Any:
    return planned(f"depthwise_{mr}x1", "conv2d", Dsp(), lambda spec: Plan(spec, mr), build)


KERNELS = tuple(record(mr) for mr in TILES)
