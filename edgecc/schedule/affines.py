"""A multiplication by constants, then an addition of constants: one Affine, so that what stands
between dequantize and quantize is one operator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgecc.schedule.ops import Affine, Graph, Op


def join_affines(graph: Graph) -> Graph:
    """The same float32 operations in the same order, as one operator."""
    for op in graph.ops:
        after = graph.only_use(op.output)
        if _multiplies(op) and _adds(after):
            assert isinstance(op, Affine) and isinstance(after, Affine)
            joined = replace(after, inputs=op.inputs, scale=op.scale, nodes=op.nodes + after.nodes)
            kept = [joined if each is after else each for each in graph.ops if each is not op]
            graph = graph.with_ops(kept)
    return graph


def _multiplies(op: Op) -> bool:
    return (isinstance(op, Affine) and op.clamp is None and not np.any(op.shift)
            and bool(np.all(op.divisor == 1)))


def _adds(op: Op | None) -> bool:
    return isinstance(op, Affine) and bool(np.all(op.scale == 1) and np.all(op.divisor == 1))
