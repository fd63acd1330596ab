"""Depthwise rows on plain NEON: what a window that walks along a row keeps in which register.

Products of two taps fit int16 while no weight is -128, and SADALP adds neighbouring int16 to an
int32: so the positions of two taps are interleaved, channel by channel, and two such pairs take
SMULL, SMLAL and SADALP for four channels: three instructions, sixteen products. Pairs are of two
kernel rows in a column, and every column is loaded and interleaved once for all the outputs that
it is under; the last of an odd number of rows is paired along the row. A tap that is left over is
added by SADDW. Sums begin as the bias: one LD1, where to keep it would take registers that scales
take. Taps in padding left and right are left out, and outputs without them have biases of their
own; only of two that are paired along the row, padding stands in for one.

Columns live in registers by turns (column modulo kernel width), so the loop is written out for as
many outputs as it takes for turns to repeat. Weights stay in registers, or are loaded where they
are used if there is no room.
Source: Arm Architecture Reference Manual, A64 SIMD instructions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from edgecc.kernels.isa.assembled import REGISTERS

LANES = 8  # channels of two taps in a register
WIDTHS = (16, 8)
STREAMED = 2  # registers for weights that do not stay
PRODUCTS = (4, 3, 2)  # registers for products on their way, if there are so many
MOST_ROWS = 8  # of a kernel: each takes a pointer

Tap = tuple[int, int]  # kernel row, column
End = Literal["fixed", "short", "long"]
"""How sums become int8: see `fixed_point` and `short_sums`, or by the law as it stands."""


def pairs(kh: int, kw: int) -> list[tuple[Tap, Tap]]:
    """Two taps at a time: of two rows, then along the last row."""
    found = [((ky, kx), (ky + 1, kx)) for ky in range(0, kh - 1, 2) for kx in range(kw)]
    if kh % 2:
        found += [((kh - 1, kx), (kh - 1, kx + 1)) for kx in range(0, kw - 1, 2)]
    return found


def single(kh: int, kw: int) -> Tap | None:
    """The tap that is left over."""
    return (kh - 1, kw - 1) if kh * kw % 2 else None


@dataclass(frozen=True)
class Walk:
    """`outputs` of `width` channels. Of the padded columns, `image` from `left` on are in memory;
    the others are a value.

    Constants of a block: bias int32[width], scale float32[width] or multiplier int32[width], then
    of every pair of taps its weights, interleaved, and those of a single tap, filled up to 16
    bytes; then a bias for each of `edges`.
    """

    kh: int
    kw: int
    stride: int
    outputs: int
    left: int
    image: int
    width: int
    clamp: bool
    end: End

    @property
    def symbol(self) -> str:
        numbers = (self.kh, self.kw, self.stride, self.outputs, self.left, self.image,
                   self.width, int(self.clamp), self.end)
        return f"edgecc_walk_{'_'.join(map(str, numbers))}"

    @property
    def parts(self) -> int:
        """Registers of two interleaved positions."""
        return self.width // LANES

    @property
    def vectors(self) -> int:
        """Accumulators."""
        return self.width // 4

    @property
    def weight_registers(self) -> int:
        return len(pairs(self.kh, self.kw)) * self.parts + (single(self.kh, self.kw) is not None)

    @property
    def block_bytes(self) -> int:
        return self.edge_bytes + 4 * self.width * len(self.edges)

    @property
    def edge_bytes(self) -> int:
        """Where the biases of edges begin."""
        return 8 * self.width + 16 * self.weight_registers

    @cached_property
    def registers(self) -> Registers | None:
        """Who has which register, if all have room."""
        for kept in (True, False):
            for products in PRODUCTS:
                found = Registers(self, products, kept)
                if found.count <= REGISTERS:
                    return found
        return None

    @property
    def turns(self) -> int:
        """Outputs until every column is where it was."""
        return self.kw // math.gcd(self.kw, self.stride)

    def inside(self, column: int) -> bool:
        """Whether a padded column is in memory."""
        return self.left <= column < self.left + self.image

    def left_out(self, number: int) -> frozenset[Tap]:
        """The taps of an output that are not multiplied."""
        first, alone = number * self.stride, single(self.kh, self.kw)
        together: list[tuple[Tap, ...]] = [*pairs(self.kh, self.kw), *([(alone,)] if alone else [])]
        return frozenset(tap for taps in together for tap in taps
                         if not any(self.inside(first + kx) for _, kx in taps))

    @cached_property
    def edges(self) -> list[frozenset[Tap]]:
        """What outputs leave out, each once."""
        return sorted({self.left_out(i) for i in range(self.outputs)} - {frozenset()}, key=sorted)

    @cached_property
    def stand_ins(self) -> set[int]:
        """The padded columns of which a last row is padding beside a value of the image."""
        last = [pair for pair in pairs(self.kh, self.kw) if pair[0][0] == pair[1][0]]
        columns = [[i * self.stride + kx for _, kx in pair]
                   for pair in last for i in range(self.outputs)]
        return {column for pair in columns if any(map(self.inside, pair))
                for column in pair if not self.inside(column)}

    @property
    def alike(self) -> range:
        """The outputs whose columns are all in memory."""
        found = [i for i in range(self.outputs)
                 if all(self.inside(i * self.stride + kx) for kx in range(self.kw))]
        return range(found[0], found[-1] + 1) if found else range(0)

    @property
    def loops(self) -> int:
        """Times that the loop is gone through; 0 where nothing is worth one."""
        times = len(self.alike) // self.turns
        return times if times > 1 else 0


@dataclass(frozen=True)
class Registers:
    """A share of the register file for everything, from register 0 on."""

    walk: Walk
    products: int
    kept: bool  # whether weights are

    @property
    def columns(self) -> int:
        """Of one column: its pairs of rows, and what a last row has alone."""
        return self.walk.kh // 2 * self.walk.parts + self.walk.kh % 2

    @cached_property
    def first(self) -> dict[str, int]:
        """Where each share begins."""
        walk = self.walk
        sizes = {"sum": walk.vectors, "scale": walk.vectors,
                 "weight": walk.weight_registers if self.kept else STREAMED,
                 "round": walk.end != "fixed", "product": self.products, "free": 2,
                 "column": walk.kw * self.columns}
        found, at = {}, 0
        for name, size in sizes.items():
            found[name], at = at, at + size
        return found | {"end": at}

    @property
    def count(self) -> int:
        return self.first["end"]

    def rows(self, column: int, ky: int, part: int = 0) -> int:
        """Two rows from ky on of a column, or a last row."""
        place = ky // 2 * self.walk.parts + part
        return self.first["column"] + column % self.walk.kw * self.columns + place
