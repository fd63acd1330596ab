"""Which int8 values each channel of a tensor can take: interval arithmetic, exact bounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgecc.kernels.reference import pool_ratio
from edgecc.kernels.requantize import requantize
from edgecc.schedule.ops import Conv, Graph, Lookup, Op, Pool, Reshape, Tensor
from edgecc.schedule.rounding import integer_bias, product_scale, requantize_scale

INT32 = np.iinfo(np.int32)
FULL = (-128, 127)


class Range:
    """Lowest and highest value of every channel (inclusive)."""

    def __init__(self, lo: np.ndarray, hi: np.ndarray):
        self.lo, self.hi = lo.astype(np.int64), hi.astype(np.int64)

    def constant(self) -> np.ndarray:
        """Whether a channel always has the same value."""
        return self.lo == self.hi


def full_range(tensor: Tensor) -> Range:
    channels = tensor.shape[1]
    return Range(np.full(channels, FULL[0]), np.full(channels, FULL[1]))


def channel_ranges(graph: Graph) -> Mapping[str, Range]:
    """Ranges of all int8 tensors that have channels."""
    found: dict[str, Range] = {}
    for name, tensor in graph.tensors.items():
        if tensor.dtype == "int8" and len(tensor.shape) > 1:
            found[name] = full_range(tensor)
    for op in graph.ops:
        if op.output in found and op.inputs and op.inputs[0] in found:
            found[op.output] = _narrowed(graph, op, found[op.inputs[0]], found[op.output])
    return found


def _narrowed(graph: Graph, op: Op, source: Range, full: Range) -> Range:
    x, y = graph.tensors[op.inputs[0]], graph.tensors[op.output]
    if isinstance(op, Conv) and len(op.inputs) == 1:
        return _conv(op, x, y, source)
    if isinstance(op, Lookup):
        values = [op.table[lo + 128:hi + 129] for lo, hi in zip(source.lo, source.hi, strict=True)]
        return Range(np.array([v.min() for v in values]), np.array([v.max() for v in values]))
    if isinstance(op, Pool):
        return _pool(op, x, y, source, full)
    keeps = isinstance(op, Reshape) and x.shape[:2] == y.shape[:2]
    return source if keeps else full


def _pool(op: Pool, x: Tensor, y: Tensor, source: Range, full: Range) -> Range:
    """A maximum stays in range; so does an average of whole windows, requantized."""
    if op.function == "max":
        return source
    if any(op.pads) or op.ceil_mode:
        return full
    assert x.quantization and y.quantization
    count = op.kernel[0] * op.kernel[1]
    ratio = pool_ratio(x.quantization.scale, y.quantization.scale, count)
    ends = [requantize((end - x.quantization.zero_point) * count, ratio,
                       y.quantization.zero_point) for end in (source.lo, source.hi)]
    return Range(*ends)


def _conv(op: Conv, x: Tensor, y: Tensor, source: Range) -> Range:
    """Bounds of the accumulator, then of its requantization, which is monotone."""
    assert op.weights.integers is not None and x.quantization and y.quantization
    zero, weights = x.quantization.zero_point, op.weights.integers.astype(np.int64)
    lo, hi = source.lo - zero, source.hi - zero
    if any(op.pads):
        lo, hi = np.minimum(lo, 0), np.maximum(hi, 0)
    k, per_group = weights.shape[:2]
    owner = np.arange(k) // (k // op.groups)
    channels = owner[:, None] * per_group + np.arange(per_group)
    ends = [weights * end[channels][:, :, None, None] for end in (lo, hi)]
    product = product_scale(x.quantization.scale, op.weights.scale)
    bias = integer_bias(op.bias, product, k).astype(np.int64)
    low = bias + np.minimum(*ends).sum(axis=(1, 2, 3))
    high = bias + np.maximum(*ends).sum(axis=(1, 2, 3))
    scale = requantize_scale(x.quantization.scale, op.weights.scale, y.quantization.scale)
    clamp = [int(v) for v in op.clamp or FULL]
    zero = y.quantization.zero_point
    fits = (low >= INT32.min) & (high <= INT32.max)
    low, high = (requantize(v, scale, zero, *clamp) for v in (low, high))
    return Range(np.where(fits, low, clamp[0]), np.where(fits, high, clamp[1]))
