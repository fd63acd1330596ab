"""How far float answers may be from the expected ones, as a part of the largest of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgecc.schedule.program import Program

FLOAT32 = 1e-4
FLOAT16 = 2.0**-8
"""Where values are stored as float16: eight times half a unit of the last place. docs/numerics.md
says why."""


def of_program(program: Program) -> float:
    """Of everything that a program computes: float32 outputs may stand behind float16 steps."""
    views = [view for entry in program.entries for step in entry.steps
             for view in (*step.inputs, *step.outputs)]
    return FLOAT16 if any(view.dtype == "float16" for view in views) else FLOAT32


def of_manifest(manifest: Mapping[str, Any]) -> float:
    """Of a bundle; those without the field have no float16."""
    return float(manifest.get("float_tolerance", FLOAT32))
