"""Which operators have int8 arithmetic of their own (functions of one tensor are tables)."""

from __future__ import annotations

import math

import numpy as np

from edgecc.errors import UnsupportedModel
from edgecc.kernels.normalize import MOST_EXACT
from edgecc.schedule.math_ops import (
    ConvTranspose,
    GroupNorm,
    LayerNorm,
    MatMul,
    Reduce,
    Rowwise,
)
from edgecc.schedule.moves import Interpolate
from edgecc.schedule.ops import Affine, Binary, Conv, Dense, Graph, Op, Pool, Softmax

ALWAYS = (Affine, Binary, Interpolate, MatMul, Pool)


def computes_in_int8(graph: Graph, op: Op) -> bool:
    """Whether the operator computes in int8 when its inputs and output are quantized.

    Raises UnsupportedModel for weights that int8 kernels cannot hold exactly.
    """
    if isinstance(op, Conv | ConvTranspose | Dense):
        return _weights_fit(op)
    if isinstance(op, LayerNorm | GroupNorm):
        return normalized_count(graph, op) <= MOST_EXACT
    if isinstance(op, Reduce):
        return op.function in ("sum", "mean")
    if isinstance(op, Rowwise):
        return op.function == "prelu"
    return isinstance(op, ALWAYS) or (isinstance(op, Softmax) and not op.log)


def normalized_count(graph: Graph, op: LayerNorm | GroupNorm) -> int:
    """How many values have their mean and variance in common."""
    shape = graph.tensors[op.inputs[0]].shape
    if isinstance(op, LayerNorm):
        return math.prod(shape[op.axis:])
    return math.prod(shape[1:]) // op.groups


def _weights_fit(op: Conv | ConvTranspose | Dense) -> bool:
    """Whether the weights are quantized. Raises UnsupportedModel if not exactly as int8."""
    weights = op.weights
    if weights.integers is None:
        return False
    where = f"{op.name} ({type(op).__name__})"
    if weights.integers.dtype != np.int8:
        raise UnsupportedModel(
            "weights minus their zero point do not fit int8", where=where,
            needed="[-128, 127]", available="wider",
            advice="quantize weights symmetrically (zero point 0, or 128 for uint8)")
    if weights.axis not in (None, 0):
        raise UnsupportedModel(
            f"weights have one scale per index of axis {weights.axis}", where=where,
            advice="quantize weights per output channel or per tensor")
    return True
