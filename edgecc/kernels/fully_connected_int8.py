"""int8 fully connected layers: the convolution's tiles over m positions of k channels."""

from __future__ import annotations

from edgecc.kernels import conv2d_int8
from edgecc.kernels.conv2d_plan import Plan
from edgecc.kernels.isa.base import Isa
from edgecc.kernels.planned import planned
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Conv2d, FullyConnected


def as_conv2d(spec: FullyConnected) -> Conv2d:
    return Conv2d(spec.dtype, 1, 1, spec.m, spec.k, spec.n, 1, 1, clamp=spec.clamp,
                  residual=spec.residual, wide_weights=spec.wide_weights,
                  short_sums=spec.short_sums)


def record(isa: Isa, mr: int, nr: int) -> KernelRecord:
    return planned(f"fully_connected_{mr}x{nr}", "fully_connected", isa,
                   lambda spec: Plan(as_conv2d(spec), isa, mr, nr), conv2d_int8.build)


KERNELS = tuple(record(isa, mr, nr) for isa, tiles in conv2d_int8.TILES for mr, nr in tiles)
