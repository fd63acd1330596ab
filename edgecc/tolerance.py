"""How far float answers may be from the expected ones, as a part of the largest of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgecc.schedule.program import Program

FLOAT32 = 1e-4
ROUNDED = 2.0**-8
"""Where float32 is rounded to int8 on the way: it may come near the middle of two values."""
FLOAT16 = 2.0**-8
"""Where values are stored as float16: eight times half a unit of the last place. docs/numerics.md
says why."""


def of_program(program: Program) -> float:
    """Of everything that a program computes: float32 outputs may stand behind float16 steps."""
    views = [view for entry in program.entries for step in entry.steps
             for view in (*step.inputs, *step.outputs)]
    if any(view.dtype == "float16" for view in views):
        return FLOAT16
    steps = [step for entry in program.entries for step in entry.steps]
    return ROUNDED if any(map(_rounds, steps)) else FLOAT32


def _rounds(step: Any) -> bool:
    return getattr(getattr(step, "spec", None), "rounded", False)


def of_manifest(manifest: Mapping[str, Any]) -> float:
    """Of a bundle; those without the field have no float16."""
    return float(manifest.get("float_tolerance", FLOAT32))
