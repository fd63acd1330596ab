"""The table of steps: kernel, MACs, share of the time or instructions, and why not fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.report.figures import Figures, step_figures
from edgecc.report.table import shortened, table

NAME_WIDTH = 28
KERNEL_WIDTH = 36


def steps_table(manifest: Mapping[str, Any], figures: Mapping[str, Any] | None = None) -> str:
    """Aligned text, one line per step. `figures` is a bench report with figures of steps.

    Steps whose kernel is not the fast one are marked, and the reasons stand below the table.
    """
    found = step_figures(manifest, figures)
    head = ["step", "name", "kernel", "MACs", *_figure_head(found)]
    rows = [_row(n, step, found) for n, step in enumerate(manifest["steps"])]
    return table(head, rows) + _reasons(manifest)


def _figure_head(figures: Figures) -> list[str]:
    return [figures.unit, "share"] if figures.unit else []


def _row(number: int, step: Mapping[str, Any], figures: Figures) -> list[Any]:
    mark = " *" if step.get("why_not_fast") else ""
    row = [number, shortened(step["name"], NAME_WIDTH),
           shortened(step.get("kernel") or step["op"], KERNEL_WIDTH) + mark, step["macs"]]
    if figures.unit:
        figure = figures.steps[number]
        row.append(rounded(figure.value, figures.unit))
        row.append(None if figure.share is None else f"{figure.share:.1%}")
    return row


def rounded(value: float | None, unit: str | None) -> str | None:
    """A figure as text: microseconds with two decimals, instructions whole."""
    if value is None:
        return None
    return f"{value:,.2f}" if unit == "µs" else f"{value:,.0f}"


def _reasons(manifest: Mapping[str, Any]) -> str:
    """Reasons with the steps that share them, in order of their first step."""
    steps: dict[str, list[int]] = {}
    for number, step in enumerate(manifest["steps"]):
        if reason := step.get("why_not_fast"):
            steps.setdefault(reason, []).append(number)
    lines = [f"  step {', '.join(map(str, numbers))}: {shortened(reason, 160)}"
             for reason, numbers in steps.items()]
    return "\n".join(["", "* not the fast kernel", *lines]) + "\n" if lines else ""
