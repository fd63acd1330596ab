"""What normalization kernels share: where a slice lies, and sums over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgecc.kernels.elementwise import across, vector_bytes
from edgecc.kernels.math_spec import Normalize
from edgecc.kernels.square_root import square_root

HEADER_WORDS = 4


class Work:
    """The kernel under construction: where things lie, and the two passes over a slice."""

    def __init__(self, k: Any, spec: Normalize, target: Any) -> None:
        self.k, self.spec, self.target = k, spec, target
        self.channels = spec.groups * spec.m
        self.lanes = vector_bytes(target) // (4 if spec.dtype == "float32" else 1)
        self.root = square_root(k, target)
        self.rows = k.weights("float32", 4 * HEADER_WORDS)

    def constant_rows(self, at: Any, lanes: int) -> tuple[Any, Any]:
        from edgecc.kernels import tir

        return tuple(tir.load(self.rows, i * self.channels + at, lanes)  # type: ignore
                     for i in (0, 1))


def total_along(lanes: int, count: int, dtype: str, term: Callable[[Any, int], Any]) -> Any:
    """Sum of term(offset, lanes) over a row: one partial sum per lane, joined in order."""
    from edgecc.kernels import tir

    lanes = min(lanes, 1 << (count.bit_length() - 1))
    partial = tir.local(lanes, dtype)
    tir.store(partial, 0, tir.splat(tir.T.cast(0, dtype), lanes), lanes)

    def add(at: Any, width: int) -> None:
        value = term(at, width)
        tir.store(partial, 0, tir.load(partial, 0, width) + value, width)

    across(count, lanes, add)
    total = tir.load(partial, 0)
    for i in range(1, lanes):
        total = total + tir.load(partial, i)
    return tir.let(total)
