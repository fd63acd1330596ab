"""Depthwise kernels of Cortex-M's DSP instructions against their reference: every byte equal, at
every remainder of tiles, channels and column pairs."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bare_metal import run_bare_metal

from edgecc.kernels import depthwise_dsp
from edgecc.kernels.reference import reference

sys.path.insert(0, str(Path(__file__).parents[1] / "host"))
from test_kernels_int8 import case, depthwise, short  # noqa: E402

pytestmark = pytest.mark.emulated
SAME, LOW = (1, 1, 1, 1), (0, 0, 1, 1)
LAYERS = [
    *(depthwise(4, w, c, 3, 3, pads=SAME)
      for w, c in zip((1, 2, 3, 5, 7, 9, 13, 25), (4, 5, 6, 7, 8, 9, 33, 24), strict=True)),
    *(depthwise(7, w, c, 3, 3, strides=(2, 2), pads=pads)
      for w, c, pads in zip((2, 5, 8, 17, 33), (4, 7, 9, 20, 8), (SAME, LOW, SAME, LOW, SAME),
                            strict=True)),
    depthwise(5, 8, 12, 3, 3, n=2),
    depthwise(7, 19, 8, 5, 5, strides=(2, 2), pads=(2, 2, 2, 2), clamp=True),
    depthwise(7, 19, 8, 7, 7, pads=(3, 3, 3, 3)),
    depthwise(9, 9, 12, 3, 3, dilations=(2, 1), pads=(2, 1, 2, 1)),
    depthwise(9, 9, 12, 3, 3, dilations=(1, 3), pads=(1, 3, 1, 3)),
    depthwise(9, 12, 12, 3, 2, strides=(3, 3)),
    depthwise(3, 100, 5, 2, 4, strides=(4, 1), pads=(0, 5, 0, 7)),
]
LAYERS += short([LAYERS[3], LAYERS[9], LAYERS[11]])
SOME = [*LAYERS[3:8:2], *LAYERS[8:12:2], *(replace(layer, clamp=True) for layer in LAYERS[4:6])]


def in_parts(extent):
    """The last first: a part knows nothing of those before it."""
    return [(1, extent), (0, 1)]


@pytest.mark.parametrize("target, layers", [("cortex-m4f", LAYERS), ("cortex-m7", SOME)])
def test_every_remainder_equals_the_reference(target, layers):
    cases = [case(record, layer, seed) for record in depthwise_dsp.KERNELS
             for seed, layer in enumerate(layers) if record.accepts(layer) is None]
    assert {made.spec for made in cases} == set(layers)
    assert {made.record for made in cases} == set(depthwise_dsp.KERNELS)
    several = [made for made in cases if made.record.extent(made.spec) > 1]
    cases += [replace(made, parts=in_parts(made.record.extent(made.spec)))
              for made in several[:: max(len(several) // 4, 1)]]
    assert any(made.parts for made in cases)
    outputs, _ = run_bare_metal(cases, target)
    for made, (found,) in zip(cases, outputs, strict=True):
        (expected,) = reference(made.spec, made.inputs, made.constants)
        wrong = int((found != expected).sum())
        assert wrong == 0, f"{made.record.name} {made.spec.text()}: {wrong} differ"
