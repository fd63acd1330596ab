"""Figures of steps: what a bench report says about each step of a manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StepFigures:
    """One step's figure in `unit`, and its share of the whole; None where nothing was measured."""

    value: float | None
    share: float | None


@dataclass(frozen=True)
class Figures:
    """`unit` is µs where steps were timed, instructions where they were counted, else None."""

    unit: str | None
    steps: tuple[StepFigures, ...]


def step_figures(manifest: Mapping[str, Any], bench: Mapping[str, Any] | None) -> Figures:
    """Figures of the manifest's steps, in order: times if there are any, else instructions."""
    count = len(manifest["steps"])
    measured = list((bench or {}).get("steps") or [])
    for unit, key in (("µs", "us"), ("instructions", "instructions")):
        values = [step.get(key) for step in measured]
        if len(values) == count and any(value is not None for value in values):
            return Figures(unit, tuple(_shares(values)))
    return Figures(None, (StepFigures(None, None),) * count)


def _shares(values: Sequence[float | None]) -> list[StepFigures]:
    total = sum(value or 0 for value in values)
    return [StepFigures(v, None if v is None or not total else v / total) for v in values]
