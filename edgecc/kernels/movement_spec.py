"""Specs of operators that move elements: selections along axes, interpolation, constants.

See `edgecc.kernels.spec` for what a spec is. `Take` has its index tables in itself where they are
a few loops, so that the machine code has no tables to read; any other table is a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from edgecc.kernels.spec import Spec

FILL = -1  # the index of an element that comes from no input


@dataclass(frozen=True)
class Segment:
    """Consecutive output indices of one axis: start + the sum of step * counter over nested
    `loops` of (count, step), outermost first. A start of FILL: none of them, all are filled."""

    start: int
    loops: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        return prod(count for count, _ in self.loops)

    def indices(self) -> np.ndarray:
        if self.start == FILL:
            return np.full(self.count, FILL)
        found = np.array([self.start])
        for count, step in self.loops:
            found = (found[:, None] + np.arange(count) * step).reshape(-1)
        return found


@dataclass(frozen=True)
class Take(Spec):
    """y[i, j, ...] = x[t0[i], t1[j], ...], and `fill` wherever an index is FILL.

    An axis is a tuple of segments, or a number: that many indices, which are the next ones of
    the constant `tables`. CONSTANTS: tables (int32, all tables one after the other), fill (one
    value of the dtype). dtype is any.
    """

    op: ClassVar[str] = "take"
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[tuple[Segment, ...] | int, ...]

    @property
    def output_shape(self) -> tuple[int, ...]:
        return tuple(axis if isinstance(axis, int) else sum(s.count for s in axis)
                     for axis in self.axes)

    @property
    def table_size(self) -> int:
        return sum(axis for axis in self.axes if isinstance(axis, int))


@dataclass(frozen=True)
class Interpolate(Spec):
    """Weighted sums of `taps` rows by `taps` columns of (n, h, w, c), giving (n, oh, ow, c).

    CONSTANTS: rows int32 (oh, taps[0]), row_weights float32 of the same shape, columns and
    column_weights (ow, taps[1]). int8: also input_zero_point and output_zero_point, and the row
    weights hold the ratio of the scales: y = saturate(rint(v) + output_zero_point), v being the
    float32 sum, row by row, of f32(f32(q - input_zero_point) * f32(row weight * column weight)).
    """

    op: ClassVar[str] = "interpolate"
    dtype: str
    n: int
    h: int
    w: int
    c: int
    oh: int
    ow: int
    taps: tuple[int, int]


@dataclass(frozen=True)
class Fixed(Spec):
    """Values that are the same in every run. CONSTANTS: values (flat); dtype is any."""

    op: ClassVar[str] = "fixed"
    dtype: str
    size: int
