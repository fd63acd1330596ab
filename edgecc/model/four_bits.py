"""Products with 4-bit weights: MatMulNBits with its activations as they are."""

from __future__ import annotations

import onnx_ir as ir


def keep_activations(model: ir.Model) -> None:
    """Drop, in place, the leave to round activations: the oracle shall not use it, since no
    kernel here does."""
    for node in model.graph:
        if node.op_type == "MatMulNBits":
            node.attributes.pop("accuracy_level", None)
