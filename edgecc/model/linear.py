"""Convolutions and matrix products in one spelling each.

Gemm: alpha = beta = 1, transA = 0, transB = 1, constant weights (n, k), bias (n,) or none.
MatMul of a matrix by a constant matrix is a Gemm. A constant Add or Mul per output channel that
follows a Conv or Gemm goes into its constants; Sub and Div by a constant become Add and Mul.
onnxscript has rules for scalars and for MatMul + Add; these are the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import attribute, constant, initializer, is_real, replace


def canonicalise(model: ir.Model) -> bool:
    """Apply every rewrite once to every node; True if anything changed."""
    changed = False
    for node in list(model.graph):
        if node.graph is None or node.domain != "":
            continue
        rewrite = _REWRITES.get(node.op_type)
        changed |= bool(rewrite and rewrite(model.graph, node))
    return changed


def _gemm(graph: ir.Graph, node: ir.Node) -> bool:
    """Fold alpha, beta and transB into constant weights and bias."""
    weights = constant(node.inputs[1])
    if weights is None or not is_real(weights) or attribute(node, "transA", 0):
        return False
    stored = weights if attribute(node, "transB", 0) else weights.T
    if _is_canonical(node) or not _has_row_bias(node, len(stored)):
        return False
    scaled = (stored * np.float32(attribute(node, "alpha", 1.0))).astype(weights.dtype)
    _put(graph, node, "Gemm", node.inputs[0], scaled, _row_bias(node, len(stored)), {"transB": 1})
    return True


def _is_canonical(node: ir.Node) -> bool:
    factors = attribute(node, "alpha", 1.0), attribute(node, "beta", 1.0)
    bias = _bias_input(node)
    flat = bias is None or (bias.shape is not None and len(bias.shape) == 1)
    return attribute(node, "transB", 0) == 1 and factors == (1.0, 1.0) and flat


def _bias_input(node: ir.Node) -> ir.Value | None:
    return node.inputs[2] if len(node.inputs) > 2 else None


def _has_row_bias(node: ir.Node, n: int) -> bool:
    """Whether the bias is absent, or a constant that is the same for all rows."""
    if _bias_input(node) is None:
        return True
    value = constant(_bias_input(node))
    if value is None or not is_real(value):
        return False
    return value.size == 1 or (value.size == n and value.shape[-1] == n)


def _row_bias(node: ir.Node, n: int) -> np.ndarray | None:
    value = constant(_bias_input(node))
    if value is None:
        return None
    return np.broadcast_to(value.reshape(-1), (n,)) * np.float32(attribute(node, "beta", 1.0))


def _put(
    graph: ir.Graph,
    node: ir.Node,
    op_type: str,
    source: ir.Value | None,
    weights: np.ndarray,
    bias: np.ndarray | None,
    attributes: Mapping[str, Any],
) -> None:
    """A linear node in the place of `node`; its constants are named after what it computes. The
    bias is of the weights' type."""
    base = node.outputs[0].name
    inputs = [source, initializer(graph, f"{base}_weights", weights)]
    if bias is not None and bias.any():
        inputs.append(initializer(graph, f"{base}_bias", bias.astype(weights.dtype)))
    replace(node, op_type, inputs, attributes)


def _matmul(graph: ir.Graph, node: ir.Node) -> bool:
    left, weights = node.inputs[0], constant(node.inputs[1])
    if left is None or left.shape is None or len(left.shape) != 2:
        return False
    if weights is None or weights.ndim != 2 or not is_real(weights):
        return False
    _put(graph, node, "Gemm", left, weights.T, None, {"transB": 1})
    return True


def _sub(graph: ir.Graph, node: ir.Node) -> bool:
    """Sub of a constant is Add of its negative."""
    return _as_commutative(graph, node, "Add", lambda value: -value)


def _div(graph: ir.Graph, node: ir.Node) -> bool:
    """Div by a constant is Mul by its reciprocal (one rounding apart)."""
    return _as_commutative(graph, node, "Mul", lambda value: 1 / value)


def _as_commutative(
    graph: ir.Graph, node: ir.Node, op_type: str, turn: Callable[[np.ndarray], np.ndarray]
) -> bool:
    value = constant(node.inputs[1])
    if value is None or not is_real(value):
        return False
    with np.errstate(divide="ignore", over="ignore"):
        turned = np.asarray(turn(value), value.dtype)
    if not np.isfinite(turned).all():
        return False
    other = initializer(graph, f"{node.outputs[0].name}_constant", turned)
    replace(node, op_type, [node.inputs[0], other])
    return True


def _fold_affine(graph: ir.Graph, node: ir.Node) -> bool:
    """Add or Mul of a constant per channel, after a Conv or Gemm that nothing else reads."""
    for index in (0, 1):
        source, other = node.inputs[index], constant(node.inputs[1 - index])
        producer = source.producer() if source is not None else None
        if producer is None or other is None or not _foldable(producer, source):
            continue
        per_channel = _per_channel(producer, other)
        if per_channel is not None:
            _put_affine(graph, producer, node, per_channel)
            return True
    return False


def _foldable(producer: ir.Node, value: ir.Value | None) -> bool:
    if producer.op_type not in ("Conv", "Gemm") or producer.domain != "" or value is None:
        return False
    if producer.op_type == "Gemm" and not _is_canonical(producer):
        return False
    constants = [constant(v) for v in producer.inputs[1:] if v is not None]
    ours = all(is_real(c) for c in constants)
    return ours and len(value.uses()) == 1 and not value.is_graph_output()


def _per_channel(producer: ir.Node, value: np.ndarray) -> np.ndarray | None:
    """The constant as (channels,), or None if it is not one number per output channel."""
    weights = constant(producer.inputs[1])
    assert weights is not None
    channels, rank = weights.shape[0], weights.ndim
    axis = 1
    if value.ndim > rank or not is_real(value):
        return None
    full = value.reshape((1,) * (rank - value.ndim) + value.shape)
    if any(d != 1 for i, d in enumerate(full.shape) if i != axis):
        return None
    if full.shape[axis] not in (1, channels):
        return None
    return np.broadcast_to(full.reshape(-1), (channels,)).astype(np.float32)


def _put_affine(graph: ir.Graph, producer: ir.Node, node: ir.Node, value: np.ndarray) -> None:
    weights = constant(producer.inputs[1])
    assert weights is not None
    bias = constant(producer.inputs[2]) if len(producer.inputs) > 2 else None
    bias = np.zeros(weights.shape[0], np.float32) if bias is None else bias.astype(np.float32)
    dtype = weights.dtype
    if node.op_type == "Mul":
        weights = weights * value.reshape((-1,) + (1,) * (weights.ndim - 1))
        bias = bias * value
    else:
        bias = bias + value
    source, attributes = producer.inputs[0], dict(producer.attributes)
    _put(graph, node, producer.op_type, source, weights.astype(dtype), bias, attributes)
    graph.remove(producer, safe=True)


_REWRITES = {
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": _fold_affine,
    "Mul": _fold_affine,
    "Sub": _sub,
    "Div": _div,
}
