"""Gemm, and MatMul with constant weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgecc.schedule.operators import operator
from edgecc.schedule.ops import Constant, Dense, Transpose
from edgecc.schedule.reader import Node


@operator("Gemm")
def gemm(node: Node) -> None:
    x, weights, bias = node.float_tensor(0), node.constant(1), node.optional_constant(2)
    if node.attribute("transA", 0):
        x = node.emit(Transpose, [x.name], x.shape[::-1], last=False, permutation=(1, 0))
    if not node.attribute("transB", 0):
        weights = transposed(weights)
    weights = scaled(weights, node.attribute("alpha", 1.0))
    m, n = x.shape[0], weights.real.shape[0]
    if bias is not None:
        bias = _row(node, scaled(bias, node.attribute("beta", 1.0)), m, n)
    node.attribute("beta")
    _check(node, x.shape, weights)
    node.emit(Dense, [x.name], (m, n), weights=weights, bias=bias)


@operator("MatMul")
def matmul(node: Node) -> None:
    if node.is_constant(0) or not node.is_constant(1):
        node.refuse("MatMul needs computed values left and constant weights right",
                    "only x · W with W an initializer is supported")
    x, weights = node.float_tensor(0), node.constant(1)
    if weights.real.ndim != 2:
        node.refuse("the weights of MatMul must have two axes")
    _check(node, x.shape, transposed(weights))
    node.emit(Dense, [x.name], (*x.shape[:-1], weights.real.shape[1]),
              weights=transposed(weights))


def _check(node: Node, shape: tuple[int, ...], weights: Constant) -> None:
    if shape[-1] != weights.real.shape[1]:
        node.refuse(f"weights for {weights.real.shape[1]} inputs do not fit {shape}")


def transposed(weights: Constant) -> Constant:
    """Two axes exchanged, quantization included."""
    integers = None if weights.integers is None else weights.integers.T
    axis = None if weights.axis is None else 1 - weights.axis
    return replace(weights, real=weights.real.T, integers=integers, axis=axis)


def scaled(value: Constant, factor: float) -> Constant:
    if factor == 1.0:
        return value
    scale = None if value.scale is None else value.scale * np.float32(factor)
    if factor <= 0:
        return Constant(value.real * np.float32(factor))
    return replace(value, real=value.real * np.float32(factor), scale=scale)


def _row(node: Node, bias: Constant, m: int, n: int) -> Constant:
    """The bias as one row of n. Refuses one that differs between rows."""
    shape = bias.real.shape
    if bias.real.size not in (1, n) or (shape and shape[-1] not in (1, n)) or (
            bias.real.size == n != 1 and shape[-1] != n):
        node.refuse(f"bias {shape} is not one row of {n} values",
                    "add a constant of another shape with Add")
    integers = bias.integers
    if integers is not None:
        integers = np.broadcast_to(integers.reshape(-1), n)
    axis = None if bias.axis is None else 0
    return replace(bias, real=np.broadcast_to(bias.real.reshape(-1), n), integers=integers,
                   axis=axis)
