"""How far float answers may be from the expected ones, as a part of the largest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgecc.schedule import laws
from edgecc.schedule.program import Kernel, Program, Step

FLOAT32 = 1e-4
ROUNDED = 2.0**-8
"""Where float32 is rounded to int8 on the way: it may come near the middle of two values."""
EXACT = 0.0
"""Where every step has a law to the byte."""
STORED = 2.0**-8
"""Where values are stored as float16: eight times half a unit of the last place."""
COMPUTED = 2.0**-5
"""Where kernels also add in float16 what is not known to the byte, and beside other engines, which
round elsewhere. docs/numerics.md says why, and what was seen."""

MOVED = frozenset({"convert", "fixed", "recentre", "strided_copy", "take", "transpose"})
ARITHMETIC = ("add", "sub", "mul", "min", "max")
ROUNDED_ONCE = {"binary": ARITHMETIC, "broadcast": ARITHMETIC, "pool2d": ("max",),
                "unary": ("relu", "clip", "abs", "neg")}
"""Kinds of operators that are one operation a value, which every core rounds alike."""


def of_program(program: Program) -> float:
    """Of everything that a program computes: float32 outputs may stand behind float16 steps."""
    steps = [step for entry in program.entries for step in entry.steps]
    dtypes = {view.dtype for step in steps for view in (*step.inputs, *step.outputs)}
    if "float16" not in dtypes:
        return ROUNDED if any(map(_rounds, steps)) else FLOAT32
    return _of_halves(steps, laws.followed(program))


def _of_halves(steps: Sequence[Step], followed: bool) -> float:
    """What is not known to the byte is off by a unit or so; sums of halves that take it in are off
    by their own errors."""
    about: set[str] = set()  # buffers with values that are not known to the byte
    lawful = False
    for step in steps:
        near = not about.isdisjoint(view.buffer for view in step.inputs)
        half = isinstance(step, Kernel) and laws.adds_halves(step)
        if half and (near or not followed):
            return COMPUTED
        lawful |= half
        if near or not _exact(step):
            about |= {view.buffer for view in step.outputs}
    return STORED if about or not lawful else EXACT


def _exact(step: Step) -> bool:
    """Whether the same inputs give the same bytes everywhere."""
    if not isinstance(step, Kernel):
        return True  # a copy
    spec = step.spec
    return (laws.law_of(step) is not None or spec.op in MOVED
            or getattr(spec, "kind", None) in ROUNDED_ONCE.get(spec.op, ())
            or not any(view.dtype.startswith("float") for view in step.outputs))


def _rounds(step: Any) -> bool:
    return getattr(getattr(step, "spec", None), "rounded", False)


def of_manifest(manifest: Mapping[str, Any]) -> float:
    """Of a bundle; those without the field have no float16."""
    return float(manifest.get("float_tolerance", FLOAT32))


def beside_others(manifest: Mapping[str, Any]) -> float:
    """Of a bundle's answers beside another engine's."""
    own = of_manifest(manifest)
    return own if own == FLOAT32 else max(own, COMPUTED)
