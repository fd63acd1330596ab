"""Operators that have a simpler equal: lone BatchNormalization, means over the whole image."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import attribute, constant, initializer, real_type, replace


def replace_left_over(model: ir.Model) -> bool:
    """A BatchNormalization that no Conv or Gemm took becomes a 1x1 depthwise Conv.

    Only after rewriting had its chance: one whose producer is a Conv or Gemm read by nobody
    else is left for the folding rules.
    """
    changed = False
    for node in list(model.graph):
        if node.op_type == "BatchNormalization" and not _will_be_folded(node):
            changed |= _to_depthwise(model.graph, node)
    return changed


def _will_be_folded(node: ir.Node) -> bool:
    value = node.inputs[0]
    producer = value.producer() if value is not None else None
    if value is None or producer is None or len(value.uses()) != 1 or value.is_graph_output():
        return False
    if producer.op_type not in ("Conv", "ConvTranspose", "Gemm"):
        return False
    own = [v for v in producer.inputs[1:] if v is not None]
    return all(constant(v) is not None and len(v.uses()) == 1 for v in own)


def _to_depthwise(graph: ir.Graph, node: ir.Node) -> bool:
    value = node.inputs[0]
    parameters = [constant(v) for v in node.inputs[1:5]]
    if value is None or value.shape is None or any(p is None for p in parameters):
        return False
    dtype = real_type(value)
    if dtype is None or len(value.shape) not in (3, 4) or attribute(node, "training_mode", 0):
        return False
    gamma, beta, mean, variance = (p.astype(np.float64) for p in parameters if p is not None)
    factor = gamma / np.sqrt(variance + attribute(node, "epsilon", 1e-5))
    weights = factor.reshape((-1, 1) + (1,) * (len(value.shape) - 2)).astype(dtype)
    bias = (beta - mean * factor).astype(dtype)
    inputs = [
        value,
        initializer(graph, f"{node.outputs[0].name}_weights", weights),
        initializer(graph, f"{node.outputs[0].name}_bias", bias),
    ]
    kernel = [1] * (len(value.shape) - 2)
    replace(node, "Conv", inputs, {"group": len(bias), "kernel_shape": kernel})
    return True


def to_global_pool(model: ir.Model) -> bool:
    """ReduceMean over the image, or an AveragePool as large as the image, of a rank-4 value."""
    changed = False
    for node in list(model.graph):
        rule = _GLOBAL.get(node.op_type)
        shape = node.inputs[0].shape if rule and node.inputs[0] is not None else None
        if rule and shape is not None and len(shape) == 4 and rule(node, shape):
            _put_pool(model.graph, node)
            changed = True
    return changed


def _put_pool(graph: ir.Graph, node: ir.Node) -> None:
    """The pool keeps both axes; a mean that drops them is flattened after it."""
    source = node.inputs[0]
    if node.op_type == "AveragePool" or attribute(node, "keepdims", 1):
        replace(node, "GlobalAveragePool", [source])
        return
    pool = ir.Node("", "GlobalAveragePool", [source], num_outputs=1, name=f"{node.name}_pool")
    pooled, shape = pool.outputs[0], node.outputs[0].shape
    pooled.name, pooled.type = f"{node.outputs[0].name}_pooled", node.outputs[0].type
    pooled.shape = None if shape is None else ir.Shape([*shape, 1, 1])
    graph.insert_before(node, pool)
    replace(node, "Flatten", [pooled], {"axis": 1})


def _is_image_mean(node: ir.Node, shape: ir.Shape) -> bool:
    axes = attribute(node, "axes", None)
    if axes is None and len(node.inputs) > 1:
        axes = constant(node.inputs[1])
    return axes is not None and sorted(int(a) % 4 for a in axes) == [2, 3]


def _is_image_pool(node: ir.Node, shape: ir.Shape) -> bool:
    window = tuple(attribute(node, "kernel_shape", ()))
    pads = any(attribute(node, "pads", ()))
    plain = attribute(node, "auto_pad", "NOTSET") in ("NOTSET", "VALID")
    return window == tuple(shape[2:]) and not pads and plain


_GLOBAL = {"ReduceMean": _is_image_mean, "AveragePool": _is_image_pool}
