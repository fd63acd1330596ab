"""Which layers round and narrow in fewer instructions, whatever their inputs."""

import numpy as np

from edgecc.kernels import short_sums

LAYER = {
    "weights": np.array([[100, -100]], np.int8), "bias": np.array([10], np.int32),
    "scale": np.array([0.5], np.float32), "input_zero_point": 127, "output_zero_point": -128,
    "lo": -128, "hi": 127,
}
RESIDUAL = {"inner_zero_point": 0, "inner_lo": -128, "inner_hi": 127,
            "ratio": np.float32(1), "residual_ratio": np.float32(1), "residual_zero_point": 3}


def test_the_largest_sum_decides():
    most = (200 * 255 + 10) * 0.5 + 128
    assert most < short_sums.LARGEST and short_sums.fits(LAYER)
    assert not short_sums.fits(LAYER | {"scale": np.array([0.7], np.float32)})
    assert not short_sums.fits(LAYER | {"bias": np.array([20000], np.int32)})
    assert not short_sums.fits(LAYER | {"bias": np.array([-20000], np.int32)})
    assert not short_sums.fits(LAYER | {"scale": np.array([-0.7], np.float32)})


def test_the_zero_point_is_added():
    near = LAYER | {"scale": np.array([31950 / 51010], np.float32)}
    assert short_sums.fits(near | {"output_zero_point": 0}) and not short_sums.fits(near)


def test_the_largest_channel_decides():
    two = LAYER | {"weights": np.repeat(LAYER["weights"], 2, axis=0)}
    bias, scale = np.array([10, 10], np.int32), np.array([0.5, 0.5], np.float32)
    assert short_sums.fits(two | {"bias": bias, "scale": scale})
    assert not short_sums.fits(two | {"bias": bias, "scale": np.array([0.5, 0.7], np.float32)})
    bias = np.array([10, 2**31 - 1000], np.int32)
    assert not short_sums.fits(two | {"bias": bias, "scale": np.full(2, 1e-9, np.float32)})


def test_a_sum_that_may_wrap_is_not_short():
    bias = np.array([2**31 - 1000], np.int32)
    tiny = LAYER | {"scale": np.array([1e-9], np.float32)}
    assert short_sums.fits(tiny) and not short_sums.fits(tiny | {"bias": bias})
    assert not short_sums.fits(tiny | {"bias": np.array([-2**31], np.int32)})


def test_an_odd_zero_point_is_not_short():
    assert not short_sums.fits(LAYER | {"output_zero_point": -127})


def test_a_residual_comes_after_the_inner_clamp():
    large = LAYER | {"scale": np.array([2.0], np.float32)}
    assert not short_sums.fits(large) and short_sums.fits(large | RESIDUAL)
    assert not short_sums.fits(LAYER | RESIDUAL | {"ratio": np.float32(250)})


def test_what_a_residual_can_add_counts():
    both = LAYER | RESIDUAL
    assert short_sums.fits(both | {"residual_ratio": np.float32(130)})
    for ratio in (250, -250):
        assert not short_sums.fits(both | {"residual_ratio": np.float32(ratio)})
    far = {"residual_zero_point": -128, "residual_ratio": np.float32(130)}
    assert not short_sums.fits(both | far)


def test_the_inner_values_range_about_their_zero_point():
    large = LAYER | RESIDUAL | {"ratio": np.float32(130)}
    assert short_sums.fits(large)
    assert not short_sums.fits(large | {"inner_zero_point": -128})
    clamped = {"inner_lo": 0, "inner_hi": 10, "ratio": np.float32(250)}
    assert short_sums.fits(large | clamped)
