"""Scales, zero points, weights and biases: definitions, guards, corner cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.quantize.parameters import bias_limit, from_range, quantize_weights, quantized

INT32_MAX = 2**31 - 1
finite = st.floats(-1e6, 1e6, allow_nan=False, width=32)


@given(finite, finite)
def test_a_range_is_covered_and_zero_is_exact(a, b):
    low, high = min(a, b), max(a, b)
    found = from_range(low, high)
    assert -128 <= found.zero_point <= 127
    assert found.scale > 0 and found.scale == float(np.float32(found.scale))
    step = found.scale
    assert (-128 - found.zero_point) * step <= min(low, 0) + 0.51 * step
    assert (127 - found.zero_point) * step >= max(high, 0) - 0.51 * step


@pytest.mark.parametrize(
    ("low", "high", "zero_point"), [(0, 6, -128), (2, 6, -128), (-3, 0, 127), (-5, -1, 127)]
)
def test_one_sided_ranges_start_at_an_end(low, high, zero_point):
    assert from_range(low, high).zero_point == zero_point


@pytest.mark.parametrize("value", [0.0, 1e-30])
def test_a_dead_tensor_gets_scale_one(value):
    assert from_range(0.0, value).scale == 1.0
    assert from_range(0.0, value).zero_point == -128


@given(st.floats(2**-10, 2**14, width=32))
def test_a_ceiling_is_never_passed(ceiling):
    found = from_range(0.0, ceiling, ceiling=ceiling)
    assert np.float32(255) * np.float32(found.scale) <= np.float32(ceiling)
    assert found.scale == pytest.approx(ceiling / 255, rel=1e-6)


def test_a_ceiling_below_the_range_is_ignored():
    assert from_range(0.0, 10.0, ceiling=6.0) == from_range(0.0, 10.0)


def test_values_are_rounded_half_to_even_and_saturate():
    found = quantized(np.float32([0.5, 1.5, 2.5, -0.5, 1e9, -1e9]), from_range(-128, 127))
    np.testing.assert_array_equal(found, [0, 2, 2, 0, 127, -128])


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1]))
def test_weights_are_symmetric_per_channel_with_half_a_step_of_error(seed, axis):
    random = np.random.default_rng(seed)
    weights = (random.normal(size=(5, 7)) * 10.0 ** random.uniform(-3, 3)).astype(np.float32)
    bias = random.normal(size=weights.shape[axis]).astype(np.float32)
    found = quantize_weights(weights, bias, 0.02, axis)
    assert found.values.dtype == np.int8 and abs(found.values.astype(int)).max() == 127
    steps = np.moveaxis(np.abs(found.dequantized() - weights), axis, 0) / found.scale[:, None]
    assert steps.max() <= 0.5001
    np.testing.assert_array_equal(found.bias_scale, np.float32(0.02) * found.scale)
    assert np.abs(found.bias * found.bias_scale.astype(float) - bias).max() <= (
        0.51 * found.bias_scale.max()
    )


def test_a_large_bias_raises_its_channel_scale_and_no_other():
    weights = np.float32([[1e-3, -1e-3], [1.0, 0.5]])
    found = quantize_weights(weights, np.float32([1e6, 1.0]), 1e-3, 0)
    limit = bias_limit(2)
    assert found.scale[0] >= 1e6 / (1e-3 * limit)
    assert found.scale[1] == np.float32(1.0 / 127)
    assert abs(int(found.bias[0])) <= limit
    real = float(found.bias[0]) * float(found.bias_scale[0])
    assert real == pytest.approx(1e6, rel=1e-6)


@pytest.mark.parametrize("dead", [0.0, 1e-30, -3e-38])
@pytest.mark.parametrize("bias", [0.0, 0.7, -1e-30])
def test_dead_rows_keep_their_bias_and_usable_scales(dead, bias):
    weights = np.float32([[dead, dead], [0.3, -0.2]])
    found = quantize_weights(weights, np.float32([bias, 0.1]), 0.05, 0)
    assert (found.bias_scale > np.finfo(np.float32).tiny).all()
    real = float(found.bias[0]) * float(found.bias_scale[0])
    assert real == pytest.approx(bias, abs=1e-7, rel=1e-6)


def test_a_layer_that_is_all_dead():
    found = quantize_weights(np.zeros((2, 3), np.float32), None, 1e-15, 0)
    assert not found.values.any() and (found.scale > 0).all() and found.bias is None
    assert (found.bias_scale > np.finfo(np.float32).tiny).all()


def test_the_accumulator_has_room_beside_the_largest_bias():
    products = 4096
    assert bias_limit(products) + products * 127 * 255 <= INT32_MAX
    assert bias_limit(10**6) == 2**30
