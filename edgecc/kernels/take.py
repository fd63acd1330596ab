"""Selections along axes (slices, paddings, repetitions, gathers): loops over runs of elements."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from math import prod
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import accept_all, vector_bytes
from edgecc.kernels.movement_spec import FILL, Segment, Take
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.runs import DTYPES, copy_run, fill_run, item_bytes, unit

HEADER_BYTES = 8  # the fill


def _is_filled(spec: Take) -> bool:
    return bool(spec.table_size) or any(
        segment.start == FILL for axis in spec.axes if not isinstance(axis, int)
        for segment in axis)


def pack(spec: Take, constants: Mapping[str, Any]) -> np.ndarray:
    """The fill, then all tables; nothing where the code needs neither."""
    if not _is_filled(spec):
        return np.empty(0, np.uint8)
    fill = np.asarray(constants["fill"], spec.dtype).reshape(1).view(np.uint8)
    head = np.zeros(HEADER_BYTES, np.uint8)
    head[:len(fill)] = fill
    return np.concatenate([head, np.asarray(constants["tables"], np.int32).view(np.uint8)])


def extent(spec: Take) -> int:
    """Output indices of the first axis; one where that is the only axis."""
    return spec.output_shape[0] if len(spec.axes) > 1 else 1


def cost(spec: Take) -> float:
    return 20.0 + prod(spec.output_shape)


def build(spec: Take, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    kind = unit(spec.dtype)
    inputs, outputs = [(kind, prod(spec.shape))], [(kind, prod(spec.output_shape))]
    with tir.kernel(symbol, inputs=inputs, outputs=outputs, weights=_is_filled(spec)) as k:
        work = _Taking(k, spec, vector_bytes(target) // item_bytes(spec.dtype))
        if len(spec.axes) > 1:
            work.first()
        else:
            with tir.loop(k.begin, k.end):
                work.axis(0, 0, 0)
    return k.func


class _Taking:
    """Code for one axis inside the other; `source` and `result` are element offsets."""

    def __init__(self, k: Any, spec: Take, lanes: int):
        from edgecc.kernels import tir

        self.k, self.spec, self.lanes = k, spec, max(lanes, 1)
        out = spec.output_shape
        self.strides = [prod(spec.shape[i + 1:]) for i in range(len(spec.shape))]
        self.widths = [prod(out[i + 1:]) for i in range(len(out))]
        filled = _is_filled(spec)
        self.fill = tir.let(tir.load(k.weights(unit(spec.dtype)), 0)) if filled else None
        sizes = [axis if isinstance(axis, int) else 0 for axis in spec.axes]
        self.tables = [sum(sizes[:i]) for i in range(len(sizes))]

    def first(self) -> None:
        """The first axis, from begin to end."""
        from edgecc.kernels import tir

        k, axis, at = self.k, self.spec.axes[0], 0
        if isinstance(axis, int):
            with tir.loop(k.begin, k.end) as i:
                self.indexed(0, i, 0, 0)
            return
        for segment in axis:
            low = tir.T.max(k.begin, at)
            high = tir.T.min(k.end, at + segment.count)
            with tir.loop(low, tir.T.max(low, high)) as i:
                result = i * self.widths[0]
                if segment.start == FILL:
                    fill_run(k, result, self.widths[0], self.fill, self.lanes)
                else:
                    source = _counted(segment, i - at) * self.strides[0]
                    self.axis(1, source, result)
            at += segment.count

    def axis(self, number: int, source: Any, result: Any) -> None:
        from edgecc.kernels import tir

        axis = self.spec.axes[number]
        if isinstance(axis, int):
            with tir.loop(0, axis) as i:
                self.indexed(number, i, source, result)
            return
        at = 0
        for segment in axis:
            self.segment(number, segment, source, result + at * self.widths[number])
            at += segment.count

    def segment(self, number: int, segment: Segment, source: Any, result: Any) -> None:
        """All indices of a segment: a fill, runs on the last axis, loops on others."""
        from edgecc.kernels import tir

        stride, width = self.strides[number], self.widths[number]
        if segment.start == FILL:
            fill_run(self.k, result, segment.count * width, self.fill, self.lanes)
            return
        last = number == len(self.spec.axes) - 1
        outer, inner = (segment.loops[:-1], segment.loops[-1]) if last else (segment.loops, None)
        source, left = source + segment.start * stride, segment.count
        with ExitStack() as stack:
            for count, step in outer:
                left //= count
                i = stack.enter_context(tir.loop(0, count))
                source, result = source + i * (step * stride), result + i * (left * width)
            if inner is None:
                self.axis(number + 1, source, result)
            else:
                copy_run(self.k, source, result, *inner, self.lanes)

    def indexed(self, number: int, i: Any, source: Any, result: Any) -> None:
        """Index i of an axis with a table."""
        from edgecc.kernels import tir

        width = self.widths[number]
        table = self.k.weights("int32", HEADER_BYTES)
        index, result = tir.let(tir.load(table, self.tables[number] + i)), result + i * width
        with tir.when(index < 0):
            fill_run(self.k, result, width, self.fill, self.lanes)
        with tir.when(index >= 0):
            source = source + index * self.strides[number]
            if number == len(self.spec.axes) - 1:
                copy_run(self.k, source, result, 1, 1, self.lanes)
            else:
                self.axis(number + 1, source, result)


def _counted(segment: Segment, i: Any) -> Any:
    """The index at place i of a segment."""
    from edgecc.kernels import tir

    index, inner = segment.start, segment.count
    for number, (count, step) in enumerate(segment.loops):
        inner //= count
        turn = tir.T.floordiv(i, inner) if inner > 1 else i
        index = index + (tir.T.floormod(turn, count) if number else turn) * step
    return index


KERNELS = tuple(
    KernelRecord(f"{dtype}_take_runs__generic", "take", dtype, frozenset(), accept_all, cost,
                 extent, pack, build, fast=True)
    for dtype in DTYPES
)
