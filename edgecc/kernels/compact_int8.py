"""int8 convolutions whose shape is data: one function serves every layer, for the smallest code.

Sizes, strides and pads are words beside the packed weights, so that the code depends on nothing
but the kind of layer. Windows that hang over the image take the zero point instead of a value;
there is no copy of the input and no scratch. Four columns (or channels) are summed at once and
brought to int8 by one loop.

Packed constants: a header of 16 words (`int8_tile.header`), the shape (SHAPE), then one block per
four columns: bias int32[4], scale float32[4], weights[taps][channels / group][4][group].
Columns and channels are padded with zeros. The bias holds -input_zero_point * Σw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.int8_packing import HEADER_BYTES, Columns, header, pack_blocks
from edgecc.kernels.int8_parameters import Parameters
from edgecc.kernels.int8_tile import Tile
from edgecc.kernels.isa import base, dsp, scalar
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import padded
from edgecc.kernels.spec import Conv2d

COLUMNS = 4
SHAPE = ("h", "w", "c", "k", "oh", "ow", "kh", "kw", "sh", "sw", "dh", "dw", "top", "left",
         "groups", "each", "blocks", "steps", "tap_bytes", "block_bytes")
SHAPE_BYTES = 96
FIRST_BLOCK = HEADER_BYTES + SHAPE_BYTES


@dataclass(frozen=True)
class Plan:
    """A convolution, or a depthwise one (`deep` False), by one instruction set."""

    spec: Conv2d
    isa: base.Isa
    deep: bool

    @property
    def extent(self) -> int:
        return self.spec.n * self.spec.oh

    def over_input(self) -> int | None:
        return distance_bytes(self.spec, self.spec.ow)

    @property
    def channels(self) -> int:
        """Of the input, that one output sums over."""
        return self.spec.c // self.spec.groups

    @property
    def groups(self) -> int:
        """That have blocks of their own: the channels of a depthwise one share theirs."""
        return self.spec.groups if self.deep else 1

    @property
    def columns(self) -> Columns:
        return Columns(padded(self.spec.k // self.groups, COLUMNS), COLUMNS, 1)

    @property
    def tap_bytes(self) -> int:
        """Packed weights of a block for one position of the window."""
        return COLUMNS * (self.channels if self.deep else 1)

    @property
    def block_bytes(self) -> int:
        return COLUMNS * 8 + self.spec.kh * self.spec.kw * self.tap_bytes

    @property
    def shape(self) -> dict[str, int]:
        """The words that SHAPE names."""
        s = self.spec
        return {"h": s.h, "w": s.w, "c": s.c, "k": s.k, "oh": s.oh, "ow": s.ow, "kh": s.kh,
                "kw": s.kw, "sh": s.strides[0], "sw": s.strides[1], "dh": s.dilations[0],
                "dw": s.dilations[1], "top": s.pads[0], "left": s.pads[1],
                "groups": self.groups, "each": s.k // self.groups, "blocks": self.columns.whole,
                "steps": self.channels // self.isa.group, "tap_bytes": self.tap_bytes,
                "block_bytes": self.block_bytes}

    @property
    def code(self) -> str:
        """What the emitted code depends on."""
        return f"clamp={self.spec.clamp} residual={self.spec.residual}"

    def accepts(self) -> str | None:
        depthwise = self.spec.depthwise and self.spec.groups > 1
        if depthwise == self.deep:
            return "for depthwise convolutions" if depthwise else "for others than depthwise ones"
        if self.deep and self.channels % self.isa.group:
            return f"{self.channels} channels are not a multiple of {self.isa.group}"
        return None

    def cost(self) -> float:
        """Estimated instructions."""
        s, each = self.spec, self.isa.multiply_cost if self.deep else 1.0
        per_step = COLUMNS * (1.0 + 2 * each) + 6.0
        steps = self.channels / self.isa.group if self.deep else 1.0
        blocks = self.columns.whole * self.groups
        windows = s.n * s.oh * s.ow * blocks
        end = 60.0 if self.isa.fast else 100.0
        return windows * (s.kh * s.kw * (steps * per_step + 12.0) + end)

    def scratch_bytes(self) -> int:
        return 0

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        s, plain = self.spec, base.Isa()
        words = np.zeros(SHAPE_BYTES // 4, np.int32)
        words[: len(SHAPE)] = [self.shape[name] for name in SHAPE]
        parts = [header(constants, s.clamp, s.residual, plain), words.view(np.uint8)]
        weights = np.asarray(constants["weights"])
        for number, chosen in enumerate(np.split(weights, self.groups)):
            flat = chosen.reshape(len(chosen), s.kh * s.kw, -1)
            parts.append(self._packed(flat, constants, number * len(chosen)))
        return np.concatenate(parts)

    def _packed(self, weights: np.ndarray, constants: Mapping[str, Any], first: int) -> np.ndarray:
        """Blocks of the columns first.., the last block filled up with zeros."""
        count, missing = len(weights), -len(weights) % COLUMNS
        picked = slice(first, first + count)
        filled = {**constants,
                  "bias": np.pad(np.asarray(constants["bias"])[picked], (0, missing)),
                  "scale": np.pad(np.asarray(constants["scale"])[picked], (0, missing))}
        whole = np.pad(weights, ((0, missing), (0, 0), (0, 0)))
        isa = self.isa if self.deep else scalar.Scalar()
        return pack_blocks(isa, self.columns, whole, filled, 0)


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    # whatever the layer, the code may not know its sizes
    inputs = [("int8", tir.UNBOUNDED)] * (2 if plan.spec.residual else 1)
    with tir.kernel(symbol, inputs=inputs, outputs=[("int8", tir.UNBOUNDED)], weights=True,
                    may_alias=True) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one kind of convolution. `at` holds the words of SHAPE."""

    def __init__(self, k: Any, plan: Plan):
        from edgecc.kernels import tir

        self.k, self.plan, self.isa = k, plan, plan.isa
        self.params = Parameters(k, plan.isa, plan.spec.residual)
        words = k.weights("int32", HEADER_BYTES)
        self.at = {name: tir.let(words[number]) for number, name in enumerate(SHAPE)}
        self.pad = tir.let(tir.T.bitwise_and(self.params.pad_value, 0xFF) * 0x01010101)
        self.sums = [tir.local(1, "int32") for _ in range(COLUMNS)]
        self.held = tir.local(COLUMNS, "int32")

    def emit(self) -> None:
        from edgecc.kernels import tir

        at = self.at
        with tir.loop(self.k.begin, self.k.end) as row:
            image = tir.let(tir.T.truncdiv(row, at["oh"]))
            top = tir.let((row - image * at["oh"]) * at["sh"] - at["top"])
            with tir.loop(0, at["groups"]) as group, tir.loop(0, at["blocks"]) as j:
                block = tir.let((group * at["blocks"] + j) * at["block_bytes"] + FIRST_BLOCK)
                column = tir.let(group * at["each"] + j * COLUMNS)
                used = tir.let(tir.T.min(at["each"] - j * COLUMNS, COLUMNS))
                channels = self._channels(group, column)
                with tir.loop(0, at["ow"]) as x:
                    left = tir.let(x * at["sw"] - at["left"])
                    self._window(image * at["h"] + top, top, left, channels, block)
                    self._finish((row * at["ow"] + x) * at["k"] + column, used, block)

    def _channels(self, group: Any, column: Any) -> list[Any]:
        """Where the sums of a block begin in a position: one channel for all, or one for each,
        not beyond the last."""
        from edgecc.kernels import tir

        if self.plan.deep:
            return [tir.let(group * (self.at["steps"] * self.isa.group))]
        return [tir.let(tir.T.min(column + i, self.at["k"] - 1)) for i in range(COLUMNS)]

    def _window(self, line: Any, top: Any, left: Any, channels: list[Any], block: Any) -> None:
        """The block's sums over the window whose first position is (top, left); `line` is top in
        all images."""
        from edgecc.kernels import tir

        at, bias = self.at, self.k.weights("int32")
        for i, held in enumerate(self.sums):
            tir.store(held, 0, bias[tir.T.truncdiv(block, 4) + i])
        with tir.loop(0, at["kh"]) as ky, tir.loop(0, at["kw"]) as kx:
            down, across = tir.let(ky * at["dh"]), tir.let(left + kx * at["dw"])
            inside = tir.let(tir.T.And(_within(top + down, at["h"]), _within(across, at["w"])))
            pixel = tir.let(((line + down) * at["w"] + across) * at["c"])
            source = _Padded(self.k.inputs[0], inside, self.pad)
            weights = tir.let(block + 8 * COLUMNS + (ky * at["kw"] + kx) * at["tap_bytes"])
            if self.plan.deep:
                self._sum(source, pixel + channels[0], weights)
            else:
                self._multiply(source, [pixel + channel for channel in channels], weights)

    def _sum(self, source: Any, pixel: Any, weights: Any) -> None:
        from edgecc.kernels import tir

        group, packed = self.isa.group, self.k.weights("int8")
        with tir.loop(0, self.at["steps"]) as step:
            (activation,) = self.isa.load(source, pixel + step * group, group)
            first = tir.let(weights + step * (COLUMNS * group))
            for i, held in enumerate(self.sums):
                column = tir.let(tir.load(packed, first + i * group, group))
                tir.store(held, 0, self.isa.multiply(held[0], activation, column))

    def _multiply(self, source: Any, channels: list[Any], weights: Any) -> None:
        from edgecc.kernels import tir

        packed = self.k.weights("int8")
        for i, (held, channel) in enumerate(zip(self.sums, channels, strict=True)):
            value = tir.T.cast(source[channel], "int32")
            tir.store(held, 0, held[0] + value * tir.T.cast(packed[weights + i], "int32"))

    def _finish(self, out: Any, used: Any, block: Any) -> None:
        """Requantize and store the sums, by one loop over them."""
        from edgecc.kernels import tir

        spec, tile = self.plan.spec, Tile(self.isa, 1, 1, 1)
        scale = self.k.weights("float32")
        for i, held in enumerate(self.sums):
            tir.store(self.held, i, held[0])
        first = tir.let(tir.T.truncdiv(block, 4) + COLUMNS)
        with tir.loop(0, used) as i:
            value = self.isa.scaled(self.held[i], tir.let(scale[first + i]))
            row = tir.let(out + i)
            residual = self.k.inputs[1] if spec.residual else None
            tile.store_row(self.k, [value], residual, row, self.params, spec.clamp)


class _Padded:
    """The input as a buffer whose elements are the padding's where the position lies outside."""

    def __init__(self, buffer: Any, inside: Any, pad: Any):
        self.buffer, self.inside, self.pad = buffer, inside, pad

    def __getitem__(self, index: Any) -> Any:
        from edgecc.kernels import tir

        value, lanes = self.buffer[index], int(getattr(index, "lanes", 1))
        if lanes == 1:
            return tir.T.if_then_else(self.inside, value, tir.T.cast(self.pad, "int8"))
        word = tir.T.reinterpret("int32", value)  # a choice of vectors would go byte by byte
        return tir.T.reinterpret(f"int8x{lanes}",
                                 tir.T.if_then_else(self.inside, word, self.pad))


def _within(position: Any, size: Any) -> Any:
    """0 <= position < size, by one comparison."""
    from edgecc.kernels import tir

    return tir.T.cast(position, "uint32") < tir.T.cast(size, "uint32")


def record(name: str, isa: base.Isa, deep: bool) -> KernelRecord:
    return planned(name, "conv2d", isa, lambda spec: Plan(spec, isa, deep), build,
                   code=lambda spec: Plan(spec, isa, deep).code)


ISAS = (dsp.Dsp(), scalar.Scalar(), scalar.SoftScalar())
KERNELS = (
    *(record("conv2d_any", isa, True) for isa in ISAS),
    *(record("depthwise_any", isa, False) for isa in ISAS),
)
