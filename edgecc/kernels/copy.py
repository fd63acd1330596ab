"""Copies between strided windows: what a concatenation or a slice on an inner axis costs when its
producer could not write in place."""

from __future__ import annotations

from contextlib import ExitStack
from math import prod
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import accept_all, nothing, vector_bytes
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.runs import UNIT, copy_run
from edgecc.kernels.spec import StridedCopy

Axis = tuple[int, int, int]  # size, source stride, target stride


def merged(
    shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]
) -> tuple[Axis, ...]:
    """Axes of size 1 dropped, those that lie one behind the other on both sides joined."""
    axes: list[Axis] = []
    for size, a, b in zip(shape, source, target, strict=True):
        if size == 1:
            continue
        if axes and axes[-1][1:] == (size * a, size * b):
            axes[-1] = (axes[-1][0] * size, a, b)
        else:
            axes.append((size, a, b))
    return tuple(axes) or ((1, 1, 1),)


def spec_of(
    item_bytes: int, shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]
) -> StridedCopy:
    axes = merged(shape, source, target)
    sizes, a, b = zip(*axes, strict=True)
    return StridedCopy(UNIT[item_bytes], sizes, a, b)


def _runs(spec: StridedCopy) -> bool:
    """Whether the innermost axis is written without gaps."""
    return spec.target_strides[-1] == 1


def extent(spec: StridedCopy) -> int:
    return 1 if _runs(spec) and len(spec.shape) == 1 else spec.shape[0]


def _reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def build(spec: StridedCopy, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    inputs = [(spec.dtype, _reach(spec.shape, spec.source_strides))]
    outputs = [(spec.dtype, _reach(spec.shape, spec.target_strides))]
    axes = list(zip(spec.shape, spec.source_strides, spec.target_strides, strict=True))
    run, step, _ = axes.pop() if _runs(spec) else (1, 1, 1)
    with tir.kernel(symbol, inputs=inputs, outputs=outputs, weights=False) as k, ExitStack() as s:
        source, result = 0, 0
        for number, (size, a, b) in enumerate(axes or [(1, 0, 0)]):
            limits = (k.begin, k.end) if number == 0 else (0, size)
            index = s.enter_context(tir.loop(*limits))
            source, result = source + index * a, result + index * b
        lanes = vector_bytes(target) // np.dtype(spec.dtype).itemsize
        copy_run(k, source, result, run, step, max(lanes, 1))
    return k.func


KERNELS = tuple(
    KernelRecord(f"{dtype}_strided_copy_run__generic", "strided_copy", dtype, frozenset(),
                 accept_all, lambda spec: float(prod(spec.shape)), extent, nothing, build,
                 fast=True)
    for dtype in UNIT.values()
)
