"""Layout, tile and cost of a matrix product with 4-bit weights.

Packed constants: lo and hi; then, block of columns by block, the bias, and group by group the
scales of the block's columns (float32, or bfloat16 where all are), their zeros (bytes, if there
are any) and words of eight codes, the eight neighbours along k of one column: the lowest four
bits are the first. Every part is whole words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import header
from edgecc.kernels.float_tile import ISAS, FloatIsa, Shape
from edgecc.kernels.grouped_spec import GroupedProduct

HEADER_BYTES = 16
PER_WORD = 8  # codes in a word
# The sums of a group besides those of the row, and the words being decoded, need registers too.
# name: accumulators, columns
KEPT = {"generic": (4, 2), "scalar": (8, 4), "neon": (8, 2), "avx2": (6, 2), "avx512": (12, 2)}


def _tile(isa: FloatIsa) -> FloatIsa:
    accumulators, columns = KEPT.get(isa.name, (4, 1))
    return replace(isa, accumulators=accumulators, columns=columns)


TILES = tuple(_tile(isa) for isa in ISAS if isa.name in KEPT or isa.accumulators > 3)


@dataclass(frozen=True)
class Plan:
    """One product on one instruction set."""

    spec: GroupedProduct
    isa: FloatIsa

    @property
    def shape(self) -> Shape:
        return Shape(self.isa, self.spec.n, self.spec.m)

    @property
    def rows(self) -> int:
        return self.shape.rows

    @property
    def places(self) -> tuple[int, ...]:
        """The lowest bit of each of a word's codes."""
        return tuple(range(0, 32, 4))

    @property
    def by_blocks(self) -> bool:
        """Whether the parallel loop runs over blocks of columns, all rows being one tile."""
        return self.spec.m <= self.rows

    @property
    def extent(self) -> int:
        return self.shape.blocks if self.by_blocks else -(-self.spec.m // self.rows)

    @property
    def whole_groups(self) -> int:
        return self.spec.k // self.spec.group

    @property
    def words(self) -> int:
        """Words of a column in a whole group."""
        return -(-self.spec.group // PER_WORD)

    @property
    def last_words(self) -> int:
        """Those of the last group if it is shorter, else 0."""
        return -(-(self.spec.k % self.spec.group) // PER_WORD)

    @property
    def pitch(self) -> int:
        """Prepared values of a row: whole words of them for every group."""
        return PER_WORD * (self.whole_groups * self.words + self.last_words)

    def scratch_bytes(self) -> int:
        return 4 * self.rows * (self.pitch + self.spec.groups)

    @property
    def scale_words(self) -> int:
        return -(-self.shape.block // 2) if self.spec.short_scales else self.shape.block

    @property
    def head_words(self) -> int:
        """Scales and zeros of a group of a block."""
        zeros = -(-self.shape.block // 4) if self.spec.affine else 0
        return self.scale_words + zeros

    @property
    def group_words(self) -> int:
        return self.head_words + self.shape.block * self.words

    @property
    def block_words(self) -> int:
        last = self.head_words + self.shape.block * self.last_words if self.last_words else 0
        return self.shape.block + self.whole_groups * self.group_words + last

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray:
        s, wide = self.spec, self.shape.blocks * self.shape.block
        limits = (constants["lo"], constants["hi"]) if s.clamp else (0.0, 0.0)
        parts = [header(np.float32(limits[0]), np.float32(limits[1]), 0, 0)]
        full = {name: np.zeros((wide, values.shape[1]), values.dtype)
                for name, values in ((n, np.asarray(constants[n]))
                                     for n in ("weights", "scales", "zeros"))}
        for name, values in full.items():
            values[: s.n] = constants[name]
        bias = np.zeros(wide, np.float32)
        bias[: s.n] = np.broadcast_to(np.asarray(constants["bias"], np.float32), s.n)
        for first in range(0, wide, self.shape.block):
            columns = slice(first, first + self.shape.block)
            parts.append(bias[columns].view(np.uint8))
            parts += self._groups({name: v[columns] for name, v in full.items()})
        return np.concatenate(parts)

    def _groups(self, block: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        s, parts = self.spec, []
        for g in range(s.groups):
            scales = np.ascontiguousarray(block["scales"][:, g], np.float32)
            if s.short_scales:
                parts.append(_whole((scales.view(np.uint32) >> 16).astype(np.uint16)))
            else:
                parts.append(scales.view(np.uint8))
            if s.affine:
                parts.append(_whole(np.ascontiguousarray(block["zeros"][:, g], np.uint8)))
            codes = block["weights"][:, g * s.group : (g + 1) * s.group]
            parts.append(words_of(codes, self.places))
        return parts

    def cost(self) -> float:
        """Estimated instructions."""
        s, shape = self.spec, self.shape
        rows, columns = min(self.rows, s.m), shape.columns
        words = self.pitch / PER_WORD
        step = columns * (17 + 8 * rows) + 2 * rows + 3
        end = s.groups * columns * (4 + 5 * rows)
        tiles = -(-s.m // rows) * shape.blocks
        penalty = 1.0 if self.isa.lanes > 1 else 1.6
        return 50 + penalty * (tiles * (words * step + end + 12 * rows * columns)
                               + s.m * self.pitch * 0.8)


def _whole(values: np.ndarray) -> np.ndarray:
    """Bytes, filled up to whole words."""
    raw = values.view(np.uint8)
    return np.concatenate([raw, np.zeros(-raw.size % 4, np.uint8)])


def words_of(codes: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Codes (columns, k) as words (k / 8, columns), as bytes; codes past the last are zero."""
    columns, k = codes.shape
    full = np.zeros((columns, -(-k // PER_WORD) * PER_WORD), np.uint32)
    full[:, :k] = codes
    steps = full.reshape(columns, -1, PER_WORD) << np.array(places, np.uint32)
    words = np.bitwise_or.reduce(steps, axis=2).T
    return np.ascontiguousarray(words).view(np.uint8).ravel()
