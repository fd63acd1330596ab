"""Convolutions of Cortex-M's DSP instructions, above all those whose channels or taps are apart,
against their reference: every byte equal, at every remainder of tiles, columns, runs and rows in
turn."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bare_metal import run_bare_metal

from edgecc.kernels import conv2d_dsp
from edgecc.kernels.reference import reference
from edgecc.kernels.spec import Conv2d

sys.path.insert(0, str(Path(__file__).parents[1] / "host"))
from test_kernels_int8 import case  # noqa: E402

pytestmark = pytest.mark.emulated
SAME = (1, 1, 1, 1)


def conv(h, w, c, k, kh, kw, **more):
    return Conv2d("int8", more.pop("n", 1), h, w, c, k, kh, kw, **more)


LAYERS = [
    # taps of 1, 5, 2 and 9 fours of K: written out, and as loops with and without a loop inside
    conv(5, 7, 8, 12, 3, 3, pads=SAME, groups=2),
    conv(4, 6, 60, 9, 3, 3, pads=SAME, groups=3, clamp=True),
    conv(4, 5, 16, 10, 2, 3, groups=2, residual=True),
    conv(4, 5, 72, 4, 1, 3, pads=(0, 1, 0, 1), groups=2),
    # odd channels of a group, a single one (multiplier 3), one column of a group
    conv(5, 8, 15, 12, 3, 3, pads=SAME, groups=3),
    conv(5, 8, 5, 15, 3, 3, pads=SAME, strides=(2, 2), groups=5),
    conv(5, 4, 12, 3, 3, 3, pads=SAME, groups=3),
    # products of matrices
    conv(3, 5, 24, 10, 1, 1, groups=2, n=2),
    conv(1, 1, 24, 10, 1, 1, groups=2),
    conv(3, 5, 10, 6, 1, 1, groups=2, residual=True),
    conv(1, 4, 4, 2050, 1, 1),  # positions of the output too far apart for one pointer
    # output rows in turns: 5 of 7, steps of 2 and 3, more classes than rows
    conv(11, 9, 8, 6, 3, 3, n=2, dilations=(2, 2)),
    conv(11, 6, 6, 5, 3, 2, dilations=(3, 1), strides=(2, 1), pads=(3, 0, 3, 1)),
    conv(13, 6, 5, 6, 2, 2, dilations=(2, 3), strides=(3, 1), pads=(1, 2, 1, 1), clamp=True),
    conv(9, 6, 4, 6, 3, 3, dilations=(4, 2), strides=(2, 2), pads=(4, 2, 4, 2)),
    conv(9, 3, 4, 6, 3, 1, dilations=(7, 1), pads=(7, 0, 7, 0)),
    conv(3, 12, 16, 5, 1, 3, dilations=(1, 4)),
    conv(7, 11, 12, 8, 3, 3, dilations=(2, 2), pads=(2, 2, 2, 2), groups=2, residual=True),
]


def in_parts(extent):
    """The last first: a part knows nothing of those before it."""
    return [(extent // 2, extent), (0, extent // 2)]


@pytest.mark.parametrize("target, layers", [("cortex-m4f", LAYERS), ("cortex-m7", LAYERS[1::5])])
def test_every_remainder_equals_the_reference(target, layers):
    cases = [case(record, layer, seed) for record in conv2d_dsp.KERNELS
             for seed, layer in enumerate(layers)
             if record.op == layer.op and record.accepts(layer) is None]
    assert {made.spec for made in cases} == set(layers)
    several = [made for made in cases if made.record.extent(made.spec) > 2]
    cases += [replace(made, parts=in_parts(made.record.extent(made.spec)))
              for made in several[::3]]
    outputs, _ = run_bare_metal(cases, target)
    for made, (found,) in zip(cases, outputs, strict=True):
        (expected,) = reference(made.spec, made.inputs, made.constants)
        wrong = int((found != expected).sum())
        assert wrong == 0, f"{made.record.name} {made.spec.text()}: {wrong} differ"
