"""int8 fully connected layers: the convolution's tiles over m positions of k channels."""

from __future__ import annotations

from edgecc.kernels import conv2d_int8
from edgecc.kernels.conv2d_int8 import Plan
from edgecc.kernels.isa.base import Isa
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Conv2d, FullyConnected


def as_conv2d(spec: FullyConnected) -> Conv2d:
    return Conv2d(spec.dtype, 1, 1, spec.m, spec.k, spec.n, 1, 1, clamp=spec.clamp,
                  residual=spec.residual, wide_weights=spec.wide_weights)


def record(isa: Isa, mr: int, nr: int) -> KernelRecord:
    def plan(spec: FullyConnected) -> Plan:
        return Plan(as_conv2d(spec), isa, mr, nr)

    return KernelRecord(
        name=f"int8_fully_connected_{mr}x{nr}__{isa.name}",
        op="fully_connected",
        dtype="int8",
        requires=isa.requires,
        accepts=lambda spec: conv2d_int8.accepts(plan(spec)),
        cost=lambda spec: conv2d_int8.cost(plan(spec)),
        extent=lambda spec: plan(spec).extent,
        pack=lambda spec, constants: conv2d_int8.pack(plan(spec), constants),
        build=lambda spec, symbol, target: conv2d_int8.build(plan(spec), symbol),
        scratch_bytes=lambda spec: conv2d_int8.scratch_bytes(plan(spec)),
        fast=isa.fast,
    )


KERNELS = tuple(record(isa, mr, nr) for isa, tiles in conv2d_int8.TILES for mr, nr in tiles)
