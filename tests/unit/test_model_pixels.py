"""Scale, mean and std inside the model: same answers, from the pixels themselves."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgecc.config import CompileConfig
from edgecc.data import Preprocessing
from edgecc.errors import ConfigError
from edgecc.model import check_model, load, oracle, pixels, to_proto
from edgecc.model.edit import constant
from edgecc.quantize import check_quantized, quantize
from edgecc.quantize import pixels as quantized_pixels

WHOLE, HALF, MIXED = 128 / 255, 0.5, (0.485, 0.456, 0.406)


def how(mean, std=(0.2, 0.25, 0.3), **changes):
    return Preprocessing(scale=1, mean=mean, std=std, folded=True, **changes)


def network(pads=(1, 1, 1, 1), nhwc=False, groups=1, bias=True, tail=()):
    """A convolution of a picture, and what comes after it."""
    make = np.random.default_rng(3)
    weights = make.normal(0, 0.3, (6, 3 // groups, 3, 3)).astype(np.float32)
    offsets = make.normal(0, 0.3, 6).astype(np.float32)
    inputs = ["image" if nhwc else "x", "w"] + ["b"] * bias
    turn = helper.make_node("Transpose", ["x"], ["image"], perm=[0, 3, 1, 2])
    conv = helper.make_node("Conv", inputs, ["y"], pads=pads, group=groups, name="conv")
    graph = helper.make_graph(
        [turn] * nhwc + [conv, *tail], "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                       [1, 8, 9, 3] if nhwc else [1, 3, 8, 9])],
        [helper.make_tensor_value_info(tail[-1].output[0] if tail else "y", TensorProto.FLOAT,
                                       None)],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(offsets, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def operators(model: ir.Model) -> list[str]:
    return [node.op_type for node in model.graph]


def agree(model: ir.Model, declared: Preprocessing) -> ir.Model:
    """The folded model, once it has given the same as the model fed by hand."""
    folded = pixels.fold(model, declared)
    check_model(folded)
    picture = np.random.default_rng(0).integers(0, 256, (1, 8, 9, 3), dtype=np.uint8)
    shape = tuple(model.graph.inputs[0].shape.numpy())
    by_hand = oracle.run(model, {"x": declared.unfold(picture, shape)})
    found = oracle.run(folded, {"x": picture})
    for name, value in by_hand.items():
        assert np.abs(found[name] - value).max() <= 1e-5 * np.abs(value).max()
    return folded


@pytest.mark.parametrize("pads, mean, expected", [
    ((1, 1, 1, 1), MIXED, ["Cast", "Transpose", "Mul", "Add", "Conv"]),
    ((1, 1, 1, 1), (HALF,), ["Cast", "Transpose", "Mul", "Add", "Conv"]),
    ((1, 1, 1, 1), (WHOLE,), ["Cast", "Transpose", "Add", "Conv"]),
    ((1, 1, 1, 1), (0.0,), ["Cast", "Transpose", "Conv"]),
    ((0, 0, 0, 0), MIXED, ["Cast", "Transpose", "Add", "Conv"]),
    ((0, 0, 0, 0), (0.0,), ["Cast", "Transpose", "Conv"])])
def test_the_first_convolution_takes_what_stays_exact(pads, mean, expected):
    model = load(network(pads))
    folded = agree(model, how(mean))
    assert operators(folded) == expected
    value = folded.graph.inputs[0]
    assert (value.name, value.dtype, tuple(value.shape)) == (
        "x", ir.DataType.UINT8, (1, 8, 9, 3))
    assert operators(model) == ["Conv"]  # the source is as it was


@pytest.mark.parametrize("changes", [{"groups": 3}, {"bias": False}, {"nhwc": True}])
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 0, 1, 0)])
def test_groups_biases_and_layouts(changes, pads):
    folded = agree(load(network(pads, **changes)), how(MIXED))
    assert ("Mul" in operators(folded)) == any(pads)


def test_other_first_operators_get_the_arithmetic():
    relu = helper.make_node("Relu", ["x"], ["z"])
    folded = agree(load(network((0, 0, 0, 0), tail=(relu,))), how(MIXED))
    assert operators(folded)[:4] == ["Cast", "Transpose", "Mul", "Add"]


def test_gray_and_single_numbers():
    source = network((0, 0, 0, 0))
    source.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 1
    source.graph.initializer[0].CopyFrom(numpy_helper.from_array(
        np.ones((6, 1, 3, 3), np.float32), "w"))
    model = load(source)
    declared = Preprocessing(scale=255, mean=(100.0,), std=(50.0,), color="gray", folded=True)
    folded = pixels.fold(model, declared)
    picture = np.random.default_rng(0).integers(0, 256, (1, 8, 9, 1), dtype=np.uint8)
    by_hand = oracle.run(model, {"x": declared.unfold(picture, (1, 1, 8, 9))})["y"]
    assert np.allclose(oracle.run(folded, {"x": picture})["y"], by_hand, atol=1e-4)


def test_inputs_that_cannot_become_pixels():
    bytes_in = load(network())
    bytes_in.graph.inputs[0].type = ir.TensorType(ir.DataType.INT8)
    with pytest.raises(ConfigError, match="only float inputs can become pixels"):
        pixels.fold(bytes_in, how(MIXED))
    with pytest.raises(ConfigError, match="takes no such pictures"):
        pixels.fold(load(network()), Preprocessing(scale=1, color="gray", folded=True))


@pytest.mark.parametrize("mean, zero_point", [((0.0,), -128), ((WHOLE,), 0), ((1.0,), 127)])
def test_pixels_keep_their_scale_whatever_was_seen(mean, zero_point):
    """Calibration pictures seldom hold both black and white."""
    folded = pixels.fold(load(network()), how(mean))
    dark = [{"x": np.full((1, 8, 9, 3), 90, np.uint8)}, {"x": np.full((1, 8, 9, 3), 91, np.uint8)}]
    quantized, report = quantize(folded, dark, config=CompileConfig(quantization="int8"))
    check_quantized(quantized)
    rows = [row for row in report.rows if row.name.startswith("x_")]
    assert rows and all(row.scale == 1.0 for row in rows)
    assert rows[-1].zero_point == zero_point and not report.left_in_float


def test_preparation_is_not_counted_as_left_in_float():
    folded = pixels.fold(load(network()), how(MIXED))
    data = [{"x": np.full((1, 8, 9, 3), 90, np.uint8)}]
    _, report = quantize(folded, data, config=CompileConfig(quantization="int8"))
    assert report.left_in_float == ()


def test_what_are_pixels():
    folded = pixels.fold(load(network()), how((WHOLE,)))
    values = [node.outputs[0] for node in folded.graph]
    assert [quantized_pixels.parameters(v) is not None for v in values] == [True, True, True, False]
    added = next(node for node in folded.graph if node.op_type == "Add")
    assert constant(added.inputs[1]) == -128
    for number in (-0.5, 3.0, -300.0):  # no whole pixel, or none that a picture can have
        added.inputs[1].const_value = ir.tensor(np.float32(number))
        assert quantized_pixels.parameters(added.outputs[0]) is None
    assert quantized_pixels.parameters(folded.graph.inputs[0]) is None


def test_folded_models_are_plain_onnx(tmp_path):
    onnx.save(to_proto(pixels.fold(load(network()), how(MIXED))), tmp_path / "f.onnx")
    onnx.checker.check_model(str(tmp_path / "f.onnx"), full_check=True)
    assert operators(load(tmp_path / "f.onnx"))[0] == "Cast"
