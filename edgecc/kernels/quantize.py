"""float32 to int8 and back, at the edges of the int8 part of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import (
    accept_all,
    block_count,
    header,
    sweep,
    to_float,
    to_int8,
    vector_bytes,
    widened,
    word,
)
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Dequantize, Quantize


def pack(spec: Quantize | Dequantize, constants: Mapping[str, Any]) -> np.ndarray:
    """scale, zero point."""
    return header(np.float32(constants["scale"]), int(constants["zero_point"]))


def extent(spec: Quantize | Dequantize) -> int:
    return block_count(spec.size)


def _open(spec: Quantize | Dequantize, symbol: str, source: str, result: str) -> Any:
    from edgecc.kernels import tir

    return tir.kernel(symbol, inputs=[(source, spec.size)], outputs=[(result, spec.size)],
                      weights=True)


def build_quantize(spec: Quantize, symbol: str, target: Any) -> Any:
    """A division, as the definition has it: the product with 1 / scale rounds differently."""
    from edgecc.kernels import tir

    with _open(spec, symbol, "float32", "int8") as k:
        scale = word(k, 0, "float32")
        zero_point = tir.let(tir.T.cast(word(k, 1, "int32"), "int16"))

        def compute(at: Any, lanes: int) -> Any:
            real = tir.load(k.inputs[0], at, lanes) / tir.splat(scale, lanes)
            return to_int8(target, real, zero_point, lanes)

        sweep(k, spec.size, vector_bytes(target), compute, unroll=1)
    return k.func


def build_dequantize(spec: Dequantize, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    with _open(spec, symbol, "int8", "float32") as k:
        scale = word(k, 0, "float32")
        zero_point = tir.let(tir.T.cast(word(k, 1, "int32"), "int8"))

        def compute(at: Any, lanes: int) -> Any:
            q = widened(tir.load(k.inputs[0], at, lanes), zero_point, lanes)
            return to_float(q, lanes) * tir.splat(scale, lanes)

        sweep(k, spec.size, vector_bytes(target), compute, unroll=1)
    return k.func


KERNELS = (
    KernelRecord("int8_quantize_vector__generic", "quantize", "int8", frozenset(), accept_all,
                 lambda spec: 20 + 1.5 * spec.size, extent, pack, build_quantize, fast=True),
    KernelRecord("int8_dequantize_vector__generic", "dequantize", "int8", frozenset(), accept_all,
                 lambda spec: 20 + 1.5 * spec.size, extent, pack, build_dequantize, fast=True),
)
