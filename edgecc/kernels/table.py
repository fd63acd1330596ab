"""int8 through a 256-entry table: every int8 unary function, built at compile time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import accept_all, block_count, sweep
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Table

TBL4, TBX4 = "llvm.aarch64.neon.tbl4", "llvm.aarch64.neon.tbx4"


def pack(spec: Table, constants: Mapping[str, Any]) -> np.ndarray:
    """256 bytes in the order of the unsigned byte: 0..127, then -128..-1."""
    return np.roll(np.asarray(constants["table"], np.int8), 128).view(np.uint8)


def extent(spec: Table) -> int:
    return block_count(spec.size)


def _open(spec: Table, symbol: str) -> Any:
    from edgecc.kernels import tir

    operand = [("int8", spec.size)]
    return tir.kernel(symbol, inputs=operand, outputs=operand, weights=True, may_alias=True)


def _looked_up(k: Any, at: Any) -> Any:
    from edgecc.kernels import tir

    index = tir.T.cast(tir.T.reinterpret("uint8", tir.load(k.inputs[0], at)), "int32")
    return tir.load(k.weights("int8"), index)


def build_scalar(spec: Table, symbol: str, target: Any) -> Any:
    """One byte at a time, eight per turn."""
    with _open(spec, symbol) as k:
        sweep(k, spec.size, 1, lambda at, lanes: _looked_up(k, at), unroll=8)
    return k.func


def build_neon(spec: Table, symbol: str, target: Any) -> Any:
    """The table in sixteen registers; TBL on its first quarter, TBX on the others."""
    from edgecc.kernels import tir

    with _open(spec, symbol) as k:
        table = k.weights("int8")
        quarters = [tir.let(tir.load(table, 16 * i, 16)) for i in range(16)]

        def compute(at: Any, lanes: int) -> Any:
            if lanes < 8:
                values = [_looked_up(k, at + i) for i in range(lanes)]
                return values[0] if lanes == 1 else tir.T.Shuffle(values, list(range(lanes)))
            return _through_registers(quarters, tir.let(tir.load(k.inputs[0], at, lanes)), lanes)

        sweep(k, spec.size, 16, compute)
    return k.func


def _through_registers(quarters: list[Any], index: Any, lanes: int) -> Any:
    """Indices outside 0..63 give zero (TBL) or leave the lane alone (TBX)."""
    from edgecc.kernels import tir

    kind, suffix = tir.vector("int8", lanes), f".v{lanes}i8"
    value = tir.llvm(kind, TBL4 + suffix, *quarters[:4], index)
    for first in (4, 8, 12):
        index = tir.let(index - tir.splat(tir.T.int8(64), lanes))
        value = tir.llvm(kind, TBX4 + suffix, value, *quarters[first:first + 4], index)
    return value


KERNELS = (
    KernelRecord("int8_table_scalar__generic", "table", "int8", frozenset(), accept_all,
                 lambda spec: 20 + 4.0 * spec.size, extent, pack, build_scalar),
    KernelRecord("int8_table_tbl__neon", "table", "int8", frozenset({"neon"}), accept_all,
                 lambda spec: 40 + 0.7 * spec.size, extent, pack, build_neon, fast=True),
)
