"""float32 matrix product with bias: a pointwise convolution of a line of m pixels."""

from __future__ import annotations

from dataclasses import replace

from edgecc.kernels import conv2d_float
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Conv2d, FullyConnected


def as_convolution(spec: FullyConnected) -> Conv2d:
    return Conv2d(spec.dtype, n=1, h=1, w=spec.m, c=spec.k, k=spec.n, kh=1, kw=1,
                  clamp=spec.clamp, residual=spec.residual)


def of_convolution(conv: KernelRecord) -> KernelRecord:
    return replace(
        conv,
        name=conv.name.replace("conv2d", "fully_connected"),
        op="fully_connected",
        cost=lambda spec: conv.cost(as_convolution(spec)),
        extent=lambda spec: conv.extent(as_convolution(spec)),
        pack=lambda spec, constants: conv.pack(as_convolution(spec), constants),
        build=lambda spec, symbol, target: conv.build(as_convolution(spec), symbol, target),
        scratch_bytes=lambda spec: conv.scratch_bytes(as_convolution(spec)),
    )


KERNELS = tuple(of_convolution(conv) for conv in conv2d_float.KERNELS)
