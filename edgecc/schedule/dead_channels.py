"""Dead channels: those that have one value for every input are computed at compile time.

Pruned networks carry them. A channel goes when everything that reads it can do without: a
convolution or matrix product takes its constant into the bias (a padded one only if the constant
is the zero point, which is what padding holds); a depthwise convolution or pool can do without
what the readers of its own channel can do without, constant input or not. Bytes of the outputs
stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgecc.schedule.ops import Constant, Conv, Dense, Graph, Lookup, Op, Pool, Reshape, Tensor
from edgecc.schedule.ranges import Range, channel_ranges
from edgecc.schedule.rounding import integer_bias, product_scale

CHANNEL_STEP = 8  # half a 128-bit vector: the fewest instructions of 4, 8 and 16 on a Cortex-A76


def remove_dead_channels(graph: Graph) -> Graph:
    """The graph without channels whose value never changes."""
    ranges = channel_ranges(graph)
    work = _Removing(graph, ranges, dict(graph.tensors), {op.output: op for op in graph.ops})
    for op in graph.ops:
        if isinstance(op, Conv) and op.groups == 1 and op.output in ranges:
            mask = _rounded(_droppable(work, op.output))
            if mask.any():
                work.ops[op.output] = _fewer_outputs(work.ops[op.output], ~mask)
                _drop(work, op.output, mask)
    return graph.with_ops([work.ops[op.output] for op in graph.ops], work.tensors.values())


@dataclass
class _Removing:
    """`graph` and `ranges` as they were; `tensors` and `ops` (by output) as they become."""

    graph: Graph
    ranges: Mapping[str, Range]
    tensors: dict[str, Tensor]
    ops: dict[str, Op]


def _rounded(mask: np.ndarray) -> np.ndarray:
    """Keeps a few dead channels so that the rest is a multiple of CHANNEL_STEP."""
    alive = int((~mask).sum())
    keep = min(-(-max(alive, 1) // CHANNEL_STEP) * CHANNEL_STEP, len(mask))
    mask = mask.copy()
    mask[np.flatnonzero(mask)[:keep - alive]] = False
    return mask


def _droppable(work: _Removing, name: str) -> np.ndarray:
    """Channels of a tensor that all its readers can do without."""
    nothing = np.zeros(len(work.ranges[name].lo), bool)
    if name in work.graph.outputs or not work.graph.uses[name]:
        return nothing
    return np.logical_and.reduce([_spared(work, op, name) for op in work.graph.uses[name]])


def _spared(work: _Removing, op: Op, name: str) -> np.ndarray:
    """Which channels of its input `name` an operator can do without."""
    tensor, values = work.graph.tensors[name], work.ranges[name]
    nothing = np.zeros(len(values.lo), bool)
    if op.output not in work.ranges or op.inputs[1:] == (name,):
        return nothing
    if isinstance(op, Conv) and op.groups == 1:
        assert tensor.quantization is not None
        silent = values.lo == tensor.quantization.zero_point
        return values.constant() & silent if any(op.pads) else values.constant()
    if isinstance(op, Dense):
        return values.constant() if len(tensor.shape) == 2 else nothing
    return _droppable(work, op.output) if _carries(work.graph, op) else nothing


def _carries(graph: Graph, op: Op) -> bool:
    """Whether each output channel is made of the same input channel alone."""
    before, after = graph.tensors[op.inputs[0]].shape, graph.tensors[op.output].shape
    if isinstance(op, Conv):
        return op.groups == before[1] == after[1] and len(op.inputs) == 1
    if isinstance(op, Reshape):
        return before[:2] == after[:2]
    return isinstance(op, Pool | Lookup)


def _drop(work: _Removing, name: str, mask: np.ndarray) -> None:
    """Take the masked channels out of a tensor and of all that reads it."""
    old = work.tensors[name]
    work.tensors[name] = replace(old, shape=(old.shape[0], int((~mask).sum()), *old.shape[2:]))
    for use in work.graph.uses[name]:
        op = work.ops[use.output]
        if isinstance(op, Dense) or (isinstance(op, Conv) and op.groups == 1):
            work.ops[use.output] = _fewer_inputs(work, op, name, mask)
            continue
        if isinstance(op, Conv):
            alive = _fewer_outputs(op, ~mask)
            work.ops[use.output] = replace(alive, groups=int((~mask).sum()))
        _drop(work, use.output, mask)


def _fewer_outputs(current: Op, keep: np.ndarray) -> Conv:
    assert isinstance(current, Conv)
    bias = current.bias
    return replace(current, weights=_taken(current.weights, keep),
                   bias=None if bias is None else _taken(bias, keep))


def _taken(value: Constant, keep: np.ndarray) -> Constant:
    """The kept entries of the first axis."""
    scale = value.scale
    return Constant(np.broadcast_to(value.real, (len(keep), *value.real.shape[1:]))[keep],
                    None if value.integers is None else value.integers[keep],
                    scale if scale is None or scale.size == 1 else scale[keep], value.axis)


def _fewer_inputs(work: _Removing, op: Conv | Dense, name: str, mask: np.ndarray) -> Op:
    """Without the masked input channels, whose constants go into the bias."""
    quantization = work.graph.tensors[name].quantization
    weights = op.weights
    assert quantization is not None and weights.integers is not None
    product = np.asarray(product_scale(quantization.scale, weights.scale))
    bias = integer_bias(op.bias, product, weights.integers.shape[0]).astype(np.int64)
    values = (work.ranges[name].lo - quantization.zero_point)[mask]
    sums = weights.integers[:, mask].astype(np.int64)
    sums = sums.reshape(*sums.shape[:2], -1).sum(axis=2)
    folded = (bias + sums @ values).astype(np.uint32).view(np.int32)  # wraps as the kernel would
    fewer = replace(weights, real=weights.real[:, ~mask], integers=weights.integers[:, ~mask])
    return replace(op, weights=fewer,
                   bias=Constant(folded * product, folded, product.reshape(-1)))
