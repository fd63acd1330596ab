"""Model-shaped arrays to the C API's form and back."""

import numpy as np
import onnxruntime as ort
import pytest
from bundle_maker import flat_port, port
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from edgecc.bundle import ports
from edgecc.errors import BundleError, ConfigError

FLOAT = port("x", dtype="float32", scale=None, zero_point=None, bytes=48)


def test_a_float_array_is_quantized_and_permuted():
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    native = ports.to_native(port("x"), x)
    assert native.dtype == np.int8 and native.shape == (1, 2, 2, 3)
    assert native[0, 1, 0, 2] == x[0, 2, 1, 0] / 0.5 + 3
    np.testing.assert_array_equal(ports.to_model(port("x"), native), x)


def test_native_arrays_pass_unchanged():
    native = np.arange(12, dtype=np.int8).reshape(1, 2, 2, 3)
    assert ports.to_native(port("x"), native).tobytes() == native.tobytes()


def test_plain_ports_take_either_layout():
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    native = ports.to_native(FLOAT, x)
    np.testing.assert_array_equal(native, x.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(ports.to_native(FLOAT, native), native)


def test_where_shapes_do_not_tell_types_do():
    square = {"shape": [1, 2, 2, 2], "model_shape": [1, 2, 2, 2], "bytes": 8}
    quantized, plain = port("x", **square), {**FLOAT, **square, "bytes": 32}
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    np.testing.assert_array_equal(ports.to_native(plain, x), x.transpose(0, 2, 3, 1))
    native = x.astype(np.int8)
    np.testing.assert_array_equal(ports.to_native(quantized, native), native)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=4, max_size=4))
def test_quantizing_equals_onnx_runtime(values):
    array = np.array([values], np.float32)
    described = flat_port("y") | {"scale": 0.0173, "zero_point": -5}
    expected, = _quantize_linear().run(None, {"x": array})
    np.testing.assert_array_equal(ports.quantize(described, array), expected)


def _quantize_linear():
    if not hasattr(_quantize_linear, "session"):
        node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
        graph = helper.make_graph(
            [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
            [helper.make_tensor_value_info("y", TensorProto.INT8, [1, 4])],
            [helper.make_tensor("s", TensorProto.FLOAT, [], [0.0173]),
             helper.make_tensor("z", TensorProto.INT8, [], [-5])])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                  ir_version=9)
        _quantize_linear.session = ort.InferenceSession(proto.SerializeToString())
    return _quantize_linear.session


@pytest.mark.parametrize("array", [
    np.zeros((1, 3, 2), np.float32), np.zeros((1, 2, 2, 3), np.float32),
    np.zeros((3, 2, 2), np.int8),
])
def test_wrong_shapes(array):
    with pytest.raises(ConfigError, match=r"'x' has the wrong shape.*float32 \[1, 3, 2, 2\] or"):
        ports.to_native(port("x"), array)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(value):
    with pytest.raises(ConfigError, match="NaN or infinite"):
        ports.to_native(port("x"), np.full((1, 3, 2, 2), value, np.float32))


def test_things_that_are_not_numeric():
    with pytest.raises(ConfigError, match="not numbers"):
        ports.to_native(flat_port("y"), np.array([["a", "b", "c", "d"]]))


def test_bytes_of_the_wrong_number():
    with pytest.raises(BundleError, match=r"needed 4 B, available 3 B"):
        ports.from_bytes(flat_port("y"), b"abc", "vectors/0/output_0.bin")


@pytest.mark.parametrize("names", [[], ["y"], ["x", "y"]])
def test_input_names_must_match(names):
    with pytest.raises(ConfigError, match="inputs do not match the model.*needed x, available"):
        ports.native_inputs([port("x")], dict.fromkeys(names, 0))
