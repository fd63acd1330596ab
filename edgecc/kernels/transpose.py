"""Transposition of tensors of any type: copies of runs, or square tiles through registers."""

from __future__ import annotations

from contextlib import ExitStack
from math import prod
from typing import Any

from edgecc.kernels.elementwise import accept_all, across, nothing, vector_bytes
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.runs import DTYPES, item_bytes, unit
from edgecc.kernels.spec import Transpose

Axis = tuple[int, int, int]  # size, stride in the input, stride in the output


def axes(shape: tuple[int, ...], permutation: tuple[int, ...]) -> list[Axis]:
    """Axes in output order; those of size 1 dropped, those that stay together merged."""
    strides = [prod(shape[i + 1:]) for i in range(len(shape))]
    merged: list[tuple[int, int]] = []
    for size, stride in ((shape[p], strides[p]) for p in permutation):
        if size == 1:
            continue
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    sizes = [size for size, _ in merged]
    return [(size, stride, prod(sizes[i + 1:])) for i, (size, stride) in enumerate(merged)]


def split(spec: Transpose) -> tuple[list[Axis], list[Axis]]:
    """(outer axes, inner axes): a run of contiguous elements, or the two of a plane."""
    found = axes(spec.shape, spec.permutation) or [(1, 1, 1)]
    if found[-1][1] == 1:
        return found[:-1], found[-1:]
    fastest = next(a for a in found if a[1] == 1)
    return [a for a in found[:-1] if a is not fastest], [fastest, found[-1]]


def extent(spec: Transpose) -> int:
    outer, _ = split(spec)
    return outer[0][0] if outer else 1


def build(spec: Transpose, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    operand = [(unit(spec.dtype), prod(spec.shape))]
    outer, inner = split(spec)
    with tir.kernel(symbol, inputs=operand, outputs=operand, weights=False) as k, ExitStack() as s:
        source, result = 0, 0
        for number, (size, stride, out_stride) in enumerate(outer or [(1, 0, 0)]):
            limits = (k.begin, k.end) if number == 0 else (0, size)
            index = s.enter_context(tir.loop(*limits))
            source, result = source + index * stride, result + index * out_stride
        if len(inner) == 1:
            _copy(k, spec, source, result, inner[0][0], vector_bytes(target))
        else:
            _Plane(k, spec, source, result, *inner).emit()
    return k.func


def _copy(k: Any, spec: Transpose, source: Any, result: Any, count: int, width: int) -> None:
    from edgecc.kernels import tir

    def body(at: Any, lanes: int) -> None:
        tir.store(k.outputs[0], result + at, tir.load(k.inputs[0], source + at, lanes), lanes)

    across(count, width // item_bytes(spec.dtype), body)


class _Plane:
    """y[j, i] = x[i, j]: tiles of `side` squared, and single elements along two edges."""

    def __init__(self, k: Any, spec: Transpose, source: Any, result: Any, fast: Axis, slow: Axis):
        self.x, self.y, self.source, self.result = k.inputs[0], k.outputs[0], source, result
        self.columns, _, self.out_stride = fast  # j: contiguous in the input
        self.rows, self.in_stride, _ = slow  # i: contiguous in the output
        self.side = 16 // item_bytes(spec.dtype)

    def emit(self) -> None:
        from edgecc.kernels import tir

        side = self.side
        rows, columns = self.rows // side * side, self.columns // side * side
        if rows and columns:
            with tir.loop(0, rows // side) as i, tir.loop(0, columns // side) as j:
                self._tile(i * side, j * side)
        if columns < self.columns and rows:
            self._single((0, rows), (columns, self.columns))
        if rows < self.rows:
            self._single((rows, self.rows), (0, self.columns))

    def _single(self, rows: tuple[int, int], columns: tuple[int, int]) -> None:
        from edgecc.kernels import tir

        with tir.loop(*rows) as i, tir.loop(*columns) as j:
            value = tir.load(self.x, self.source + i * self.in_stride + j)
            tir.store(self.y, self.result + j * self.out_stride + i, value)

    def _tile(self, i: Any, j: Any) -> None:
        """log2(side) rounds of interleaving row r with row r + side / 2."""
        from edgecc.kernels import tir

        side = self.side
        rows = [tir.let(tir.load(self.x, self.source + (i + r) * self.in_stride + j, side))
                for r in range(side)]
        low = [n // 2 + side * (n % 2) for n in range(side)]
        high = [n + side // 2 for n in low]
        for _ in range(side.bit_length() - 1):
            pairs = [(rows[r], rows[r + side // 2]) for r in range(side // 2)]
            rows = [tir.let(tir.T.Shuffle(list(pair), mask)) for pair in pairs
                    for mask in (low, high)]
        for r, row in enumerate(rows):
            tir.store(self.y, self.result + (j + r) * self.out_stride + i, row, side)


KERNELS = tuple(
    KernelRecord(f"{dtype}_transpose_tile__generic", "transpose", dtype, frozenset(), accept_all,
                 lambda spec: 20 + prod(spec.shape), extent, nothing, build, fast=True)
    for dtype in DTYPES
)
