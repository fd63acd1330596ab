"""Depthwise convolution computed in float16, for cores with such vectors: as depthwise_float.py.

Packed constants: lo, hi, scale; bias (c,) and weights (taps, c) as halves, both divided by the
scale, so that no sum becomes infinite that would not be in float32 (see half_tile.py). The scale is
used as a half, so this holds for channels whose magnitudes sum to 16,384 at most; larger ones are
beyond float16 in the end as well, unless their inputs are next to zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels import depthwise_float, half_reference, half_tile
from edgecc.kernels.convolution import open_kernel
from edgecc.kernels.elementwise import bounded, header, joined, vector_bytes, word
from edgecc.kernels.overlap import distance_bytes
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Conv2d

MOST = 15  # power of two that is a half


def accepts(spec: Conv2d) -> str | None:
    if half_tile.is_long(spec.kh * spec.kw + 1):  # the bias is a summand too
        return f"sums of more than {half_tile.LONGEST} products are not computed in float16"
    return depthwise_float.accepts(spec)


def pack(spec: Conv2d, constants: Mapping[str, Any]) -> np.ndarray:
    limits = (constants["lo"], constants["hi"]) if spec.clamp else (0.0, 0.0)
    weights = np.asarray(constants["weights"], np.float16).reshape(spec.k, -1)
    bias = np.asarray(constants["bias"], np.float32).reshape(spec.k, 1)
    both, scale = half_tile.scaled(np.concatenate([weights, bias], axis=1), MOST)
    front = header(np.float32(limits[0]), np.float32(limits[1]), np.float32(scale), 0)
    return joined(front, both[:, -1], both[:, :-1].T)


def build(spec: Conv2d, symbol: str, target: Any) -> Any:
    with open_kernel(spec, symbol, None, "float16") as k:
        HalfRow(k, spec, vector_bytes(target) // 2, depthwise_float.PIXELS).emit_all()
    return k.func


class HalfRow(depthwise_float.Row):
    """The same in float16, the sums scaled at the end."""

    kind = "float16"

    def added(self, acc: Any, value: Any, weights: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        return tir.fused(value, weights, acc, tir.vector("float16", lanes))

    def ending(self) -> Any:
        from edgecc.kernels import tir

        k, spec = self.k, self.spec
        lo, hi, scale = (tir.let(tir.T.cast(word(k, i, "float32"), "float16")) for i in range(3))

        def finish(value: Any, at: Any, lanes: int) -> None:
            if spec.residual:
                value = self.added(tir.load(k.inputs[1], at, lanes), value,
                                   tir.splat(scale, lanes), lanes)
            else:
                value = value * tir.splat(scale, lanes)
            if spec.clamp:
                value = bounded(value, lo, hi, lanes)
            tir.store(k.outputs[0], at, value, lanes)

        return finish


KERNELS = tuple(
    KernelRecord(f"float16_conv2d_depthwise__{isa}", "conv2d", "float16", requires, accepts,
                 lambda spec: 0.5 * depthwise_float.cost(spec), lambda spec: spec.n * spec.oh,
                 pack, build, fast=True, wants=frozenset({"vectors"}), half=True,
                 law=half_reference.depthwise,
                 over_input=lambda spec: distance_bytes(spec, spec.ow))
    for isa, requires in (("neon_fp16", frozenset({"neon", "fp16"})),
                          ("zvfh", frozenset({"zvfh"})))
)
