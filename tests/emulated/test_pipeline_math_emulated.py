"""Gates, norms, attention and transposed convolutions: the same bytes on every target."""

import math_network
import pytest

import edgecc

pytestmark = pytest.mark.emulated
SAMPLES = math_network.samples(8)


def answers(target):
    bundle = edgecc.compile(math_network.network(), quantization="int8", name="net",
                            calibration={"x": SAMPLES}, target=target)
    found = bundle.run_many([{"x": x[None]} for x in SAMPLES], native=True)
    return [{name: value.tobytes() for name, value in each.items()} for each in found]


def test_targets_give_the_same_bytes():
    here = answers("host")
    assert answers("raspberry-pi-5") == here
    assert answers("spacemit-k1") == here
