"""uint8 to int8 by flipping the top bit: pixels at the border of an int8 program."""

from __future__ import annotations

from typing import Any

from edgecc.kernels.elementwise import accept_all, block_count, nothing, sweep, vector_bytes
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Recentre


def build(spec: Recentre, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with tir.kernel(symbol, inputs=[("uint8", spec.size)], outputs=[("int8", spec.size)],
                    weights=False, may_alias=True) as k:

        def compute(at: Any, lanes: int) -> Any:
            flipped = tir.T.bitwise_xor(tir.load(k.inputs[0], at, lanes),
                                        tir.splat(tir.T.uint8(128), lanes))
            return tir.T.reinterpret(tir.vector("int8", lanes), flipped)

        sweep(k, spec.size, vector_bytes(target), compute)
    return k.func


KERNELS = (
    KernelRecord("int8_recentre_xor__generic", "recentre", "int8", frozenset(), accept_all,
                 lambda spec: 20 + 0.2 * spec.size, lambda spec: block_count(spec.size), nothing,
                 build, fast=True),
)
