"""Packed constants of int8 tiles.

A header of 16 words (see `header`), then one block per NR output columns: bias int32[NR],
scale float32[NR], weights[K / group][NR][group]. Columns and K are padded with zeros. The bias
already holds -input_zero_point * Σw, so activations are multiplied as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.isa.base import MAGIC, Isa
from edgecc.kernels.ring import padded

HEADER_BYTES = 64


@dataclass(frozen=True)
class Columns:
    """Output columns cut into blocks of `nr`, the last one narrower (padded to whole vectors)."""

    count: int
    nr: int
    lanes: int

    @property
    def whole(self) -> int:
        return self.count // self.nr

    @property
    def rest(self) -> int:
        return self.count % self.nr

    @property
    def rest_width(self) -> int:
        return padded(self.rest, self.lanes)

    def blocks(self) -> list[tuple[int, int, int]]:
        """(first column, padded width, columns in use) of every block."""
        found = [(i * self.nr, self.nr, self.nr) for i in range(self.whole)]
        if self.rest:
            found.append((self.whole * self.nr, self.rest_width, self.rest))
        return found


def block_bytes(isa: Isa, width: int, depth: int) -> int:
    """Bytes of a block: bias, scale, and `depth` (padded K) weights per column; whole words, so
    that the next block's bias is aligned."""
    return padded(width * (8 + depth * np.dtype(isa.weight_dtype).itemsize), 4)


def header(constants: Mapping[str, Any], clamp: bool, residual: bool, isa: Isa) -> np.ndarray:
    """Words: 0 pad value, 1 zero point, 2-3 float bounds about it, 4-5 int8 bounds,
    6-7 inner float bounds, 8 ratio, 9 residual ratio, 10 residual zero point,
    11-12 inner integer bounds about the zero point, 13 what rounds a float and adds the zero
    point."""
    words = np.zeros(16, np.int32)
    floats = words.view(np.float32)
    zero_point = int(constants["output_zero_point"])
    low = int(constants["lo"]) if clamp else -128
    high = int(constants["hi"]) if clamp else 127
    words[0] = int(constants["input_zero_point"]) + isa.activation_offset
    words[1], words[4], words[5] = zero_point, low, high
    floats[2], floats[3] = low - zero_point, high - zero_point
    floats[13] = MAGIC + zero_point
    if residual:
        inner = int(constants["inner_zero_point"])
        floats[6] = int(constants["inner_lo"]) - inner
        floats[7] = int(constants["inner_hi"]) - inner
        floats[8] = np.float32(constants["ratio"])
        floats[9] = np.float32(constants["residual_ratio"])
        words[10] = int(constants["residual_zero_point"])
        words[11] = int(constants["inner_lo"]) - inner
        words[12] = int(constants["inner_hi"]) - inner
    return words.view(np.uint8)


def wrapped(values: np.ndarray) -> np.ndarray:
    """int64 as int32, wrapping as a 32-bit accumulator does."""
    return values.astype(np.uint64).astype(np.uint32).view(np.int32)


def pack_blocks(
    isa: Isa, columns: Columns, weights: np.ndarray, constants: Mapping[str, Any], first: int
) -> np.ndarray:
    """Blocks of `weights` (columns, segments, values) for columns first.. of the constants.

    Every segment (a run of contiguous activations) is padded to whole groups.
    """
    count, segments, values = weights.shape
    depth = segments * padded(values, isa.group)
    full = np.zeros((count, segments, padded(values, isa.group)), np.int32)
    full[:, :, :values] = weights
    total = full.sum(axis=(1, 2), dtype=np.int64)
    offset = int(constants["input_zero_point"]) + isa.activation_offset
    picked = slice(first, first + count)
    bias = np.asarray(constants["bias"], np.int64)[picked] - offset * total
    scale = np.asarray(constants["scale"], np.float32)[picked]
    parts = []
    for start, width, used in columns.blocks():
        block = np.zeros((width, depth), isa.weight_dtype)
        block[:used] = full.reshape(count, depth)[start : start + used]
        fitted = isa if width == columns.nr else isa.fitted(width)
        packed = _by_step(fitted, block.reshape(width, segments, -1))
        head = np.zeros((2, width), np.int32)
        head[0, :used] = wrapped(bias[start : start + used])
        head.view(np.float32)[1, :used] = scale[start : start + used]
        parts += [head.view(np.uint8).ravel(), packed,
                  np.zeros(-packed.size % 4, np.uint8)]
    return np.concatenate(parts)


def _by_step(isa: Isa, block: np.ndarray) -> np.ndarray:
    """Weights (width, segments, values) in the order the multiply steps read them, as bytes."""
    width, segments, values = block.shape
    parts = []
    for at, length in isa.widths(values):
        chunk = isa.chunk(length)
        piece = block[:, :, at : at + length].reshape(width, segments, length // chunk, chunk)
        steps = np.ascontiguousarray(piece.transpose(1, 2, 0, 3))
        parts.append(isa.arranged(steps).reshape(segments, -1))
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).view(np.uint8).ravel()
