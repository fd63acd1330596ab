"""Norms with what stands around them: one int8 step, so nothing inside is quantized.

GroupNormalization as torch exports it: Reshape, InstanceNormalization, Reshape, Mul, Add.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from edgecc.model.edit import constant
from edgecc.quantize import operators

_NORMS = ("InstanceNormalization", "GroupNormalization", "LayerNormalization")


def find(nodes: Sequence[ir.Node]) -> list[list[ir.Node]]:
    """Runs of at least two nodes, in order: the last one's output is what is quantized."""
    found = []
    for node in nodes:
        if node.op_type in _NORMS and operators.classify(node).kind == "pool":
            run = _with_rows(_grouped(node))
            if len(run) > 1:
                found.append(run)
    return found


def _grouped(norm: ir.Node) -> list[ir.Node]:
    """The norm, with the Reshapes around it where they undo each other."""
    before, after = norm.inputs[0].producer() if norm.inputs[0] else None, _only_reader(norm)
    if norm.op_type != "InstanceNormalization" or before is None or after is None:
        return [norm]
    if before.op_type != "Reshape" or after.op_type != "Reshape" or _only_reader(before) is None:
        return [norm]
    outer, inner = (v.shape for v in (before.inputs[0], before.outputs[0]) if v is not None)
    if outer != after.outputs[0].shape or outer is None or inner is None or outer == inner:
        return [norm]
    groups = int(outer[1]) % int(inner[1]) == 0 and outer[0] == inner[0]  # type: ignore[arg-type]
    return [before, norm, after] if groups else [norm]


def _with_rows(run: list[ir.Node]) -> list[ir.Node]:
    """A Mul, then an Add, of constants along what the norm scales."""
    for op in ("Mul", "Add"):
        reader = _only_reader(run[-1])
        if reader is not None and reader.op_type == op and any(
                _is_row(run, constant(value)) for value in reader.inputs):
            run = [*run, reader]
    return run


def _only_reader(node: ir.Node) -> ir.Node | None:
    value = node.outputs[0]
    readers = list(value.uses())
    return readers[0][0] if len(readers) == 1 and not value.is_graph_output() else None


def _is_row(run: list[ir.Node], array: np.ndarray | None) -> bool:
    shape = run[-1].outputs[0].shape
    if array is None or shape is None or array.ndim > len(shape):
        return False
    full = (1,) * (len(shape) - array.ndim) + array.shape
    norm = next(node for node in run if node.op_type in _NORMS)
    if norm.op_type == "LayerNormalization":
        scale = constant(norm.inputs[1])
        axes = range(len(shape) - (0 if scale is None else scale.ndim), len(shape))
    else:
        axes = range(1, 2)
    return all(n == 1 for i, n in enumerate(full) if i not in axes)
