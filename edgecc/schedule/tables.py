"""Functions of one tensor: whatever elementwise operators compute from one int8 tensor and
constant numbers is a table of 256 entries.

Values go through the operators one after the other as ONNX Runtime computes them: each function
in double, rounded to float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgecc.kernels.functions import unary_of
from edgecc.kernels.math_reference import FLOAT
from edgecc.kernels.spec import is_real
from edgecc.schedule.ops import Affine, Binary, Dequantize, Graph, Lookup, Op, Unary
from edgecc.schedule.program import Quantization
from edgecc.schedule.rounding import EVERY, dequantized, quantized

Found = tuple[str, np.ndarray] | None  # what a tensor is made from, and its values
Values = Mapping[str, tuple[str, np.ndarray]]
DEEPEST = 32


def lookup(graph: Graph, op: Op, name: str, target: Quantization) -> Lookup | None:
    """The operator and all before it back to Dequantize as one table that gives tensor `name`."""
    found = evaluated(graph, op)
    if found is None:
        return None
    source, values = found
    table = quantized(np.nan_to_num(values, nan=0.0), target)
    return Lookup(op.name, (source,), name, op.nodes, table=table)


def evaluated(graph: Graph, op: Op, given: Values | None = None) -> Found:
    """The one tensor that an elementwise operator's output is a function of, and its values: of
    all int8 numbers, or of what is `given`. None if it is no function of one tensor."""
    return _Evaluation(graph, given, {}).of(op, 0)


@dataclass(frozen=True)
class _Evaluation:
    """One walk up the graph; every tensor is computed once."""

    graph: Graph
    given: Values | None
    known: dict[str, Found]

    def of(self, op: Op, depth: int) -> Found:
        if op.output not in self.known:
            self.known[op.output] = None if depth > DEEPEST else self._computed(op, depth)
        return self.known[op.output]

    def _computed(self, op: Op, depth: int) -> Found:
        if not is_elementwise(self.graph, op):
            return None
        operands = [self._operand(name, depth + 1) for name in op.inputs]
        values = [found[1] for found in operands if found is not None]
        sources = {found[0] for found in operands if found is not None}
        if len(values) < len(operands) or len(sources) != 1:
            return None
        with np.errstate(all="ignore"):
            return sources.pop(), applied(op, values).astype(np.float32)

    def _operand(self, name: str, depth: int) -> Found:
        if self.given is not None and name in self.given:
            return self.given[name]
        op = self.graph.producers.get(name)
        if isinstance(op, Dequantize) and self.given is None:
            source = self.graph.tensors[op.inputs[0]]
            assert source.quantization is not None, "the reader gives every int8 tensor a scale"
            return source.name, dequantized(EVERY, source.quantization)
        return None if op is None else self.of(op, depth)


def is_elementwise(graph: Graph, op: Op) -> bool:
    """Whether an operator works on reals of one shape with nothing but constant numbers."""
    shapes = {graph.tensors[name].shape for name in (*op.inputs, op.output)}
    if len(shapes) != 1 or not is_real(graph.tensors[op.output].dtype):
        return False
    if isinstance(op, Affine):
        return op.clamp is None and max(op.scale.size, op.shift.size, op.divisor.size) == 1
    return isinstance(op, Unary) or (isinstance(op, Binary) and op.clamp is None)


def applied(op: Op, values: list[np.ndarray]) -> np.ndarray:
    """An elementwise operator on float32 values."""
    if isinstance(op, Unary):
        return unary_of(op.function, values[0].astype(np.float64), op.numbers)
    if isinstance(op, Affine):
        scale, shift, divisor = (v.reshape(-1).astype(np.float32)
                                 for v in (op.scale, op.shift, op.divisor))
        return (values[0] * scale + shift) / divisor
    assert isinstance(op, Binary), "the caller has seen to it"
    return FLOAT[op.function](*values)
