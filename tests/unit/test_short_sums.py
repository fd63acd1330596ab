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


def test_a_sum_that_may_wrap_is_not_short():
    bias = np.array([2**31 - 1000], np.int32)
    assert not short_sums.fits(LAYER | {"bias": bias, "scale": np.array([1e-9], np.float32)})


def test_an_odd_zero_point_is_not_short():
    assert not short_sums.fits(LAYER | {"output_zero_point": -127})


def test_a_residual_comes_after_the_inner_clamp():
    large = LAYER | {"scale": np.array([2.0], np.float32)}
    assert not short_sums.fits(large) and short_sums.fits(large | RESIDUAL)
    assert not short_sums.fits(LAYER | RESIDUAL | {"ratio": np.float32(250)})
