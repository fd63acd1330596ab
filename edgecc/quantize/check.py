"""Independent judge of a quantized model: reads the protobuf, shares no code with the quantizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import onnx_ir as ir

from edgecc.errors import CheckFailed

_QDQ = ("QuantizeLinear", "DequantizeLinear")
_LINEAR = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_SCALE_TOLERANCE = 1e-5  # exporters form the product in float32 or float64


@dataclass(frozen=True)
class _Graph:
    constants: Mapping[str, np.ndarray]
    makers: Mapping[str, onnx.NodeProto]

    def dequantizer(self, name: str) -> onnx.NodeProto | None:
        node = self.makers.get(name)
        return node if node is not None and node.op_type == "DequantizeLinear" else None

    def integers(self, node: onnx.NodeProto) -> np.ndarray | None:
        return self.constants.get(node.input[0])

    def scale(self, node: onnx.NodeProto) -> np.ndarray:
        return self.constants[node.input[1]]


def check_quantized(model: ir.Model) -> None:
    """Scales positive and finite, zero points of the right type and count, a tensor dequantized
    as it was quantized, and for linear int8 nodes: bias int32 at sx*sw, no overflow of int32.

    Raises: CheckFailed.
    """
    proto = ir.to_proto(model)
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in proto.graph.initializer}
    makers = {name: node for node in proto.graph.node for name in node.output}
    graph = _Graph(constants, makers)
    for node in proto.graph.node:
        if node.op_type in _QDQ:
            _check_parameters(node, graph)
        if node.op_type in _LINEAR:
            _check_linear(node, graph)


def _check_parameters(node: onnx.NodeProto, graph: _Graph) -> None:
    scale = graph.constants.get(node.input[1])
    if scale is None:
        raise CheckFailed(f"the scale of {node.name} is not constant")
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise CheckFailed(f"the scale of {node.name} is not positive and finite")
    zero = _zero_point(node, graph)
    if zero is not None:
        _check_zero_point(node, zero, scale, graph)
    _check_axis(node, scale, graph)
    _check_round_trip(node, graph)


def _zero_point(node: onnx.NodeProto, graph: _Graph) -> np.ndarray | None:
    if len(node.input) < 3 or not node.input[2]:
        return None
    zero = graph.constants.get(node.input[2])
    if zero is None:
        raise CheckFailed(f"the zero point of {node.name} is not constant")
    return zero


def _check_zero_point(
    node: onnx.NodeProto, zero: np.ndarray, scale: np.ndarray, graph: _Graph
) -> None:
    if zero.shape != scale.shape:
        raise CheckFailed(f"{node.name} has {zero.size} zero points for {scale.size} scales")
    data = graph.constants.get(node.input[0])
    if node.op_type == "DequantizeLinear" and data is not None and data.dtype != zero.dtype:
        raise CheckFailed(f"{node.name} has {zero.dtype} zero points for {data.dtype} data")
    if zero.dtype == np.int32 and zero.any():
        raise CheckFailed(f"{node.name} has int32 data with a zero point other than 0")


def _check_axis(node: onnx.NodeProto, scale: np.ndarray, graph: _Graph) -> None:
    data = graph.constants.get(node.input[0])
    if scale.size == 1 or data is None or scale.ndim != 1:
        return
    axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
    if not -data.ndim <= axis < data.ndim or data.shape[axis] != scale.size:
        raise CheckFailed(f"{node.name} has {scale.size} scales along axis {axis} of {data.shape}")


def _check_round_trip(node: onnx.NodeProto, graph: _Graph) -> None:
    """What one QuantizeLinear wrote, DequantizeLinear must read with the same parameters."""
    source = graph.makers.get(node.input[0])
    if node.op_type != "DequantizeLinear" or source is None or source.op_type != "QuantizeLinear":
        return
    same = np.array_equal(graph.scale(node), graph.scale(source))
    zeros = [_zero_point(n, graph) for n in (node, source)]
    read, written = (np.zeros(()) if z is None else z for z in zeros)
    if not same or not np.array_equal(read, written):
        raise CheckFailed(f"{node.name} does not read what {source.name} wrote: parameters differ")


def _check_linear(node: onnx.NodeProto, graph: _Graph) -> None:
    data, weights = graph.dequantizer(node.input[0]), graph.dequantizer(node.input[1])
    if data is None or weights is None or graph.integers(weights) is None:
        return
    product = graph.scale(data).astype(np.float64) * graph.scale(weights).astype(np.float64)
    bias = None
    if len(node.input) > 2 and node.input[2]:
        bias = _check_bias(node, product, graph)
    _check_accumulator(node, weights, bias, graph)


def _check_bias(node: onnx.NodeProto, product: np.ndarray, graph: _Graph) -> np.ndarray | None:
    source = graph.dequantizer(node.input[2])
    if source is None:
        raise CheckFailed(f"{node.name} has int8 weights and a bias that is not integer")
    integers = graph.integers(source)
    if integers is None or integers.dtype != np.int32:
        raise CheckFailed(f"the bias of {node.name} is not constant int32")
    scale = graph.scale(source)
    if node.op_type == "ConvTranspose":  # groups share the scales
        product = np.resize(product, scale.shape)
    scale = np.broadcast_to(scale, product.shape)
    if not np.allclose(scale, product, rtol=_SCALE_TOLERANCE, atol=0):
        raise CheckFailed(f"the bias scale of {node.name} is not input scale times weight scale")
    return integers


def _check_accumulator(
    node: onnx.NodeProto, weights: onnx.NodeProto, bias: np.ndarray | None, graph: _Graph
) -> None:
    """The largest possible accumulator: each |weight| meets an input 255 steps off zero."""
    integers = graph.integers(weights)
    assert integers is not None
    zero = _zero_point(weights, graph)
    axis = 1 if node.op_type in ("MatMul", "ConvTranspose") else 0
    if node.op_type == "Gemm" and not any(a.name == "transB" and a.i for a in node.attribute):
        axis = 1
    offset = 0 if zero is None else int(np.abs(zero.astype(np.int64)).max(initial=0))
    rows = np.abs(np.moveaxis(integers.astype(np.int64), axis, 0).reshape(integers.shape[axis], -1))
    largest = (rows + offset).sum(axis=1) * 255
    if bias is not None:
        largest = np.resize(largest, bias.size) + np.abs(bias.astype(np.int64))
    if (largest > 2**31 - 1).any():
        raise CheckFailed(f"the int32 accumulator of {node.name} can overflow")
