"""Matrix products with 4-bit weights: (spec, inputs, constants). Sizes around words, groups and
tiles."""

from dataclasses import replace

import numpy as np
from kernel_problems import float32

from edgecc.kernels.grouped_spec import SYMMETRIC_ZERO, GroupedProduct

# m, k, n, group
SIZES = ((1, 64, 40, 32), (1, 257, 130, 64), (4, 96, 16, 32), (5, 40, 33, 16), (13, 130, 7, 128),
         (2, 20, 1, 6), (1, 7, 3, 32), (9, 64, 64, 64))


def products(seed=0):
    rng = np.random.default_rng(seed)
    for number, (m, k, n, group) in enumerate(SIZES):
        for affine in (False, True):
            clamp, residual = number % 3 == 1, (number + affine) % 2 == 0
            spec = GroupedProduct("float32", m, k, n, group, affine, short_scales=number % 2 == 0,
                                  clamp=clamp, residual=residual)
            inputs = [float32(rng, m, k), *[float32(rng, m, n)] * residual]
            yield spec, inputs, constants(rng, spec)


def rounded(seed=0):
    """The same with activations that are rounded; one group of zeros, one of ties."""
    for spec, inputs, given in products(seed):
        x = inputs[0].copy()
        x[0, : spec.group] = 0
        x[-1, -1:] = 127
        x[-1, -3:-1] = (2.5, -3.5)[: x[-1, -3:-1].size]
        yield replace(spec, rounded=True), [x, *inputs[1:]], given


def constants(rng, spec):
    scales = rng.uniform(0.01, 0.1, (spec.n, spec.groups)).astype(np.float32)
    if spec.short_scales:
        scales = (scales.view(np.uint32) & 0xFFFF0000).view(np.float32)
    zeros = rng.integers(0, 16, scales.shape, dtype=np.uint8)
    return {"weights": rng.integers(0, 16, (spec.n, spec.k), dtype=np.uint8), "scales": scales,
            "zeros": zeros if spec.affine else np.full_like(zeros, SYMMETRIC_ZERO),
            "bias": float32(rng, spec.n), "lo": -5.0, "hi": 6.0}
