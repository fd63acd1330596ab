"""4-bit weights: read from both ONNX forms as ONNX Runtime reads them, and made by quantization."""

import four_bit_models as models
import numpy as np
import onnx_ir as ir
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from edgecc import model, quantize, tolerance
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError, QuantizationError, UnsupportedModel
from edgecc.kernels.grouped_spec import short
from edgecc.model import oracle
from edgecc.quantize.four_bits import rounded, short_scale
from edgecc.schedule import schedule
from edgecc.schedule.check import check_program
from edgecc.schedule.interpret import interpret
from edgecc.schedule.reader import read_graph
from edgecc.targets import get_target

TOLERANCE = 2e-6  # float32 sums in another order


def programmed(proto):
    """The canonical model and its Program."""
    graph = model.load(proto)
    model.check_model(graph)
    program = schedule(graph, get_target("null"), config=CompileConfig(), context=Context())
    check_program(program)
    return graph, program


def agrees(proto, ops):
    """The Program on the references against ONNX Runtime; its kernels are `ops`."""
    graph, program = programmed(proto)
    assert [step.spec.op for step in program.entry().steps] == ops
    shape = [int(d) for d in graph.graph.inputs[0].shape]
    x = np.random.default_rng(5).normal(size=shape).astype(np.float32)
    wanted = oracle.run(proto, {"x": x})["y"]
    found = interpret(program, {"x": x})["y"]
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= TOLERANCE * np.abs(wanted).max()
    return program.entry().steps[0].spec


@pytest.mark.parametrize("x_shape, n, block, more", [
    ([1, 64], 48, 32, {}), ([3, 100], 33, 32, {"zeros": "bytes"}),
    ([2, 3, 70], 9, 16, {"zeros": "floats", "bias": True}), ([2, 129], 7, 128, {"bias": True}),
    ([1, 20], 5, 32, {"zeros": "bytes"}),
])
def test_matmul_nbits_is_what_onnx_runtime_makes_of_it(x_shape, n, block, more):
    spec = agrees(models.nbits(x_shape, n, block, **more), ["grouped_product"])
    assert (spec.group, spec.affine) == (min(block, x_shape[-1]), "zeros" in more)


def test_float16_activations_are_widened_for_them():
    proto = models.nbits([2, 64], 16, 32, zeros="bytes", bias=True, real=np.float16)
    _, program = programmed(proto)
    assert [step.spec.op for step in program.entry().steps] == [
        "convert", "grouped_product", "convert"]
    x = np.random.default_rng(5).normal(size=(2, 64)).astype(np.float16)
    found, wanted = interpret(program, {"x": x})["y"], oracle.run(proto, {"x": x})["y"]
    assert found.dtype == np.float16
    assert np.abs(found - wanted).max() <= 2e-3 * np.abs(wanted).max()  # of float16


@pytest.mark.parametrize("k, block, zeros", [(64, 32, None), (129, 32, "bytes"),
                                             (512, 128, "bytes"), (70, 16, None)])
def test_activations_are_rounded_as_onnx_runtime_does_where_the_model_allows_it(k, block, zeros):
    spec = agrees(models.nbits([3, k], 33, block, zeros, accuracy_level=4), ["grouped_product"])
    assert spec.rounded
    assert not agrees(models.nbits([3, k], 33, block, zeros), ["grouped_product"]).rounded


def test_a_program_that_rounds_activations_says_how_far_it_may_be_off():
    found = [tolerance.of_program(programmed(models.nbits([3, 64], 33, 32, **more))[1])
             for more in ({}, {"accuracy_level": 4})]
    assert found == [tolerance.FLOAT32, tolerance.ROUNDED]


def test_quantization_may_round_activations_too():
    config = CompileConfig(quantization="int4", int4_activations="int8")
    found, report = quantize.quantize_weights(model.load(models.perceptron()), config=config)
    assert "groups of 32, int8 activations" in report.summary()
    _, program = programmed(model.to_proto(found))
    steps = program.entry().steps
    assert [getattr(step.spec, "rounded", False) for step in steps] == [True, True, False]
    x = np.random.default_rng(5).normal(size=(2, 96)).astype(np.float32)
    wanted, got = oracle.run(found, {"x": x})["y"], interpret(program, {"x": x})["y"]
    assert np.abs(got - wanted).max() <= tolerance.ROUNDED * np.abs(wanted).max()


@pytest.mark.parametrize("spelled", ["MatMul", "Gemm", "Transpose"])
@pytest.mark.parametrize("kind, zeros", [("INT4", False), ("INT4", True), ("UINT4", False),
                                         ("UINT4", True)])
def test_blocked_dequantize_is_what_onnx_runtime_makes_of_it(spelled, kind, zeros):
    spec = agrees(models.blocked([3, 70], 20, 32, kind, zeros, spelled), ["grouped_product"])
    assert spec.affine == (zeros or kind == "UINT4")


@pytest.mark.parametrize("spelled", ["MatMul", "Gemm"])
def test_one_scale_per_output_is_one_group(spelled):
    spec = agrees(models.blocked([3, 50], 20, 0, "INT4", True, spelled), ["grouped_product"])
    assert spec.groups == 1


def test_blocks_of_other_sizes():
    agrees(models.blocked([4, 45], 12, 6, "INT4", True), ["grouped_product"])


@pytest.mark.parametrize("proto, message", [
    (models.nbits([2, 64], 16, 32, bits=8), "bits"),
    (models.nbits([2, 64], 16, 32, g_idx=True), "g_idx"),
    (models.nbits([2, 64], 16, 32, zeros="fractions"), "whole numbers from 0 to 15"),
    (models.nbits([2, 64], 16, 32, weight_prepacked=1), "prepacked|packed for one kernel"),
    (models.nbits([2, 64], 16, 32, block_size=24), "block"),
])
def test_what_is_refused(proto, message):
    with pytest.raises(UnsupportedModel, match=message):
        programmed(proto)


def read(proto):
    """Without ONNX Runtime, which would refuse some of them first."""
    return read_graph(ir.from_proto(proto))


@pytest.mark.parametrize("change, message", [
    ({"bits": 2}, "weights of 2 bits are not supported"),
    ({"block_size": 8}, "block_size=8 is not a power of two"),
    ({"block_size": 48}, "block_size=48 is not a power of two"),
    ({"block_size": 64}, "scales has 32 elements, 16 are needed"),
    ({"K": 96}, "B has 512 elements, 768 are needed"),
])
def test_what_the_reader_refuses_by_itself(change, message):
    with pytest.raises(UnsupportedModel, match=message):
        read(models.nbits([2, 64], 16, 32, **change))


def test_weights_for_other_inputs_are_refused():
    proto = models.nbits([2, 64], 16, 32)
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 60
    with pytest.raises(UnsupportedModel, match="weights for 64 inputs do not fit"):
        read(proto)


def test_scales_of_other_blocks_are_refused():
    proto = models.blocked([2, 64], 16, 32)
    for attribute in proto.graph.node[0].attribute:
        if attribute.name == "block_size":
            attribute.i = 16
    with pytest.raises(UnsupportedModel, match="not those of blocks of 16 along axis 0"):
        read(proto)


def test_blocked_activations_are_refused():
    proto = models.blocked([2, 64], 16, 32)
    node = proto.graph.node[0]
    del proto.graph.initializer[0]
    proto.graph.input.append(helper.make_tensor_value_info(node.input[0], TensorProto.INT8,
                                                           [64, 16]))
    with pytest.raises(UnsupportedModel, match="blocked quantization of what is computed"):
        read(proto)


@given(st.integers(1, 9), st.integers(1, 150), st.sampled_from((32, 64, 128)), st.booleans(),
       st.integers(0, 2**31))
@settings(max_examples=30)
def test_rounding_errs_by_half_a_step_or_clips(n, k, group, affine, seed):
    rng = np.random.default_rng(seed)
    weights = (rng.normal(size=(n, k)) * np.exp(rng.normal(size=(n, 1)))).astype(np.float32)
    codes = rounded(weights, group, affine)
    assert codes.codes.max() <= 15 and codes.zeros.max() <= 15 and short(codes.scales)
    found = codes.decoded()
    plain = weights.copy()  # no worse than rounding to the whole range
    for g in range(0, k, group):
        part = plain[:, g : g + group]
        step = np.abs(part).max(axis=1, keepdims=True) / 7 * np.float32(1 + 2**-7)
        step = np.where(step > 0, step, 1)
        part[:] = np.clip(np.rint(part / step), -8, 7) * step
    if not affine:
        assert np.square(found - weights).sum() <= np.square(plain - weights).sum() * 1.05 + 1e-12
    assert np.isfinite(found).all()


def test_scales_are_bfloat16_that_are_not_smaller():
    scales = np.float32([1e-3, 0.3, 1, 123.4, 0.0, 1e-45])
    found = short_scale(scales)
    assert short(found) and (found >= scales).all() and (found[:4] <= scales[:4] * 1.01).all()
    assert list(found[4:]) == [1, 1]


@pytest.mark.parametrize("zeros", ["symmetric", "affine"])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_quantized_models_run_in_onnx_runtime_and_here(group, zeros):
    source = model.load(models.perceptron())
    config = CompileConfig(quantization="int4", int4_group=group, int4_zeros=zeros)
    found, report = quantize.quantize_weights(source, config=config)
    model.check_model(found)
    names = ["layer0", "layer1"] if group < 128 else ["layer1"]
    assert [row.node for row in report.weights] == names
    assert {row.node for row in report.left_in_float} == {"layer0", "layer1", "layer2"} - {*names}
    assert all(15 < row.sqnr_db < 35 for row in report.weights)
    assert report.int4_bytes < report.float_bytes / 5
    saved = report.float_bytes - report.int4_bytes
    assert len(model.to_proto(found).SerializeToString()) < 0.2 * saved + (
        len(model.to_proto(source).SerializeToString()) - saved)
    ops = ["grouped_product" if name in names else "fully_connected"
           for name in ("layer0", "layer1", "layer2")]
    agrees(model.to_proto(found), ops)


def test_quantized_models_load_again_with_a_float_layer_between_others():
    source = model.load(models.perceptron((96, 64, 20, 96, 64)))
    found, report = quantize.quantize_weights(source)
    assert [row.node for row in report.weights] == ["layer0", "layer1", "layer3"]
    again = model.load(model.to_proto(found))
    assert [n.op_type for n in again.graph] == [n.op_type for n in found.graph]


def test_groups_with_zero_points_err_less_where_weights_lie_to_one_side():
    source = models.perceptron()
    for tensor in source.graph.initializer:
        if tensor.name.startswith("w"):
            values = np.frombuffer(tensor.raw_data, np.float32)
            tensor.raw_data = np.abs(values).tobytes()
    graph = model.load(source)
    worst = {}
    for zeros in ("symmetric", "affine"):
        config = CompileConfig(quantization="int4", int4_zeros=zeros)
        worst[zeros] = quantize.quantize_weights(graph, config=config)[1].worst.sqnr_db
    assert worst["affine"] > worst["symmetric"] + 3


def test_the_report_says_what_became_of_every_layer():
    _, report = quantize.quantize_weights(model.load(models.perceptron()))
    text = report.to_text()
    assert "int4, symmetric, groups of 32 · 2 layers" in text and "layer0" in text
    assert "350 weights are too few to gain by it" in text


def test_a_model_without_such_layers_is_refused():
    small = model.load(models.perceptron((20, 5, 4)))
    with pytest.raises(QuantizationError, match="no MatMul or Gemm of float32"):
        quantize.quantize_weights(small)


@pytest.mark.parametrize("wrong", [{"int4_group": 48}, {"int4_zeros": "none"},
                                   {"int4_activations": "int4"}])
def test_other_choices_are_refused(wrong):
    with pytest.raises(ConfigError, match="is not implemented"):
        CompileConfig(quantization="int4", **wrong)
