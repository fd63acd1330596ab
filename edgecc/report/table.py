"""Aligned plain-text tables, and text from models made safe to print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def printable(text: Any) -> str:
    """Text without characters that steer a terminal or change the reading direction."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def shortened(text: Any, width: int) -> str:
    """At most `width` characters; the middle is left out, since names differ at both ends."""
    clean = printable(text)
    if len(clean) <= width:
        return clean
    head = (width - 1) // 2
    return f"{clean[:head]}…{clean[len(clean) - (width - 1 - head):]}"


def cell(value: Any) -> str:
    """Integers with thousands separators, floats with six digits, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else printable(value)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns as wide as their widest cell; those that hold only numbers stand to the right."""
    cells = [[cell(value) for value in row] for row in rows]
    columns = list(zip(*([list(head)] + cells), strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [_is_numeric([row[n] for row in rows]) for n in range(len(head))]
    lines = [_line(row, widths, right) for row in [list(head), *cells]]
    return "\n".join([lines[0], "  ".join("─" * w for w in widths), *lines[1:]]) + "\n"


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [text.rjust(w) if r else text.ljust(w)
              for text, w, r in zip(row, widths, right, strict=True)]
    return "  ".join(padded).rstrip()


def _is_numeric(column: Sequence[Any]) -> bool:
    """Numbers, or text that begins with a digit (a share such as 12.5 %)."""
    known = [value for value in column if value is not None]
    return bool(known) and all(
        isinstance(value, int | float) or str(value)[:1].isdigit() for value in known)
