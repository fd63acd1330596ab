"""int8 depthwise convolutions for Cortex-M4, M7 and M33: pairs of columns by SMLAD.

The loops over channels are assembly (`isa/dsp_pairs.py`, `isa/dsp_widen.py`); rows, the ring and
tiles of a row are TIR.
"""

from __future__ import annotations

from typing import Any

from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.depthwise_dsp_plan import Plan
from edgecc.kernels.int8_packing import HEADER_BYTES
from edgecc.kernels.isa.dsp import Dsp
from edgecc.kernels.isa.dsp_pairs import HEAD_BYTES, Sums
from edgecc.kernels.isa.dsp_widen import CHANNELS, Blank, Widening
from edgecc.kernels.planned import planned

TILES = (8, 6, 4, 2)
Part = Sums | Widening | Blank


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    parts: list[Part] = [*plan.tiles, plan.widening, plan.blank]
    with (open_kernel(plan.spec, symbol, ("int32", plan.scratch_bytes() // 4)) as k,
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
