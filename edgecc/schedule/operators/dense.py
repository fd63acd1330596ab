"""Gemm and MatMul: with constant weights on the right or left, or of two computed matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgecc.schedule import math_ops
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.weights import nbits
from edgecc.schedule.ops import (
    Affine,
    Binary,
    Constant,
    Convert,
    Dense,
    Reshape,
    Tensor,
    Transpose,
)
from edgecc.schedule.reader import Node


@operator("Gemm")
def gemm(node: Node) -> None:
    if not node.is_constant(1) or (node.has(2) and not node.is_constant(2)):
        _computed_gemm(node)
        return
    x, weights, bias = node.float_tensor(0), node.constant(1), node.optional_constant(2)
    if node.attribute("transA", 0):
        x = _turned(node, x)
    if not node.attribute("transB", 0):
        weights = transposed(weights)
    weights = scaled(weights, node.attribute("alpha", 1.0))
    m, n = x.shape[0], weights.real.shape[0]
    if bias is not None:
        bias = _row(node, scaled(bias, node.attribute("beta", 1.0)), m, n)
    node.attribute("beta")
    _check(node, x.shape, weights)
    _product(node, x, (m, n), weights, bias)


def _product(node: Node, x: Tensor, shape: Sequence[int], weights: Constant,
             bias: Constant | None = None, last: bool = True) -> Tensor:
    """x times constant weights. 4-bit weights multiply float32, so float16 becomes that first."""
    given: dict[str, Any] = {"weights": weights, "bias": bias}
    if weights.grouped is None or x.dtype == "float32":
        return node.emit(Dense, [x.name], shape, last=last, **given)
    wide = node.emit(Convert, [x.name], x.shape, last=False, dtype="float32")
    y = node.emit(Dense, [wide.name], shape, last=False, **given)
    return node.emit(Convert, [y.name], shape, last=last, dtype=x.dtype)


def _computed_gemm(node: Node) -> None:
    """alpha * A · B + beta * C, one step each; whatever is constant becomes a tensor."""
    a, b = node.runtime(0), node.runtime(1)
    a = _turned(node, a) if node.attribute("transA", 0) else a
    b = _turned(node, b) if node.attribute("transB", 0) else b
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    shape = _product_shape(node, a.shape, b.shape)
    c = node.runtime(2) if node.has(2) else None
    y = node.emit(math_ops.MatMul, [a.name, b.name], shape, last=c is None and alpha == 1.0)
    if alpha != 1.0:
        y = _times(node, y, alpha, last=c is None)
    if c is not None:
        c = c if beta == 1.0 else _times(node, c, beta, last=False)
        if node.broadcast(shape, c.shape) != tuple(shape):
            node.refuse(f"C of shape {c.shape} does not broadcast to {tuple(shape)}")
        node.emit(Binary, [y.name, c.name], shape, function="add")


def _times(node: Node, x: Tensor, factor: float, last: bool) -> Tensor:
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    return node.emit(Affine, [x.name], x.shape, last=last, scale=one * np.float32(factor),
                     shift=zero, divisor=one)


@operator("MatMul")
def matmul(node: Node) -> None:
    if node.is_constant(1) and node.constant(1).real.ndim == 2 and not node.is_constant(0):
        x, weights = node.float_tensor(0), transposed(node.constant(1))
        _check(node, x.shape, weights)
        _product(node, x, (*x.shape[:-1], weights.real.shape[0]), weights)
    elif node.is_constant(0) and node.constant(0).real.ndim == 2 and (
            len(node.float_tensor(1).shape) >= 2):
        _weights_left(node)
    else:
        _both_computed(node)


@operator("MatMulNBits")
def matmul_nbits(node: Node) -> None:
    """A product with 4-bit weights (n, k), packed."""
    k, n, block, bits = (int(node.attribute(name, 0)) for name in ("K", "N", "block_size", "bits"))
    if bits != 4:
        node.refuse(f"weights of {bits} bits are not supported", "quantize with bits=4")
    if block < 16 or block & (block - 1):
        node.refuse(f"block_size={block} is not a power of two from 16 on")
    if node.has(4):
        node.refuse("g_idx (weights in another order than their groups) is not supported",
                    "quantize without act-order, or put the weights in order")
    if node.attribute("weight_prepacked", 0):
        node.refuse("weights are packed for one kernel of another runtime",
                    "export with weight_prepacked=0")
    rounded = node.attribute("accuracy_level", 0) == 4  # int8 activations are exact enough
    x, bias = node.float_tensor(0), node.optional_constant(5)
    grouped = replace(nbits(node, k, n, block), rounded=rounded)
    weights = Constant(grouped.real, grouped=grouped)
    _check(node, x.shape, weights)
    row = None if bias is None else _row(node, bias, x.size // k, n)
    _product(node, x, (*x.shape[:-1], n), weights, row)


def _weights_left(node: Node) -> None:
    """W · x is the transpose of xᵀ · Wᵀ."""
    x, weights = node.float_tensor(1), node.constant(0)
    turned = _turned(node, x)
    _check(node, turned.shape, weights)
    product = _product(node, turned, (*turned.shape[:-1], weights.real.shape[0]), weights,
                       last=False)
    _turned(node, product, last=True)


def _both_computed(node: Node) -> None:
    """Vectors become matrices of one row or column for the product."""
    a, b = node.runtime(0), node.runtime(1)
    left = a if len(a.shape) > 1 else node.emit(
        Reshape, [a.name], (1, a.size), last=False, like=a)
    right = b if len(b.shape) > 1 else node.emit(
        Reshape, [b.name], (b.size, 1), last=False, like=b)
    shape = _product_shape(node, left.shape, right.shape)
    vectors = left is not a or right is not b
    y = node.emit(math_ops.MatMul, [left.name, right.name], shape, last=not vectors)
    if vectors:
        kept = [*shape[:-2], *(shape[-2:-1] if left is a else ()),
                *(shape[-1:] if right is b else ())]
        node.emit(Reshape, [y.name], kept)


def _product_shape(node: Node, a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    if a[-1] != b[-2]:
        node.refuse(f"{tuple(a)} has {a[-1]} columns, {tuple(b)} {b[-2]} rows")
    return (*node.broadcast(a[:-2], b[:-2]), a[-2], b[-1])


def _turned(node: Node, x: Tensor, last: bool = False) -> Tensor:
    """The last two axes exchanged."""
    order = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
    return node.emit(Transpose, [x.name], [x.shape[i] for i in order], last=last, like=x,
                     permutation=order)


def _check(node: Node, shape: tuple[int, ...], weights: Constant) -> None:
    if shape[-1] != weights.real.shape[1]:
        node.refuse(f"weights for {weights.real.shape[1]} inputs do not fit {shape}")


def transposed(weights: Constant) -> Constant:
    """Two axes exchanged, quantization included."""
    integers = None if weights.integers is None else weights.integers.T
    axis = None if weights.axis is None else 1 - weights.axis
    grouped = None if weights.grouped is None else weights.grouped.transposed
    return replace(weights, real=weights.real.T, integers=integers, axis=axis, grouped=grouped)


def scaled(value: Constant, factor: float) -> Constant:
    if factor == 1.0:
        return value
    scale = None if value.scale is None else value.scale * np.float32(factor)
    if factor <= 0:
        return Constant(value.real * np.float32(factor))
    grouped = None if value.grouped is None else value.grouped.times(factor)
    return replace(value, real=value.real * np.float32(factor), scale=scale, grouped=grouped)


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
