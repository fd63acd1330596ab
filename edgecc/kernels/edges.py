"""Kernel rows that lie in the padding above or below the image: products with nothing but zeros.

Where only the first and the last output row have such rows, they leave them out and start with a
bias of their own.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from edgecc.kernels.spec import Conv2d

Edges = tuple[frozenset[int], frozenset[int]]


def outside(spec: Conv2d, y: int) -> frozenset[int]:
    """The rows of the kernel that are outside the image at output row y."""
    lines = {ky: y * spec.strides[0] + ky * spec.dilations[0] - spec.pads[0]
             for ky in range(spec.kh)}
    return frozenset(ky for ky, line in lines.items() if not 0 <= line < spec.h)


def edges(spec: Conv2d) -> Edges | None:
    """What the first and the last output row leave out; None if nothing, if other rows leave
    out something too, or if a kernel row might be left out at either end."""
    top, bottom = outside(spec, 0), outside(spec, spec.oh - 1)
    between = {ky for y in {1, spec.oh - 2} - {0, spec.oh - 1} for ky in outside(spec, y)}
    if between or top & bottom or not top | bottom:
        return None
    return top, bottom


def chosen(spec: Conv2d, y: Any, top: Any, bottom: Any, other: Any) -> Any:
    """What the first, the last and every other output row take."""
    from edgecc.kernels import tir

    return tir.let(tir.T.Select(y == 0, top, tir.T.Select(y == spec.oh - 1, bottom, other)))


def between(spec: Conv2d, found: Edges | None, y: Any) -> tuple[Any, Any]:
    """The rows of the kernel [first, end) that output row y has inside the image."""
    if found is None:
        return 0, spec.kh
    top, bottom = map(len, found)
    return chosen(spec, y, top, 0, 0), chosen(spec, y, spec.kh, spec.kh - bottom, spec.kh)


def inside(spec: Conv2d, found: Edges | None, ky: int, y: Any) -> Any:
    """Runs its body unless output row y is an edge that leaves kernel row ky out."""
    from edgecc.kernels import tir

    top, bottom = found or ((), ())
    if ky in top:
        return tir.when(y != 0)
    return tir.when(y != spec.oh - 1) if ky in bottom else nullcontext()
