"""The public entry for anyone's placement problem."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from edgecc.errors import ConfigError, DoesNotFit
from edgecc.memory.problem import Item, Problem
from edgecc.memory.search import solve

BufferRow = tuple[Any, int, int, int]


def place(buffers: Iterable[BufferRow], capacity_bytes: int | None = None) -> dict[Any, int]:
    """Offsets for buffers that never share a byte while both are alive.

    Each buffer is (id, lower, upper, size_bytes), alive in [lower, upper). With a capacity the
    first placement within it is returned; without one, the smallest found.
    Units: bytes; lifetimes in any unit of time.
    Raises: ConfigError for a buffer that makes no sense, DoesNotFit when no placement within the
    capacity is found; the message says whether it is proved that there is none.
    """
    rows = list(buffers)
    problem = Problem(tuple(_item(n, row) for n, row in enumerate(rows)))
    _check_unique([row[0] for row in rows])
    bound, time = problem.bound
    if capacity_bytes is not None and bound > capacity_bytes:
        raise DoesNotFit(
            f"buffers alive at time {time} exceed the capacity: short by "
            f"{bound - capacity_bytes:,} B",
            needed=f"{bound:,} B", available=f"{capacity_bytes:,} B",
            advice="no placement exists: shorten lifetimes or shrink buffers",
        )
    found = solve(problem, good_enough_bytes=capacity_bytes or 0)
    if capacity_bytes is not None and found.total_bytes > capacity_bytes:
        raise DoesNotFit(
            f"no placement within the capacity was found; {bound:,} B are alive at once, so one "
            "may exist",
            needed=f"{found.total_bytes:,} B", available=f"{capacity_bytes:,} B",
            advice=f"allow {found.total_bytes - capacity_bytes:,} B more",
        )
    return {row[0]: found.offsets[n] for n, row in enumerate(rows)}


def _item(number: int, row: BufferRow) -> Item:
    try:
        _, lower, upper, size = row
        good = lower < upper and size >= 0
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"buffer {number} is {row!r}", advice="give (id, lower, upper, size_bytes)"
        ) from error
    if not good:
        raise ConfigError(
            f"buffer {row[0]!r} is alive in [{lower}, {upper}) with {size} bytes",
            advice="lower must be below upper, and the size at least 0",
        )
    return Item(number, lower, upper, size)


def _check_unique(ids: list[Any]) -> None:
    seen: set[Hashable] = set()
    for key in ids:
        if key in seen:
            raise ConfigError(f"buffer {key!r} is given twice", advice="give every id once")
        seen.add(key)
