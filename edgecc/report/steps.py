"""The table of steps: kernel, MACs, share of the time or instructions, how much of the target's
peak that is, and why a kernel is not the fast one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.report.efficiency import Rate, rates, yardstick
from edgecc.report.figures import Figures, step_figures
from edgecc.report.table import shortened, table

WIDTH = 100
NAME_WIDTH = 18
LEAST_KERNEL = 16
HEADS = {"instructions": "instr.", "µs": "µs"}


def steps_table(manifest: Mapping[str, Any], figures: Mapping[str, Any] | None = None,
                most: int | None = None) -> str:
    """Aligned text of at most 100 columns, one line per step (the first `most`). `figures` is a
    bench report with figures of steps; without them the cost model's estimates stand there.

    Steps whose kernel is not the fast one are marked, and the reasons stand below the table.
    """
    found = step_figures(manifest, figures)
    rated = rates(manifest, figures, found.unit)
    head, rows = _head(found, rated), _rows(manifest, found, rated)[:most]
    left = WIDTH - len(table(head, [[*row[:2], "", *row[3:]] for row in rows]).split("\n")[1])
    width = max(left + len("kernel"), LEAST_KERNEL)
    marks = [" *" if step.get("why_not_fast") else "" for step in manifest["steps"]]
    for row, mark in zip(rows, marks, strict=False):
        row[2] = shortened(row[2], width - 2) + mark
    more = len(manifest["steps"]) - len(rows)
    return (table(head, rows) + (f"… {more} more steps\n" if more else "")
            + _legend(manifest, found, rated) + _reasons(manifest))


def _head(figures: Figures, rated: list[Rate]) -> list[str]:
    measured = [HEADS[figures.unit], "share"] if figures.unit else []
    if not any(rate.macs for rate in rated):
        return ["step", "name", "kernel", "MACs", *measured]
    estimated = [] if figures.unit else ["≈instr."]
    return ["step", "name", "kernel", "MACs", *estimated, *measured, "rate", "peak"]


def _rows(manifest: Mapping[str, Any], figures: Figures, rated: list[Rate]) -> list[list[Any]]:
    known = any(rate.macs for rate in rated)
    rows = []
    for number, step in enumerate(manifest["steps"]):
        row = [number, shortened(step["name"], NAME_WIDTH), step.get("kernel") or step["op"],
               step["macs"]]
        if figures.unit:
            figure = figures.steps[number]
            row += [rounded(figure.value, figures.unit), percent(figure.share, 1)]
        elif known:
            row.append(step.get("estimated_instructions"))
        if known:
            row += [decimal(rated[number].macs), percent(rated[number].of_peak)]
        rows.append(row)
    return rows


def rounded(value: float | None, unit: str | None) -> str | None:
    """A figure as text: microseconds with two decimals, instructions whole."""
    if value is None:
        return None
    return f"{value:,.2f}" if unit == "µs" else f"{value:,.0f}"


def percent(value: float | None, decimals: int = 0) -> str | None:
    return None if value is None else f"{value:.{decimals}%}"


def decimal(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _legend(manifest: Mapping[str, Any], figures: Figures, rated: list[Rate]) -> str:
    """What the rates mean."""
    if not any(rate.macs for rate in rated):
        return ""
    unit = rated[0].unit
    most = yardstick(manifest, unit)
    lines = [f"rate: MAC per {unit}" + (f" · peak: of the target's {most}" if most else "")]
    if not figures.unit:
        lines.append("≈instr.: what the kernel's cost model estimates, not a measurement")
    return "\n" + "\n".join(shortened(line, WIDTH) for line in lines) + "\n"


def _reasons(manifest: Mapping[str, Any]) -> str:
    """Reasons with the steps that share them, in order of their first step."""
    steps: dict[str, list[int]] = {}
    for number, step in enumerate(manifest["steps"]):
        if reason := step.get("why_not_fast"):
            steps.setdefault(reason, []).append(number)
    lines = [shortened(f"  step {_numbers(numbers)}: {reason}", WIDTH)
             for reason, numbers in steps.items()]
    return "\n".join(["", "* not the fast kernel", *lines]) + "\n" if lines else ""


def _numbers(numbers: list[int]) -> str:
    """A few of them, and how many more."""
    shown = ", ".join(map(str, numbers[:6]))
    return shown if len(numbers) <= 6 else f"{shown} and {len(numbers) - 6} more"
