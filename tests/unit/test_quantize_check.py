"""check_quantized: every rule is seen to fail."""

import numpy as np
import onnx_ir as ir
import pytest
from model_graphs import GraphMaker, feeds_of

from edgecc.config import CompileConfig
from edgecc.errors import CheckFailed
from edgecc.model import load
from edgecc.quantize import check_quantized, quantize


@pytest.fixture
def model():
    make = GraphMaker()
    x = make.add("Relu", make.conv(make.input("x", [1, 3, 4, 4]), 3, 4))
    x = make.add("Reshape", x, make.weight(np.int64([1, -1])))
    x = make.add("Gemm", x, make.weight((64, 5)), make.weight((5,)))
    loaded = load(make.model(x))
    config = CompileConfig(quantization="int8")
    return quantize(loaded, [feeds_of(loaded)], config=config)[0]


def initializer(model, ending):
    return next(v for n, v in model.graph.initializers.items() if n.endswith(ending))


def put(model, ending, array):
    value = initializer(model, ending)
    value.const_value = ir.tensor(array)
    value.shape, value.type = ir.Shape(array.shape), ir.TensorType(value.const_value.dtype)


def node(model, op):
    return next(n for n in model.graph if n.op_type == op)


def number(model, ending):
    return initializer(model, ending).const_value.numpy()


def test_a_good_model_passes(model):
    check_quantized(model)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_scales(model, bad):
    put(model, "x_scale", np.asarray(bad, np.float32))
    with pytest.raises(CheckFailed, match="the scale of .* is not positive and finite"):
        check_quantized(model)


def test_number_of_zero_points(model):
    put(model, "weights_zero_point", np.zeros(3, np.int8))
    with pytest.raises(CheckFailed, match="has 3 zero points for 4 scales"):
        check_quantized(model)


def test_type_of_zero_points(model):
    put(model, "weights_zero_point", np.zeros(4, np.uint8))
    with pytest.raises(CheckFailed, match="uint8 zero points for int8 data"):
        check_quantized(model)


def test_number_of_scales(model):
    put(model, "weights_scale", np.ones(3, np.float32))
    put(model, "weights_zero_point", np.zeros(3, np.int8))
    with pytest.raises(CheckFailed, match="has 3 scales along axis 0"):
        check_quantized(model)


def test_an_int32_zero_point(model):
    bias = node(model, "Conv").inputs[2].producer()
    count = len(bias.inputs[1].const_value.numpy())
    zero = ir.Value(name="z", const_value=ir.tensor(np.ones(count, np.int32), name="z"))
    model.graph.register_initializer(zero)
    bias.resize_inputs(3)
    bias.replace_input_with(2, zero)
    with pytest.raises(CheckFailed, match="int32 data with a zero point"):
        check_quantized(model)


def test_bias_scale(model):
    put(model, "bias_scale", number(model, "bias_scale") * np.float32(1.01))
    with pytest.raises(CheckFailed, match="is not input scale times weight scale"):
        check_quantized(model)


def test_bias_type(model):
    put(model, "bias_quantized", number(model, "bias_quantized").astype(np.int16))
    with pytest.raises(CheckFailed, match="is not constant int32"):
        check_quantized(model)


def test_float_bias(model):
    conv = node(model, "Conv")
    bias = ir.Value(name="float_bias", const_value=ir.tensor(np.ones(4, np.float32), name="b"))
    model.graph.register_initializer(bias)
    conv.replace_input_with(2, bias)
    with pytest.raises(CheckFailed, match="a bias that is not integer"):
        check_quantized(model)


def test_overflow(model):
    bias = number(model, "bias_quantized").copy()
    bias[0] = 2**31 - 1
    put(model, "bias_quantized", bias)
    with pytest.raises(CheckFailed, match="the int32 accumulator of conv_0 can overflow"):
        check_quantized(model)


def test_round_trip(model):
    dequantize = node(model, "Conv").inputs[0].producer()
    other = ir.Value(name="other", const_value=ir.tensor(np.float32(0.5), name="other"))
    model.graph.register_initializer(other)
    dequantize.replace_input_with(1, other)
    with pytest.raises(CheckFailed, match="parameters differ"):
        check_quantized(model)


@pytest.mark.parametrize(("index", "finding"), [(1, "the scale of"), (2, "the zero point of")])
def test_computed_parameters(model, index, finding):
    quantizer = node(model, "QuantizeLinear")
    computed = ir.Node("", "Identity", [quantizer.inputs[index]], num_outputs=1)
    computed.outputs[0].name = "computed"
    model.graph.insert_before(quantizer, computed)
    quantizer.replace_input_with(index, computed.outputs[0])
    with pytest.raises(CheckFailed, match=f"{finding} .* is not constant"):
        check_quantized(model)
