"""Transposed convolutions as ordinary ones, one for every phase of the stride.

Output position o = stride * j + r is the sum of taps t with t * dilation = r + pad modulo stride,
on input j + (r + pad - t * dilation) / stride: for each r an ordinary convolution over j, whose
outputs are then interleaved. Phases that read the same positions are one convolution with more
channels (a 2x2 kernel of stride 2 becomes one pointwise convolution).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from edgecc.schedule.math_ops import ConvTranspose
from edgecc.schedule.moves import Take
from edgecc.schedule.ops import (
    Concat,
    Constant,
    Conv,
    Graph,
    Op,
    Reshape,
    Tensor,
    Transpose,
)


@dataclass(frozen=True)
class Line:
    """One phase along one axis: taps in the order of the input (None: a tap of zeros)."""

    taps: tuple[int | None, ...]
    dilation: int
    before: int
    after: int


def line(phase: int, size: int, out: int, kernel: int, stride: int, dilation: int,
         pad: int) -> Line:
    """The window of `phase` over an input of `size` that gives ceil(out / stride) positions."""
    count = -(-out // stride)
    step = dilation // math.gcd(stride, dilation)
    offsets = {(phase + pad - t * dilation) // stride: t for t in range(kernel)
               if (phase + pad - t * dilation) % stride == 0}
    first, last = (min(offsets), max(offsets)) if offsets else (0, 0)
    while first > 0:  # nothing but zeros lies before: the window begins inside the image
        first -= step
    while count - 1 + last < size - 1:
        last += step
    taps = tuple(offsets.get(at) for at in range(first, last + 1, step))
    return Line(taps, step, -first, count - 1 + last - (size - 1))


def split_transposed(graph: Graph) -> Graph:
    """Every ConvTranspose as convolutions and movements."""
    ops: list[Op] = []
    tensors: list[Tensor] = []
    for op in graph.ops:
        if isinstance(op, ConvTranspose):
            split = _Split(graph, op)
            ops += split.ops()
            tensors += split.tensors
        else:
            ops.append(op)
    return graph.with_ops(ops, tensors)


class _Split:
    """The operators that one ConvTranspose becomes."""

    def __init__(self, graph: Graph, op: ConvTranspose) -> None:
        self.op, self.x, self.y = op, graph.tensors[op.inputs[0]], graph.tensors[op.output]
        self.tensors: list[Tensor] = []
        self.made: list[Op] = []
        self.flat = len(self.x.shape) == 3
        (h, w), (oh, ow) = ((1, t.shape[2]) if self.flat else t.shape[2:]
                            for t in (self.x, self.y))
        kernel = op.weights.real.shape[2:]
        self.rows = [line(r, h, oh, kernel[0], op.strides[0], op.dilations[0], op.pads[0])
                     for r in range(op.strides[0])]
        self.columns = [line(r, w, ow, kernel[1], op.strides[1], op.dilations[1], op.pads[1])
                        for r in range(op.strides[1])]
        self.grid = (-(-oh // op.strides[0]), -(-ow // op.strides[1]))

    def ops(self) -> list[Op]:
        if len(self.rows) == len(self.columns) == 1:
            self._convolution([(0, 0)], self.op.output, self.y.shape)
            return self.made
        self._interleaved([self._group(phases) for phases in self._groups()])
        return self.made

    def _groups(self) -> Iterator[list[tuple[int, int]]]:
        """Phases that follow one another and read the same positions, with no tap left out."""
        phases = [(i, j) for i in range(len(self.rows)) for j in range(len(self.columns))]
        windows = [(self._span(self.rows[i]), self._span(self.columns[j])) for i, j in phases]
        if len(set(windows)) == 1 and self.op.groups == 1:
            yield phases
        else:
            yield from ([phase] for phase in phases)

    def _span(self, part: Line) -> tuple[int, int, int, int]:
        return len(part.taps), part.dilation, part.before, part.after

    def _tensor(self, suffix: str, shape: tuple[int, ...]) -> str:
        made = replace(self.y, name=f"{self.y.name}.{suffix}", shape=shape)
        self.tensors.append(made)
        return made.name

    def _group(self, phases: list[tuple[int, int]]) -> str:
        """(phases, n, k, rows, columns) of one group."""
        n, k = self.y.shape[:2]
        size = self.grid[1:] if self.flat else self.grid
        label = "phase" + "_".join(str(v) for v in phases[0])
        output = self._tensor(label, (n, len(phases) * k, *size))
        self._convolution(phases, output, None)
        if len(phases) == 1:
            whole = self._tensor(f"{label}.whole", (1, n, k, *self.grid))
            self.made.append(Reshape(self.op.name, (output,), whole, self.op.nodes))
            return whole
        apart = self._tensor(f"{label}.apart", (n, len(phases), k, *self.grid))
        turned = self._tensor(f"{label}.turned", (len(phases), n, k, *self.grid))
        self.made.append(Reshape(self.op.name, (output,), apart, self.op.nodes))
        self.made.append(Transpose(self.op.name, (apart,), turned, self.op.nodes,
                                   permutation=(1, 0, 2, 3, 4)))
        return turned

    def _convolution(self, phases: list[tuple[int, int]], output: str, shape) -> None:
        rows, columns = self.rows[phases[0][0]], self.columns[phases[0][1]]
        op = self.op
        weights = [_taken(op.weights, self.rows[i].taps, self.columns[j].taps)
                   for i, j in phases]
        bias = None if op.bias is None else _repeated(op.bias, op.weights.real.shape[0],
                                                      len(phases))
        self.made.append(Conv(
            op.name, op.inputs, output, op.nodes, clamp=op.clamp, weights=_stacked(weights),
            bias=bias, strides=(1, 1), dilations=(rows.dilation, columns.dilation),
            pads=(rows.before, columns.before, rows.after, columns.after), groups=op.groups))

    def _interleaved(self, parts: list[str]) -> None:
        """(phases, n, k, rows, columns) as an image, cut to the output's size."""
        (n, k), (sy, sx), (h, w) = self.y.shape[:2], self.op.strides, self.grid
        name, nodes = self.op.name, self.op.nodes
        whole = parts[0]
        if len(parts) > 1:
            whole = self._tensor("phases", (sy * sx, n, k, h, w))
            self.made.append(Concat(name, tuple(parts), whole, nodes, axis=0))
        apart = self._tensor("apart", (sy, sx, n, k, h, w))
        turned = self._tensor("turned", (n, k, h, sy, w, sx))
        size = (w * sx,) if self.flat else (h * sy, w * sx)
        cut = size != self.y.shape[2:]
        image = self._tensor("image", (n, k, *size)) if cut else self.op.output
        self.made += [Reshape(name, (whole,), apart, nodes),
                      Transpose(name, (apart,), turned, nodes, permutation=(2, 3, 4, 0, 5, 1)),
                      Reshape(name, (turned,), image, nodes)]
        if cut:
            indices = tuple(None if a == b else np.arange(b) for a, b in
                            zip((n, k, *size), self.y.shape, strict=True))
            self.made.append(Take(name, (image,), self.op.output, nodes, indices=indices))


def _taken(weights: Constant, rows: tuple[int | None, ...],
           columns: tuple[int | None, ...]) -> Constant:
    """The taps of one phase; zeros where there is none."""

    def picked(values: np.ndarray) -> np.ndarray:
        made = np.zeros((*values.shape[:2], len(rows), len(columns)), values.dtype)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                if row is not None and column is not None:
                    made[:, :, i, j] = values[:, :, row, column]
        return made

    integers = None if weights.integers is None else picked(weights.integers)
    return replace(weights, real=picked(weights.real), integers=integers)


def _stacked(parts: list[Constant]) -> Constant:
    """The output channels of several phases one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    integers = [p.integers for p in parts if p.integers is not None]
    scale = first.scale
    if scale is not None and scale.size > 1:
        scale = np.tile(scale, len(parts))
    return Constant(np.concatenate([p.real for p in parts]),
                    np.concatenate(integers) if integers else None, scale, first.axis)


def _repeated(bias: Constant, count: int, times: int) -> Constant:
    """The bias once per phase."""
    real = np.tile(np.broadcast_to(bias.real.reshape(-1), count), times)
    if bias.integers is None or bias.scale is None:
        return Constant(real)
    integers = np.tile(np.broadcast_to(bias.integers.reshape(-1), count), times)
    scale = np.tile(bias.scale, times) if bias.scale.size > 1 else bias.scale
    return Constant(real, integers, scale, bias.axis)
