"""Biases of quantized operators as integers: int32 at input scale times weight scale.

torch's converters leave biases in float32. Integer kernels add them to int32 accumulators, so
the rounding happens whatever the model says; done here, ONNX Runtime sees the same bias.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import constant, initializer

_LINEAR = ("Conv", "ConvTranspose", "Gemm")
_LARGEST = 2**31 - 1


def integer_biases(model: ir.Model) -> None:
    """Give every float bias between integer data and integer weights its int32 form, in place.
    A bias that does not fit int32 stays."""
    for node in list(model.graph):
        if node.op_type in _LINEAR and node.domain == "" and len(node.inputs) > 2:
            _convert(model.graph, node)


def _convert(graph: ir.Graph, node: ir.Node) -> None:
    bias = constant(node.inputs[2])
    scales = [_scale(value) for value in node.inputs[:2]]
    if bias is None or bias.dtype != np.float32 or any(s is None for s in scales):
        return
    data, weights = (np.asarray(s, np.float32).reshape(-1) for s in scales)
    if data.size != 1 or weights.size not in (1, bias.size) or bias.ndim != 1:
        return
    product = np.broadcast_to(data * weights, bias.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        integers = np.rint(bias.astype(np.float64) / product.astype(np.float64))
    if np.isfinite(integers).all() and np.abs(integers).max(initial=0) <= _LARGEST:
        _put(graph, node, integers.astype(np.int32), product)


def _scale(value: ir.Value | None) -> np.ndarray | None:
    """The scale of what DequantizeLinear gives; None for everything else."""
    producer = value.producer() if value is not None else None
    if producer is None or producer.op_type != "DequantizeLinear":
        return None
    return constant(producer.inputs[1])


def _put(graph: ir.Graph, node: ir.Node, integers: np.ndarray, scale: np.ndarray) -> None:
    source = node.inputs[2]
    assert source is not None
    inputs = [initializer(graph, f"{node.outputs[0].name}_bias_quantized", integers),
              initializer(graph, f"{node.outputs[0].name}_bias_scale", scale)]
    made = ir.Node("", "DequantizeLinear", inputs, [ir.AttrInt64("axis", 0)], num_outputs=1)
    output = made.outputs[0]
    output.name = f"{node.outputs[0].name}_bias_dequantized"
    output.type, output.shape = ir.TensorType(ir.DataType.FLOAT), source.shape
    graph.insert_before(node, made)
    node.replace_input_with(2, output)
