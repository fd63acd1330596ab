"""How far float answers may be from the expected ones, as a part of the largest of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.kernels import registry
from edgecc.schedule.program import Kernel, Program

FLOAT32 = 1e-4
ROUNDED = 2.0**-8
"""Where float32 is rounded to int8 on the way: it may come near the middle of two values."""
STORED = 2.0**-8
"""Where values are stored as float16: eight times half a unit of the last place."""
COMPUTED = 2.0**-5
"""Where kernels also add in float16, and beside other engines, which round elsewhere.
docs/numerics.md says why, and what was seen."""


def of_program(program: Program) -> float:
    """Of everything that a program computes: float32 outputs may stand behind float16 steps."""
    steps = [step for entry in program.entries for step in entry.steps]
    dtypes = {view.dtype for step in steps for view in (*step.inputs, *step.outputs)}
    if "float16" not in dtypes:
        return ROUNDED if any(map(_rounds, steps)) else FLOAT32
    kernels = {step.kernel for step in steps if isinstance(step, Kernel)}
    return COMPUTED if any(registry.find(name).half for name in kernels) else STORED


def _rounds(step: Any) -> bool:
    return getattr(getattr(step, "spec", None), "rounded", False)


def of_manifest(manifest: Mapping[str, Any]) -> float:
    """Of a bundle; those without the field have no float16."""
    return float(manifest.get("float_tolerance", FLOAT32))


def beside_others(manifest: Mapping[str, Any]) -> float:
    """Of a bundle's answers beside another engine's."""
    own = of_manifest(manifest)
    return max(own, COMPUTED) if own > FLOAT32 else own
