"""Typed operators that move elements, and what can be said about them.

`Take` stands for slices, paddings, repetitions, nearest resizing and gathers with constant
indices: whatever picks one index of x for each index of y, axis by axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from edgecc.kernels.movement_spec import FILL
from edgecc.schedule.ops import Graph, Op, Tensor
from edgecc.schedule.rounding import dequantized, quantized

Indices = tuple[np.ndarray | None, ...]


@dataclass(frozen=True, eq=False)
class Take(Op):
    """y[i, j, ...] = x[indices[0][i], indices[1][j], ...]; None keeps an axis as it is, and where
    an index is FILL, y is `fill`: a real number (float32) or what is stored (of x's dtype)."""

    indices: Indices = field(kw_only=True)
    fill: np.ndarray = field(default_factory=lambda: np.float32(0), kw_only=True)  # type: ignore


@dataclass(frozen=True, eq=False)
class Interpolate(Op):
    """Weighted sums along two axes: for each of them indices and weights, both (size, taps)."""

    axes: tuple[int, int] = field(kw_only=True)
    indices: tuple[np.ndarray, np.ndarray] = field(kw_only=True)
    weights: tuple[np.ndarray, np.ndarray] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Fixed(Op):
    """A tensor without inputs: the same values in every run."""

    values: np.ndarray = field(kw_only=True)


def fills(op: Take) -> bool:
    """Whether some element comes from no input."""
    return any(t is not None and bool((t == FILL).any()) for t in op.indices)


def stored_fill(op: Take, tensor: Tensor) -> np.ndarray:
    """The fill in the tensor's dtype."""
    if op.fill.dtype == np.float32 and tensor.quantization is not None:
        return quantized(op.fill, tensor.quantization)
    return np.asarray(op.fill).astype(tensor.dtype)


def keeps_real(op: Op, source: Tensor) -> bool:
    """Whether dequantizing before or after the operator gives the same numbers."""
    if not isinstance(op, Take) or not fills(op):
        return True
    assert source.quantization is not None, "only quantized tensors are dequantized"
    return bool(dequantized(stored_fill(op, source), source.quantization) == op.fill)


def picked(table: np.ndarray | None, after: np.ndarray | None) -> np.ndarray | None:
    """One table for two of them in a row."""
    if table is None or after is None:
        return after if table is None else table
    return np.where(after == FILL, FILL, table[np.maximum(after, 0)])


def compose_takes(graph: Graph, op: Op) -> dict[str, Op | None] | None:
    """Two selections in a row are one."""
    after = graph.only_use(op.output)
    if not isinstance(op, Take) or not isinstance(after, Take):
        return None
    if fills(op) and fills(after) and (op.fill.dtype, op.fill) != (after.fill.dtype, after.fill):
        return None
    tables = tuple(picked(a, b) for a, b in zip(op.indices, after.indices, strict=True))
    nodes = tuple(dict.fromkeys(op.nodes + after.nodes))
    fill = op.fill if fills(op) else after.fill
    composed = Take(after.name, op.inputs, after.output, nodes, indices=tables, fill=fill)
    return {op.output: composed, after.output: None}


def simplified(indices: Sequence[np.ndarray | None], shape: Sequence[int]) -> Indices:
    """None for tables that keep their axis."""
    return tuple(None if t is None or np.array_equal(t, np.arange(n)) else np.asarray(t, np.int64)
                 for t, n in zip(indices, shape, strict=True))


def zero_pads(graph: Graph, op: Op | None) -> tuple[int, int, int, int] | None:
    """top, left, bottom, right of an operator that only adds zeros around an image."""
    if not isinstance(op, Take) or not 3 <= len(op.indices) <= 4:
        return None
    source = graph.tensors[op.inputs[0]]
    if not _is_zero(op, source) or any(t is not None for t in op.indices[:2]):
        return None
    pairs = [(0, 0), *(_around(t, n) for t, n in
                       zip(op.indices[2:], source.shape[2:], strict=True))][-2:]
    if None in pairs:
        return None
    (top, bottom), (left, right) = pairs  # type: ignore[misc]
    return top, left, bottom, right


def _is_zero(op: Take, source: Tensor) -> bool:
    zero = source.quantization.zero_point if source.quantization else 0
    real = op.fill.dtype == np.float32 or source.quantization is None
    return bool(op.fill == (0 if real else zero))


def _around(table: np.ndarray | None, size: int) -> tuple[int, int] | None:
    """How much is filled before and after an axis that is whole otherwise."""
    if table is None:
        return 0, 0
    inside = np.flatnonzero(table != FILL)
    if not np.array_equal(table[inside], np.arange(size)) or np.any(np.diff(inside) != 1):
        return None
    return int(inside[0]), int(len(table) - 1 - inside[-1])
