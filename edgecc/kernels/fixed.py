"""Constants that must lie in the arena: copied from the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import BLOCK, accept_all, block_count, vector_bytes
from edgecc.kernels.movement_spec import Fixed
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.runs import DTYPES, item_bytes, unit


def pack(spec: Fixed, constants: Mapping[str, Any]) -> np.ndarray:
    values = np.asarray(constants["values"], spec.dtype)
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def build(spec: Fixed, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir
    from edgecc.kernels.elementwise import sweep

    kind, lanes = unit(spec.dtype), max(vector_bytes(target) // item_bytes(spec.dtype), 1)
    outputs = [(kind, spec.size)]
    with tir.kernel(symbol, inputs=[], outputs=outputs, weights=True) as k:
        values = k.weights(kind)
        sweep(k, spec.size, min(lanes, BLOCK), lambda at, n: tir.load(values, at, n))
    return k.func


KERNELS = tuple(
    KernelRecord(f"{dtype}_fixed_copy__generic", "fixed", dtype, frozenset(), accept_all,
                 lambda spec: 20.0 + spec.size, lambda spec: block_count(spec.size), pack, build,
                 fast=True)
    for dtype in DTYPES
)
