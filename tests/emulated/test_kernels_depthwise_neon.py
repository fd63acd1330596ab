"""Depthwise kernels of plain NEON against their reference: every byte equal, at every remainder of
turns, channels and windows."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_harness import run_cases

from edgecc.kernels import depthwise_neon
from edgecc.kernels.depthwise_neon_plan import Plan
from edgecc.kernels.int8_packing import HEADER_BYTES
from edgecc.kernels.reference import reference

sys.path.insert(0, str(Path(__file__).parents[1] / "host"))
from test_kernels_int8 import case, depthwise, short  # noqa: E402

pytestmark = pytest.mark.emulated
SAME, LOW = (1, 1, 1, 1), (0, 0, 1, 1)
LAYERS = [
    *(depthwise(6, w, c, 3, 3, pads=SAME)
      for w, c in zip((1, 2, 3, 5, 7, 9, 13, 25), (8, 9, 15, 16, 17, 24, 33, 64), strict=True)),
    *(depthwise(7, w, c, 3, 3, strides=(2, 2), pads=pads)
      for w, c, pads in zip((2, 3, 5, 8, 13, 33), (8, 16, 37, 20, 16, 12),
                            itertools.cycle([LOW, SAME]))),
    depthwise(5, 8, 24, 3, 3, n=2),
    depthwise(7, 19, 8, 5, 5, strides=(2, 2), pads=(2, 2, 2, 2), clamp=True),
    depthwise(7, 19, 24, 5, 5, pads=(2, 2, 2, 2)),
    depthwise(9, 9, 16, 3, 3, dilations=(2, 1), pads=(2, 1, 2, 1)),
    *(depthwise(9, 12, c, kh, kw, strides=strides)
      for kh, kw, c, strides in ((3, 2, 16, (3, 2)), (2, 2, 16, (1, 1)), (4, 1, 24, (1, 1)),
                                 (3, 1, 24, (1, 1)), (1, 4, 24, (1, 1)), (5, 2, 24, (1, 1)))),
    depthwise(9, 12, 16, 1, 3, clamp=True),
    *(depthwise(4, w, 16, 3, 3, pads=(0, left, 0, right))
      for w, left, right in ((14, 3, 2), (13, 4, 0), (2, 0, 5), (1, 6, 6))),
    depthwise(2, 9, 16, 3, 3, n=3, pads=(2, 0, 2, 0)),
    depthwise(9, 37, 16, 3, 3, n=2, strides=(3, 3), pads=(3, 0, 0, 0)),
    depthwise(8, 14, 16, 5, 3, n=2, strides=(3, 1), pads=(1, 1, 2, 1)),
]
LAYERS += short(LAYERS[:16:2])


def halves(made):
    """Scales for which sums can be halves: no block is in fixed point then."""
    made.constants["scale"][:] = np.exp2(np.round(np.log2(made.constants["scale"])))
    return made


def ends(made):
    """How sums of each block become int8."""
    plan = Plan(made.spec)
    words = plan.pack(made.constants).view(np.int32)[HEADER_BYTES // 4 :]
    return {"fixed" if word else plan.real for word in words[: len(plan.blocks)]}


def test_every_remainder_equals_the_reference():
    [record] = depthwise_neon.KERNELS
    cases = [case(record, layer, seed) for seed, layer in enumerate(LAYERS)]
    cases += [halves(case(record, layer, seed)) for seed, layer in enumerate(LAYERS[:16:2])]
    assert {end for made in cases for end in ends(made)} == {"fixed", "short", "long"}
    for made, (found,) in zip(cases, run_cases(cases, "raspberry-pi-3"), strict=True):
        (expected,) = reference(made.spec, made.inputs, made.constants)
        wrong = int((found != expected).sum())
        assert wrong == 0, f"{made.record.name} {made.spec.text()}: {wrong} differ"
