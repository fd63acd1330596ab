"""Which fusions are made: bounds that a user may set, all open unless set.

Score and intensity are of tensors as they are stored, whole, once each: what the operators move if
no cache holds anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from edgecc.config import CompileConfig
from edgecc.schedule.ops import Constant, Conv, Dense, Graph, Op, Tensor


@dataclass(frozen=True)
class Limits:
    """`operators`: most ONNX operators in one step (None: as many as there are). `score`: least
    share that tensors which need not be stored any more have in all bytes of the operators.
    `intensity`: least multiply-accumulates (elements, where none are multiplied) per byte that
    the fused operator still moves."""

    operators: int | None = None
    score: float = 0.0
    intensity: float = 0.0

    @classmethod
    def of(cls, config: CompileConfig) -> Limits:
        return cls(config.fusion_max_operators, config.fusion_min_score or 0.0,
                   config.fusion_min_intensity or 0.0)

    def allow(self, before: Graph, after: Graph, made: list[Op]) -> bool:
        """Whether the graph `after` may take the place of `before`; `made` are its new operators.
        """
        if self.operators is not None and any(len(set(op.nodes)) > self.operators for op in made):
            return False
        if not made or not self.score and not self.intensity:
            return True
        shared = sum(stored_bytes(tensor) for name, tensor in before.tensors.items()
                     if name not in after.tensors)
        moved = moved_bytes(after, made)
        return (shared >= self.score * (shared + moved)
                and sum(work(after, op) for op in made) >= self.intensity * moved)


OPEN = Limits()


def moved_bytes(graph: Graph, ops: Iterable[Op]) -> int:
    """Activations and constants that the operators read or write."""
    names = {name for op in ops for name in (*op.inputs, op.output)}
    return (sum(stored_bytes(graph.tensors[name]) for name in names)
            + sum(_constant_bytes(value) for op in ops for value in vars(op).values()))


def work(graph: Graph, op: Op) -> int:
    """Multiply-accumulates of a Conv or Dense, elements written by any other operator."""
    each = op.weights.real[0].size if isinstance(op, Conv | Dense) else 1
    return graph.tensors[op.output].size * each


def stored_bytes(tensor: Tensor) -> int:
    return tensor.size * np.dtype(tensor.dtype).itemsize


def _constant_bytes(value: object) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if not isinstance(value, Constant):
        return 0
    if value.integers is not None:
        return value.integers.nbytes
    return value.real.nbytes // 2 if value.half else value.real.nbytes
