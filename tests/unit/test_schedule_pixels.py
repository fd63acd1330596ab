"""uint8 inputs, Cast, and joined constants in the Program, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.data import Preprocessing
from edgecc.errors import ConfigError, UnsupportedModel
from edgecc.model import load, oracle
from edgecc.schedule import check_program, schedule
from edgecc.schedule.interpret import from_port, interpret
from edgecc.schedule.program import Kernel
from edgecc.targets import get_target

SHAPE = (1, 4, 5, 3)


def model(nodes, constants, output=TensorProto.FLOAT, dtype=TensorProto.UINT8):
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", dtype, SHAPE)],
        [helper.make_tensor_value_info("y", output, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def cast(source="x", result="f", to=TensorProto.FLOAT):
    return helper.make_node("Cast", [source], [result], to=to, name="cast")


QUANTIZED = {"s": np.float32(0.25), "z": np.int8(-3)}
PIXEL_QDQ = {"ps": np.float32(0.5), "pz": np.uint8(100), **QUANTIZED}


def program(source, **config):
    made = schedule(load(source), get_target("null"), config=CompileConfig(**config),
                    context=Context())
    check_program(made)
    return made


def kinds(made):
    return [step.spec.op for step in made.entry().steps if isinstance(step, Kernel)]


def both(source, **config):
    """Output bytes of the program and of ONNX Runtime, and the program."""
    made = program(source, **config)
    picture = np.random.default_rng(1).integers(0, 256, SHAPE, dtype=np.uint8)
    found = interpret(made, {"x": picture})["y"]
    expected = oracle.run(load(source), {"x": picture})["y"]
    return from_port(made.entry().outputs[0], found), expected, made


def test_cast_and_back():
    found, expected, made = both(model(
        [cast(), helper.make_node("QuantizeLinear", ["f", "s", "z"], ["q"]),
         helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])], QUANTIZED))
    assert np.array_equal(found, expected) and kinds(made) == ["recentre", "table"]
    port = made.entry().inputs[0]
    assert (port.view.dtype, port.view.quantization, port.model_dtype) == ("uint8", None, "uint8")


def test_quantized_uint8_inputs_of_other_tools():
    found, expected, made = both(model(
        [helper.make_node("DequantizeLinear", ["x", "ps", "pz"], ["f"]),
         helper.make_node("Relu", ["f"], ["r"]),
         helper.make_node("QuantizeLinear", ["r", "s", "z"], ["q"]),
         helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])], PIXEL_QDQ))
    assert np.array_equal(found, expected) and kinds(made) == ["recentre", "table"]


def test_less_a_whole_number_is_only_another_zero_point():
    """The table has every entry where it was, and yet the numbers are others."""
    weights = np.random.default_rng(0).integers(-9, 9, (4, 3, 1, 1)).astype(np.int8)
    found, expected, made = both(model(
        [cast(), helper.make_node("Add", ["f", "less"], ["c"]),
         helper.make_node("QuantizeLinear", ["c", "one", "zero"], ["q"]),
         helper.make_node("DequantizeLinear", ["q", "one", "zero"], ["d"]),
         helper.make_node("Transpose", ["d"], ["t"], perm=[0, 3, 1, 2]),
         helper.make_node("DequantizeLinear", ["w", "ws"], ["wf"]),
         helper.make_node("Conv", ["t", "wf"], ["v"]),
         helper.make_node("QuantizeLinear", ["v", "vs", "zero"], ["vq"]),
         helper.make_node("DequantizeLinear", ["vq", "vs", "zero"], ["y"])],
        {"less": np.float32(-128), "one": np.float32(1), "zero": np.int8(0), "w": weights,
         "ws": np.float32(0.5), "vs": np.float32(20)}))
    assert np.array_equal(found, expected) and kinds(made) == ["recentre", "conv2d"]


def test_a_multiplication_and_an_addition_are_one_operator():
    rows = {"m": np.float32([2, 0.5, -1]), "a": np.float32([1, -3, 7])}
    nodes = [cast(), helper.make_node("Mul", ["f", "m"], ["p"]),
             helper.make_node("Add", ["p", "a"], ["y"])]
    found, expected, made = both(model(nodes, rows))
    assert np.array_equal(found, expected)
    assert kinds(made) == ["recentre", "dequantize", "rowwise"]
    nodes[2] = helper.make_node("Mul", ["p", "a"], ["y"])  # but two multiplications stay
    assert kinds(program(model(nodes, rows))) == ["recentre", "dequantize", "rowwise", "rowwise"]


def test_int8_ports_may_be_bytes_of_pixels():
    nodes = [cast(), helper.make_node("QuantizeLinear", ["f", "s", "z"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    made = program(model(nodes, QUANTIZED), io="int8")
    assert [p.view.dtype for p in (*made.entry().inputs, *made.entry().outputs)] == [
        "uint8", "int8"]


def test_casts_that_are_none_of_these_are_refused():
    with pytest.raises(UnsupportedModel, match="a Cast of uint8 to type 7 is not supported"):
        program(model([cast(result="y", to=TensorProto.INT64)], {}, TensorProto.INT64))


def test_declared_pictures_must_fit_the_program():
    nodes = [cast(result="y")]
    declared = Preprocessing(scale=255)
    made = program(model(nodes, {}), preprocessing=declared)
    assert made.entry().inputs[0].preprocessing == declared
    assert made.entry().inputs[0].view.layout == "NHWC"
    with pytest.raises(ConfigError, match="takes no such pictures"):
        program(model(nodes, {}), preprocessing=Preprocessing(scale=255, color="gray"))
    with pytest.raises(ConfigError, match="takes uint8 pixels, so scale"):
        program(model(nodes, {}), preprocessing=Preprocessing(scale=1))
