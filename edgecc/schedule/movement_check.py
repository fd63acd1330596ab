"""The judge of steps that read by index: every index lies inside its axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from edgecc.kernels.movement_spec import FILL, Interpolate, Take
from edgecc.kernels.spec import Spec


def stray_index(spec: Spec, constants: Mapping[str, Any]) -> str | None:
    """The first axis that is read outside of its size, in words; None if there is none."""
    for name, size, lowest, highest in _reaches(spec, constants):
        if lowest < 0 or highest >= size:
            return f"reads indices {lowest} to {highest} of {name}, which has {size}"
    return None


def _reaches(spec: Spec, constants: Mapping[str, Any]) -> Iterator[tuple[str, int, int, int]]:
    """(axis, size, lowest index, highest index); fills read nothing."""
    if isinstance(spec, Interpolate):
        for name, size in (("rows", spec.h), ("columns", spec.w)):
            yield name, size, int(constants[name].min()), int(constants[name].max())
    if isinstance(spec, Take):
        at = 0
        for number, (size, axis) in enumerate(zip(spec.shape, spec.axes, strict=True)):
            if isinstance(axis, int):
                table = np.asarray(constants["tables"])[at:at + axis]
                at += axis
                read = table[table != FILL]
                if len(read):
                    yield f"axis {number}", size, int(read.min()), int(read.max())
                continue
            for segment in (s for s in axis if s.start != FILL):
                ends = [(count - 1) * step for count, step in segment.loops]
                yield (f"axis {number}", size, segment.start + sum(min(e, 0) for e in ends),
                       segment.start + sum(max(e, 0) for e in ends))
