"""Pieces of HTML. Everything that comes from a model, bundle or board passes through `escaped`."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from edgecc.report.table import cell, printable


class Markup(str):
    """Text that is HTML already; any other text is escaped before it is shown."""


def escaped(value: Any) -> str:
    """Safe in text and in quoted attributes."""
    return value if isinstance(value, Markup) else html.escape(printable(value), quote=True)


def table_html(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    """A table that scrolls sideways on narrow screens; numbers stand to the right."""
    right = [_is_number([row[n] for row in rows]) for n in range(len(head))]
    top = "".join(_cell("th", name, r) for name, r in zip(head, right, strict=True))
    body = "".join(
        "<tr>" + "".join(_cell("td", v, r) for v, r in zip(row, right, strict=True)) + "</tr>"
        for row in rows
    )
    return Markup(f'<div class="scroll"><table><thead><tr>{top}</tr></thead>'
                  f"<tbody>{body}</tbody></table></div>")


def _cell(tag: str, value: Any, right: bool) -> str:
    text = value if isinstance(value, Markup) else cell(value)
    kind = ' class="n"' if right else ""
    return f"<{tag}{kind}>{escaped(text)}</{tag}>"


def _is_number(column: Sequence[Any]) -> bool:
    known = [v for v in column if v is not None]
    return bool(known) and all(
        isinstance(v, int | float) or (not isinstance(v, Markup) and str(v)[:1].isdigit()
                                       and not any(c.isalpha() for c in str(v)))
        for v in known)


def section(title: str, *parts: str) -> Markup:
    return Markup(f"<section><h2>{escaped(title)}</h2>{''.join(map(escaped, parts))}</section>")


def tile(figure: str, label: str) -> Markup:
    return Markup(f'<div class="tile"><b>{escaped(figure)}</b><span>{escaped(label)}</span></div>')


def folded(title: str, content: Markup) -> Markup:
    return Markup(f"<details><summary>{escaped(title)}</summary>{content}</details>")


def paragraph(text: str, kind: str = "soft") -> Markup:
    return Markup(f'<p class="{kind}">{escaped(text)}</p>')
