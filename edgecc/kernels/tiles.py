"""Tiles: kernels of the catalogue with other numbers of rows and columns.

The catalogue holds the tiles that are worth choosing by their estimate. A search, or a user, may
take any other that the registers have room for: it is made from its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from edgecc.kernels import (
    catalogue,
    conv2d_float,
    conv2d_int8,
    depthwise_int8,
    float_tile,
    half_tile,
    matmul_int8,
)
from edgecc.kernels import fully_connected_float as dense_float
from edgecc.kernels import fully_connected_int8 as dense_int8
from edgecc.kernels.float16 import derived
from edgecc.kernels.isa.base import Isa
from edgecc.kernels.registry import KernelRecord, all_kernels, suited
from edgecc.kernels.spec import Spec

MOST_ROWS = 8
MOST_VECTORS = 8  # of columns side by side


def tile_of(name: str) -> str:
    """`4x16` of int8_conv2d_4x16__dotprod; a word for kernels that have no such numbers."""
    return name.partition("__")[0].rpartition("_")[2]


def candidates(spec: Spec, features: Iterable[str]) -> list[KernelRecord]:
    """Every kernel for `spec`, of the catalogue or not: those that suit the core first, cheapest
    first."""
    plain = (k for k in (*all_kernels(), *others()) if k.code is None)
    return suited(plain, spec, features)


def made(name: str) -> KernelRecord | None:
    """The kernel of that name which the catalogue does not have."""
    return _by_name().get(name)


@cache
def _by_name() -> dict[str, KernelRecord]:
    return {record.name: record for record in others()}


@cache
def others() -> tuple[KernelRecord, ...]:
    """Kernels that the catalogue does not have, one for every tile with room in registers."""
    listed = {record.name for record in catalogue.KERNELS}
    made: dict[str, KernelRecord] = {}
    for record in (*_products(), *_depthwise(), *_floats()):
        if record.name not in listed:
            made.setdefault(record.name, record)
    return tuple(made.values())


def _products() -> Iterator[KernelRecord]:
    for isa, tiles in conv2d_int8.TILES:
        for mr, nr in _sizes(isa, tiles):
            yield conv2d_int8.record(isa, mr, nr)
            yield dense_int8.record(isa, mr, nr)
    for isa, tiles in matmul_int8.TILES:
        for mr, nr in _sizes(isa, tiles):
            yield matmul_int8.record(isa, mr, nr)


def _sizes(isa: Isa, tiles: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    if all(mr == 1 for mr, _ in tiles):
        return  # made for single rows
    for vectors in range(1, MOST_VECTORS + 1):
        for mr in range(1, MOST_ROWS + 1):
            nr = vectors * max(isa.lanes, isa.columns)
            if _held(isa, mr, nr) <= isa.registers:
                yield mr, nr


def _held(isa: Isa, mr: int, nr: int) -> int:
    """Registers: sums, activations, weights, and products on the way. Assembler text must fit."""
    products = max(mr + 1, 4) if isa.row_pairs or isa.partials > 1 else 0
    rows = -(-mr // isa.rows_joined)
    sums = (mr + mr % 2 if isa.row_pairs else rows) * nr // (isa.columns or isa.lanes)
    return sums + rows + products + (4 if isa.assembled else 2)


def _depthwise() -> Iterator[KernelRecord]:
    for isa, _ in depthwise_int8.ISAS:
        for mr in range(1, MOST_ROWS + 1):
            block = depthwise_int8.block_of(isa)
            if mr * block // isa.lanes + 4 <= isa.registers:
                yield depthwise_int8.record(isa, mr)


def _floats() -> Iterator[KernelRecord]:
    """No more accumulators than the catalogue's tiles have."""
    for isa in (*float_tile.ISAS, *half_tile.ISAS):
        for columns in range(1, MOST_VECTORS + 1):
            for mr in range(1, min(MOST_ROWS, isa.accumulators // columns) + 1):
                tile = replace(isa, columns=columns, accumulators=mr * columns)
                convolution = conv2d_float.record(tile)
                made = (convolution, dense_float.of_convolution(convolution))
                yield from (*made, *derived(made))
