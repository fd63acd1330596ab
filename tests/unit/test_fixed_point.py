"""Sums to int8 by an integer product: the bytes of float32's law at every sum there is."""

import numpy as np
import pytest

from edgecc.kernels import fixed_point
from edgecc.kernels.requantize import requantize

COUNT = 96


def layer(seed, part, **more):
    """Constants of a depthwise layer; sums are about `part` times what int8 outputs can tell."""
    rng = np.random.default_rng(seed)
    return {"weights": rng.integers(-127, 128, (COUNT, 3, 3, 1), dtype=np.int8),
            "bias": rng.integers(-3000, 3000, COUNT, dtype=np.int32),
            "scale": (rng.uniform(0.5, 1.5, COUNT) * part / 600).astype(np.float32),
            "input_zero_point": int(rng.integers(-128, 128)),
            "output_zero_point": int(rng.integers(-128, 128)), "lo": -90, "hi": 100} | more


def values(found, channel, sums):
    """As SQDMULH, UZP1 and SQRSHRN give them."""
    moved = sums + found.offset[channel]
    assert np.abs(moved).max() < 2**31 and 0 < found.multiplier[channel] < 2**31
    short = (moved * found.multiplier[channel] >> 31).astype(np.int16).astype(np.int64)
    return np.clip((short + 1) >> 1, -128, 127)


@pytest.mark.parametrize("seed, part, clamp", [
    (0, 1, False), (1, 4, True), (2, 20, False), (3, 0.3, False), (4, 1, True), (5, 4, False)])
def test_every_sum_gives_the_laws_value(seed, part, clamp):
    made = layer(seed, part)
    found = fixed_point.fitted(made, clamp)
    bounds = (made["lo"], made["hi"]) if clamp else (-128, 127)
    weights = made["weights"].reshape(COUNT, -1).astype(np.int64)
    ends = weights[:, :, None] * (np.array([-128, 127]) - made["input_zero_point"])
    for channel in np.flatnonzero(found.holds):
        least, largest = (made["bias"][channel] + ends[channel].min(axis=1).sum(),
                          made["bias"][channel] + ends[channel].max(axis=1).sum())
        sums = np.arange(least, largest + 1)
        law = requantize(sums, made["scale"][channel], made["output_zero_point"], *bounds)
        assert (np.clip(values(found, channel, sums), *bounds) == law).all(), channel
    assert found.holds.sum() > 0.7 * COUNT


@pytest.mark.parametrize("more", [
    {"scale": np.full(COUNT, 2.0**-8, np.float32)},  # sums that are halves, rounded to even
    {"scale": np.full(COUNT, 0.9, np.float32)},  # values beyond 16 bits
    {"scale": np.full(COUNT, -0.01, np.float32)},
    {"scale": np.zeros(COUNT, np.float32)},
    {"bias": np.full(COUNT, 2**30, np.int32)},
    {"bias": np.full(COUNT, -2**31, np.int32)},
])
def test_what_it_cannot_give_it_does_not_claim(more):
    assert not fixed_point.fitted(layer(0, 1, **more), False).holds.any()


def test_channels_that_are_constant_hold():
    made = layer(0, 1)
    made["weights"][:] = 0
    found = fixed_point.fitted(made, False)
    law = requantize(made["bias"], made["scale"], made["output_zero_point"])
    held = np.flatnonzero(found.holds)
    assert len(held) == COUNT
    assert [int(values(found, i, made["bias"][i : i + 1].astype(np.int64))[0]) for i in held] == [
        *law[held]]
