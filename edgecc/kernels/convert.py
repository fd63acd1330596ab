"""float16 to float32 and back, where parts of a model that are stored differently meet."""

from __future__ import annotations

from typing import Any

from edgecc.kernels.elementwise import block_count, nothing, sweep, vector_bytes
from edgecc.kernels.halves import Halves, memory_type
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Convert


def build(spec: Convert, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    half = memory_type(target.features)
    kinds = {"float16": half, "float32": "float32"}
    with tir.kernel(symbol, inputs=[(kinds[spec.dtype], spec.size)],
                    outputs=[(kinds[spec.to], spec.size)], weights=False) as k:
        side = k.inputs if spec.dtype == "float16" else k.outputs
        side[0] = Halves(side[0], half)
        sweep(k, spec.size, vector_bytes(target) // 4,
              lambda at, lanes: tir.load(k.inputs[0], at, lanes))
    return k.func


def _accepts(spec: Convert) -> str | None:
    return None if spec.dtype != spec.to else "converts from one type to another"


KERNELS = tuple(
    KernelRecord(f"{dtype}_convert_vector__generic", "convert", dtype, frozenset(), _accepts,
                 lambda spec: 20.0 + spec.size, lambda spec: block_count(spec.size), nothing,
                 build, fast=True)
    for dtype in ("float16", "float32")
)
