"""Float biases of quantized operators become the integers that kernels add."""

from __future__ import annotations

import numpy as np
import pytest
from model_graphs import GraphMaker

from edgecc.model import load
from edgecc.quantize import check_quantized

X_SCALE, W_SCALE = np.float32(0.02), np.float32([0.01, 0.002, 0.5, 0.03])


def quantized_conv(bias, w_scale=W_SCALE, quantize_data=True):
    """DequantizeLinear → Conv with integer weights and a float bias."""
    make = GraphMaker()
    x = make.input("x", [1, 3, 6, 6])
    scale, zero = make.weight(X_SCALE), make.weight(np.int8(3))
    if quantize_data:
        x = make.add("DequantizeLinear", make.add("QuantizeLinear", x, scale, zero), scale, zero)
    integers = make.weight(make.random.integers(-127, 128, (4, 3, 3, 3), np.int8))
    weights = make.add("DequantizeLinear", integers, make.weight(w_scale), axis=0)
    return load(make.model(make.add("Conv", x, weights, make.weight(np.float32(bias)))))


def bias_of(model):
    """The bias's producer (None for a constant) and what it reads."""
    conv, = (node for node in model.graph if node.op_type == "Conv")
    maker = conv.inputs[2].producer()
    return maker and [value.const_value.numpy() for value in maker.inputs]


@pytest.mark.parametrize("w_scale", [W_SCALE, np.float32(0.01)])
def test_a_float_bias_becomes_int32_at_the_product_of_scales(w_scale):
    model = quantized_conv([0.5, -0.25, 0.013, 0.0], w_scale)
    integers, scale = bias_of(model)
    product = np.broadcast_to(X_SCALE * w_scale, 4)
    assert integers.dtype == np.int32 and np.array_equal(scale, product)
    wanted = np.rint(np.float64([0.5, -0.25, 0.013, 0.0]) / product)
    np.testing.assert_array_equal(integers, wanted.astype(np.int32))
    if w_scale.ndim:
        check_quantized(model)


def test_a_bias_beyond_int32_stays_in_float():
    assert bias_of(quantized_conv([1e6, 0, 0, 0], np.float32([1e-5, 1, 1, 1]))) is None


def test_a_bias_beside_float_data_stays_in_float():
    assert bias_of(quantized_conv([1, 2, 3, 4], quantize_data=False)) is None
