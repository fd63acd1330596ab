"""Weight-only quantization: the weights of matrix products become 4-bit codes in groups, and
everything else stays float32. No calibration: the weights are all it needs.

A product becomes `com.microsoft.MatMulNBits`, which ONNX Runtime computes too.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import QuantizationError
from edgecc.model import shapes
from edgecc.model.edit import attribute, constant, initializer
from edgecc.quantize.compare import Noise
from edgecc.quantize.four_bits import Codes, rounded
from edgecc.quantize.report import FloatRow
from edgecc.quantize.weight_report import GroupedRow, WeightReport

DOMAIN = "com.microsoft"
LEAST = 1024  # weights of a layer that are worth scales and another kernel


def quantize_weights(
    model: ir.Model, config: CompileConfig, context: Context
) -> tuple[ir.Model, WeightReport]:
    """A copy of the model with 4-bit weights where that pays, and what became of every layer.

    Raises: QuantizationError if no layer has weights to quantize.
    """
    copy = ir.from_proto(ir.to_proto(model))
    rows: list[GroupedRow] = []
    left: list[FloatRow] = []
    for node in list(copy.graph):
        weights = _weights(node)
        if weights is None:
            continue
        reason = _reason(weights, config.int4_group)
        if reason:
            left.append(FloatRow(node.name or "", node.op_type, reason))
            continue
        rows.append(_replaced(copy, node, weights, config))
    if not rows:
        raise QuantizationError(
            "no MatMul or Gemm of float32 has weights worth 4 bits", where=model.graph.name,
            needed=f"a layer with {LEAST:,} weights, {config.int4_group} of them along its inputs",
            advice="quantize to int8, which convolutions have too")
    common.RemoveUnusedNodesPass()(copy)  # and the weights that they had
    shapes.infer(copy)
    report = WeightReport(tuple(rows), tuple(left), config.int4_group, config.int4_zeros,
                          config.int4_activations)
    context.progress("quantize", report.summary())
    return copy, report


def _weights(node: ir.Node) -> np.ndarray | None:
    """Constant float32 weights of a product as (outputs, inputs)."""
    if node.domain or node.op_type not in ("Gemm", "MatMul") or attribute(node, "transA", 0):
        return None
    weights = constant(node.inputs[1])
    if weights is None or weights.dtype != np.float32 or weights.ndim != 2:
        return None
    if constant(node.inputs[0]) is not None:
        return None
    if node.op_type == "Gemm" and (attribute(node, "alpha", 1.0) != 1 or not _row_bias(node)):
        return None
    return weights if attribute(node, "transB", 0) else np.ascontiguousarray(weights.T)


def _row_bias(node: ir.Node) -> bool:
    """Whether the bias of a Gemm is absent or one constant row, as it stands."""
    if len(node.inputs) < 3 or node.inputs[2] is None:
        return True
    bias = constant(node.inputs[2])
    return bias is not None and bias.ndim == 1 and attribute(node, "beta", 1.0) == 1


def _reason(weights: np.ndarray, group: int) -> str | None:
    """Why the weights stay float32."""
    n, k = weights.shape
    if weights.size < LEAST:
        return f"{weights.size:,} weights are too few to gain by it"
    if k < group:
        return f"{k} inputs are fewer than a group of {group}"
    if not np.isfinite(weights).all():
        return "some weights are not finite"
    return None


def _replaced(model: ir.Model, node: ir.Node, weights: np.ndarray,
              config: CompileConfig) -> GroupedRow:
    """The row of the report; the node has become a MatMulNBits."""
    codes = rounded(weights, config.int4_group, config.int4_zeros == "affine")
    n, k = weights.shape
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    graph, output = model.graph, node.outputs[0]
    inputs = _constants(graph, output.name or "", codes)
    attributes = {"K": k, "N": n, "bits": 4, "block_size": config.int4_group}
    if config.int4_activations == "int8":
        attributes["accuracy_level"] = 4
    model.graph.opset_imports[DOMAIN] = 1
    new = ir.Node(DOMAIN, "MatMulNBits", [node.inputs[0], *inputs, None, bias],
                  ir.convenience.convert_attributes(attributes), num_outputs=1, name=node.name)
    ir.convenience.replace_nodes_and_values(graph, node, [node], [new], [output], new.outputs)
    noise = Noise()
    noise.see(weights, codes.decoded())
    zeros = 0 if inputs[2] is None else codes.zeros.size
    return GroupedRow(node.name or "", n, k, 4 * weights.size,
                      codes.codes.size // 2 + 2 * codes.scales.size + zeros, noise.db)


def _constants(graph: ir.Graph, base: str, codes: Codes) -> list[ir.Value | None]:
    zeros = codes.packed_zeros()
    return [initializer(graph, f"{base}_codes", codes.packed()),
            initializer(graph, f"{base}_scales", codes.scales.ravel()),
            None if zeros is None else initializer(graph, f"{base}_zeros", zeros)]
