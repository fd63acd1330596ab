"""Functions that a model spells out (x * sigmoid(x), GELU by Erf, hard-swish by Clip, ...).

A chain of elementwise operators from one float tensor is tried on many numbers: where it gives
what a function with a kernel of its own gives, it becomes that function, however it was spelled.
"""

from __future__ import annotations

import numpy as np

from edgecc.kernels.functions import unary_of
from edgecc.schedule.ops import Affine, Binary, Graph, Op, Unary
from edgecc.schedule.tables import DEEPEST, evaluated, is_elementwise

SAMPLES = np.concatenate([np.linspace(-20.0, 20.0, 257), np.linspace(-3.0, 3.0, 254)])
CANDIDATES = ("silu", "gelu", "gelu_tanh", "mish", "hard_swish", "softplus", "softsign", "sigmoid",
              "tanh")
CLOSE = 2e-6  # of max(1, |x|): two float32 spellings of one function are nearer


def recognize(graph: Graph) -> Graph:
    """Chains of at least two operators that are one function of their source."""
    expected = {kind: unary_of(kind, SAMPLES, {}) for kind in CANDIDATES}
    at = 0
    while at < len(graph.ops):
        op = graph.ops[at]
        made = _known(graph, op, expected)
        if made is not None:
            ops = [made if each is op else each for each in graph.ops]
            graph = graph.with_ops(ops)
            at = next(i for i, each in enumerate(graph.ops) if each is made)
        at += 1
    return graph


def _known(graph: Graph, op: Op, expected: dict[str, np.ndarray]) -> Unary | None:
    """The function that a chain ending here is."""
    if not is_elementwise(graph, op):
        return None
    for source in _sources(graph, op):
        found = evaluated(graph, op, {source: (source, SAMPLES)})
        if found is None:
            continue
        for kind, wanted in expected.items():
            if np.all(np.abs(found[1] - wanted) <= CLOSE * np.maximum(1.0, np.abs(SAMPLES))):
                return Unary(op.name, (source,), op.output, op.nodes, function=kind)
    return None


def _sources(graph: Graph, op: Op) -> list[str]:
    """Tensors of the operator's shape that it is made from, at least two operators up."""
    shape, near = graph.tensors[op.output].shape, list(op.inputs)
    found: list[str] = []
    for _ in range(DEEPEST):
        if not near:
            return found
        above = [graph.producers.get(name) for name in near]
        near = list(dict.fromkeys(
            name for each in above if isinstance(each, Binary | Affine | Unary)
            for name in each.inputs if graph.tensors[name].shape == shape))
        found += [name for name in near if name not in found]
    return found
