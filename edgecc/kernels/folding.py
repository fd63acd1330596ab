"""Rows of values joined to one, a vector at a time.

Sums of floats depend on their order: every target has the same number of partial results,
whatever its vectors hold. Value i of a row goes to partial i modulo CHAINS, but for fewer than
CHAINS values at the end, and the partials are joined in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgecc.kernels.elementwise import across

CHAINS = 4  # a vector of float32 on most cores

Value = Callable[[Any, int], Any]
"""`n` values from an offset on."""


def total(count: int, lanes: int, dtype: str, term: Value) -> Any:
    """The sum of a row. Integers have a partial sum for every lane: their order is nothing."""
    from edgecc.kernels import tir

    chains = CHAINS if dtype.startswith("float") else lanes
    return folded(count, lanes, term, tir.T.cast(0, dtype), lambda a, b: a + b, dtype, chains)


def folded(count: int, lanes: int, value: Value, start: Any, join: Callable[[Any, Any], Any],
           dtype: str, chains: int) -> Any:
    """A row's values joined, at most `lanes` at a time, to `chains` partial results and those to
    one. `start` changes nothing that it is joined with."""
    from edgecc.kernels import tir

    chains, lanes = (min(n, 1 << (count.bit_length() - 1)) for n in (chains, lanes))
    partial = tir.local(chains, dtype)
    tir.store(partial, 0, tir.splat(start, chains), chains)

    def take(at: Any, width: int) -> None:
        step = min(lanes, chains, width)
        whole = tir.let(value(at, width)) if width <= lanes else None
        for first in range(0, width, step):
            part = value(at + first, step) if whole is None else _lanes(whole, first, step, width)
            place = first % chains
            tir.store(partial, place, join(tir.load(partial, place, step), part), step)

    across(count, max(lanes, chains), take)
    result = tir.load(partial, 0)
    for i in range(1, chains):
        result = join(result, tir.load(partial, i))
    return tir.let(result)


def _lanes(vector: Any, first: int, count: int, width: int) -> Any:
    from edgecc.kernels import tir

    if count == width:
        return vector
    return tir.T.Shuffle([vector], list(range(first, first + count)))
