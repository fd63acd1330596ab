"""What int8 can do with each ONNX operator, and why not where it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from edgecc.kernels.normalize import MOST_EXACT
from edgecc.model.edit import attribute, constant
from edgecc.quantize.parameters import SIGMOID, SOFTMAX, TANH

FIXED = {
    "Softmax": SOFTMAX,
    "Sigmoid": SIGMOID,
    "HardSigmoid": SIGMOID,
    "Tanh": TANH,
}
_FUSING = ("Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Sub", "Mul")
_TABLES = (
    "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Clip", "Elu", "Selu",
    "Celu", "Softplus", "Softsign", "Erf", "Gelu", "Mish", "Exp", "Sqrt", "Abs", "Neg",
    "ThresholdedRelu", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Pow",
)  # fmt: skip
_MOVES = (
    "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Slice", "Split",
    "DepthToSpace", "SpaceToDepth", "Expand", "Tile", "GlobalMaxPool",
    "ReduceMax", "ReduceMin",
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """`kind` is linear, product (of two computed matrices), binary, pool (a range of its own),
    table, softmax, move, concat, or None with a reason."""

    kind: str | None
    reason: str = ""


def classify(node: ir.Node) -> Verdict:
    """The int8 kind of a node."""
    rule = _RULES.get(node.op_type) if node.domain == "" else None
    if rule is None:
        return Verdict(None, f"{node.op_type} has no int8 form")
    dtypes = {v.dtype for v in (*node.inputs[:1], node.outputs[0]) if v is not None}
    if dtypes != {ir.DataType.FLOAT}:
        names = ", ".join(sorted(d.name.lower() if d else "unknown" for d in dtypes))
        return Verdict(None, f"it computes on {names}, not float32")
    return rule(node)


def activations(node: ir.Node) -> list[ir.Value]:
    """Inputs that carry computed float32 data (not weights, shapes or bounds)."""
    computed = [v for v in node.inputs if v is not None and constant(v) is None]
    return [v for v in computed if v.dtype == ir.DataType.FLOAT]


def fused_producer(node: ir.Node) -> ir.Node | None:
    """The node whose output this Relu or Clip clamps in one int8 step, if any."""
    if node.op_type not in ("Relu", "Clip") or classify(node).kind != "table":
        return None
    value = node.inputs[0]
    producer = value.producer() if value is not None else None
    if producer is None or value is None or producer.op_type not in _FUSING:
        return None
    alone = len(value.uses()) == 1 and not value.is_graph_output()
    return producer if alone and _holds_zero(node) else None


def _holds_zero(node: ir.Node) -> bool:
    if node.op_type == "Relu":
        return True
    low, high = bounds(node)
    return low <= 0.0 <= high


def bounds(node: ir.Node) -> tuple[float, float]:
    """What a Clip clamps to."""
    found = [constant(v) for v in node.inputs[1:3]] + [None, None]
    low = -np.inf if found[0] is None else float(found[0])
    high = np.inf if found[1] is None else float(found[1])
    return low, high


def _linear(node: ir.Node) -> Verdict:
    weights = constant(node.inputs[1])
    if weights is None:
        return Verdict(None, "its weights are computed, not constant")
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is not None and constant(bias) is None:
        return Verdict(None, "its bias is computed, not constant")
    if constant(node.inputs[0]) is not None:
        return Verdict(None, "its data input is a constant")
    if not np.isfinite(weights).all():
        return Verdict(None, "its weights have NaN or Inf")
    return Verdict("linear")


def _gemm(node: ir.Node) -> Verdict:
    plain = attribute(node, "alpha", 1.0) == 1.0 == attribute(node, "beta", 1.0)
    if attribute(node, "transA", 0) or not attribute(node, "transB", 0) or not plain:
        return Verdict(None, "Gemm with transA, computed weights or factors has no int8 form")
    return _linear(node)


def _matmul(node: ir.Node) -> Verdict:
    weights = constant(node.inputs[1])
    if weights is None and constant(node.inputs[0]) is None:
        return Verdict("product")
    if weights is not None and weights.ndim != 2:
        return Verdict(None, f"its constant has {weights.ndim} dimensions, int8 MatMul takes 2")
    return _linear(node)


def _binary(node: ir.Node) -> Verdict:
    values = [constant(v) for v in node.inputs]
    if any(v is not None and not np.isfinite(v).all() for v in values):
        return Verdict(None, "its constant has NaN or Inf")
    return Verdict("binary")


def _extremes(node: ir.Node) -> Verdict:
    """Min or Max: of two tensors, or a bound."""
    constants = [v for v in map(constant, node.inputs) if v is not None]
    if len(node.inputs) > 2 or any(c.size != 1 or not np.isfinite(c).all() for c in constants):
        return Verdict(None, f"int8 {node.op_type} takes two tensors, or a tensor and a number")
    return Verdict("table" if constants else "binary")


def _norm(node: ir.Node) -> Verdict:
    """Scale and shift stay float32."""
    if any(constant(v) is None for v in node.inputs[1:] if v is not None):
        return Verdict(None, "its scale or shift is computed, not constant")
    count = _normalized(node)
    if count > MOST_EXACT:
        return Verdict(None, f"it normalizes over {count:,} values, int8 over {MOST_EXACT:,}")
    return Verdict("pool")


def _normalized(node: ir.Node) -> int:
    """How many values have their mean in common."""
    shape = node.inputs[0].shape if node.inputs[0] is not None else None
    dims = [int(d) for d in shape or ()]  # type: ignore[arg-type]
    if node.op_type == "LayerNormalization":
        return math.prod(dims[attribute(node, "axis", -1):])
    groups = attribute(node, "num_groups", dims[1])
    return math.prod(dims[1:]) // groups


def _prelu(node: ir.Node) -> Verdict:
    slope = constant(node.inputs[1])
    if slope is None or not np.isfinite(slope).all():
        return Verdict(None, "its slope is computed, or no finite number")
    return Verdict("pool")


def _power(node: ir.Node) -> Verdict:
    exponent = constant(node.inputs[1])
    if exponent is None or exponent.size != 1 or not exponent.item() > 0:
        return Verdict(None, "its exponent is not one constant number above zero")
    return Verdict("table")


def _table(node: ir.Node) -> Verdict:
    if any(v is not None and constant(v) is None for v in node.inputs[1:]):
        return Verdict(None, "its bounds are computed, not constant")
    return Verdict("table")


def _max_pool(node: ir.Node) -> Verdict:
    used = [v for v in node.outputs if v.name and (v.uses() or v.is_graph_output())]
    if len(used) > 1:
        return Verdict(None, "its second output (indices) is read")
    return Verdict("move")


def _move(node: ir.Node) -> Verdict:
    if constant(node.inputs[0]) is not None:
        return Verdict(None, "its data input is a constant")
    if any(v is not None and constant(v) is None for v in node.inputs[1:]):
        return Verdict(None, "its shape or indices are computed, not constant")
    return Verdict("move")


def _pad(node: ir.Node) -> Verdict:
    """What is filled in must be in range like any other value, so the output has its own."""
    filler = node.inputs[2] if len(node.inputs) > 2 else None
    value = constant(filler)
    if attribute(node, "mode", "constant") != "constant" or filler is None:
        return _move(node)
    if value is None or not np.isfinite(value).all():
        return Verdict(None, "what it fills in is computed, or no finite number")
    return Verdict("concat") if value.any() else _move(node)


def _resize(node: ir.Node) -> Verdict:
    """Nearest and linear stay in range; cubic passes it, so its output has a range of its own."""
    moved = _move(node)
    cubic = attribute(node, "mode", "nearest") == "cubic"
    return Verdict("pool") if cubic and moved.kind else moved


def _concat(node: ir.Node) -> Verdict:
    values = [v for v in map(constant, node.inputs) if v is not None]
    if not all(np.isfinite(v).all() for v in values):
        return Verdict(None, "its constant has NaN or Inf")
    return Verdict("concat")


_RULES: dict[str, Callable[[ir.Node], Verdict]] = {
    "Conv": _linear,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "ConvTranspose": _linear,
    **{op: _binary for op in ("Add", "Sub", "Mul", "Div")},
    **{op: _extremes for op in ("Min", "Max")},
    **{f"{kind}Normalization": _norm for kind in ("Layer", "Instance", "Group")},
    **{f"Reduce{kind}": lambda node: Verdict("pool") for kind in ("Mean", "Sum")},
    "PRelu": _prelu,
    "AveragePool": lambda node: Verdict("pool"),
    "GlobalAveragePool": lambda node: Verdict("pool"),
    "Softmax": lambda node: Verdict("softmax"),
    "MaxPool": _max_pool,
    "Pad": _pad,
    "Gather": _move,
    "Resize": _resize,
    "Concat": _concat,
    **{op: _table for op in _TABLES},
    "Pow": _power,
    **{op: _move for op in _MOVES},
}
