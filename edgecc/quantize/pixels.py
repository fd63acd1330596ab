"""Pixels: values that are uint8 inputs, less a whole number. Their int8 form is exact, whatever
the calibration pictures happen to contain."""

from __future__ import annotations

import onnx_ir as ir

from edgecc.model.edit import constant
from edgecc.quantize.parameters import QMAX, QMIN, Parameters

VIEWS = frozenset({"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"})


def parameters(value: ir.Value | None) -> Parameters | None:
    """Scale 1 and the zero point of pixels; None for any other value."""
    node = value.producer() if value is not None else None
    if node is None:
        return None
    if node.op_type == "Cast":
        source = node.inputs[0]
        pixels = source is not None and source.dtype == ir.DataType.UINT8
        return Parameters(1.0, QMIN) if pixels else None
    if node.op_type in VIEWS:
        return parameters(node.inputs[0])
    return _less(node) if node.op_type == "Add" else None


def prepares(node: ir.Node | None) -> bool:
    """Whether a node only makes pixels, or multiplies and shifts them by constants."""
    if node is None or parameters(node.outputs[0]) is not None:
        return node is not None
    if node.op_type not in ("Mul", "Add") or constant(node.inputs[1]) is None:
        return False
    source = node.inputs[0]
    if source is None:
        return False
    return parameters(source) is not None or prepares(source.producer())


def _less(node: ir.Node) -> Parameters | None:
    """Pixels minus a whole number that is a pixel too."""
    before, other = parameters(node.inputs[0]), constant(node.inputs[1])
    if before is None or other is None or other.size != 1:
        return None
    zero = before.zero_point - float(other.reshape(-1)[0])
    return Parameters(1.0, int(zero)) if zero.is_integer() and QMIN <= zero <= QMAX else None
