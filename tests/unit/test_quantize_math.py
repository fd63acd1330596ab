"""Quantizing arithmetic operators: what becomes int8, and that it computes in int8 throughout."""

import numpy as np
import onnx_ir as ir
import pytest
import schedule_models as models
from schedule_models import model, node

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.model import load
from edgecc.quantize import check_quantized, quantize

IMAGE = (1, 6, 8, 9)
RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def f(*shape):
    return (RANDOM.standard_normal(shape) / np.sqrt(max(np.prod(shape[1:]), 1))).astype(np.float32)


def after_conv(op, out, inputs=(), opset=20, **attributes):
    """A convolution, so that int8 is there already, then the operator."""
    names = {f"c{i}": c for i, c in enumerate(inputs)}
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1] * 4, name="conv"),
             node(op, ["c", *names], ["y"], name="op", **attributes)]
    return model(nodes, {"x": IMAGE}, {"y": out}, {"w": f(6, 6, 3, 3), **names}, opset)


def quantized(proto):
    loaded = load(proto)
    samples = [{v.name: RANDOM.standard_normal(v.shape.numpy()).astype(np.float32)
                for v in loaded.graph.inputs} for _ in range(8)]
    result, report = quantize(loaded, samples, config=CompileConfig(), context=Context())
    check_quantized(result)
    return loaded, result, report


SAME = IMAGE
CASES = {
    "ConvTranspose": after_conv("ConvTranspose", (1, 4, 16, 18), [f(6, 4, 2, 2), f(4)],
                                strides=[2, 2]),
    "ConvTranspose grouped": after_conv("ConvTranspose", (1, 8, 16, 18),
                                        [f(6, 4, 2, 2), f(8)], strides=[2, 2], group=2),
    "ConvTranspose depthwise": after_conv("ConvTranspose", (1, 6, 16, 18),
                                          [f(6, 1, 2, 2), f(6)], strides=[2, 2], group=6),
    "LayerNormalization": after_conv("LayerNormalization", SAME, [f(9), f(9)]),
    "InstanceNormalization": after_conv("InstanceNormalization", SAME, [f(6), f(6)]),
    "GroupNormalization": after_conv("GroupNormalization", SAME, [f(6), f(6)], 21, num_groups=3),
    "ReduceMean": after_conv("ReduceMean", (1, 1, 8, 9), [np.array([1])]),
    "ReduceSum": after_conv("ReduceSum", (1, 6, 9), [np.array([2])], keepdims=0),
    "ReduceMax": after_conv("ReduceMax", (1, 6, 1, 1), [np.array([2, 3])]),
    "PRelu": after_conv("PRelu", SAME, [f(6, 1, 1)]),
    "Gelu": after_conv("Gelu", SAME),
    "Pow": after_conv("Pow", SAME, [np.float32(2)]),
    "Min": after_conv("Min", SAME, [np.float32(0.5)]),
    "Mul by a row": after_conv("Mul", SAME, [f(1, 1, 1, 9)]),
}


@pytest.mark.parametrize("name", CASES)
def test_operators_compute_in_int8_as_onnxruntime_does(name):
    _, result, report = quantized(CASES[name])
    assert not report.left_in_float and report.output_sqnr_db > 20
    program = models.program_of(ir.to_proto(result))
    assert {v.dtype for step in program.entry().steps for v in step.outputs} == {"int8"}
    proto = ir.to_proto(result)
    feeds = models.feeds_for(proto)
    ours, theirs = models.run_ours(program, feeds), models.run_ort(proto, feeds)
    scale = program.entry().outputs[0].view.quantization.scale
    assert np.abs(ours["y"] - theirs["y"]).max() <= 2.01 * scale  # of two operators


def test_groups_of_a_transposed_convolution_share_their_scales():
    _, result, report = quantized(CASES["ConvTranspose grouped"])
    row = next(w for w in report.weights if w.node == "op")
    assert row.channels == 4
    bias = next(n for n in result.graph if n.name == "op_bias/DequantizeLinear")
    assert bias.inputs[1].const_value.numpy().shape == (8,)


def test_products_of_computed_matrices_are_int8():
    nodes = [node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
             node("MatMul", ["x", "t"], ["y"], name="product")]
    _, result, report = quantized(model(nodes, {"x": (1, 5, 7)}, {"y": (1, 5, 5)}))
    assert report.int8_macs_fraction == 1.0
    program = models.program_of(ir.to_proto(result))
    assert [s.spec.op for s in program.entry().steps] == ["matmul"]
    assert program.entry().steps[0].spec.dtype == "int8"


LEFT = {
    "Log": (after_conv("Log", SAME), "Log has no int8 form"),
    "Pow": (after_conv("Pow", SAME, [np.float32(-1)]), "not one constant number above zero"),
    "Min": (after_conv("Min", SAME, [f(6, 1, 1)]), "takes two tensors"),
    "slope": (after_conv("PRelu", SAME, [np.full((6, 1, 1), np.inf, np.float32)]),
              "no finite number"),
    "LogSoftmax": (after_conv("LogSoftmax", SAME, axis=1), "LogSoftmax has no int8 form"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_int8_would_spoil_stays_in_float(name):
    from edgecc.quantize.assignment import assign

    proto, reason = LEFT[name]
    left = assign(load(proto)).left_in_float
    assert len(left) == 1 and reason in next(iter(left.values()))


def test_norms_of_more_values_than_int32_sums_hold_stay_in_float():
    from edgecc.quantize.assignment import assign

    shape = (1, 2, 200, 200)
    nodes = [node("Conv", ["x", "w"], ["c"]),
             node("InstanceNormalization", ["c", "s", "s"], ["y"], name="norm")]
    proto = model(nodes, {"x": shape}, {"y": shape}, {"w": f(2, 2, 1, 1), "s": f(2)})
    assert "40,000 values" in assign(load(proto)).left_in_float["norm"]


def group_norm(shape=IMAGE, groups=3, scale=(6, 1, 1)):
    """A convolution, then GroupNormalization as torch exports it."""
    constants = {"w": f(6, 6, 3, 3), "split": np.array([shape[0], groups, -1]),
                 "back": np.array(shape), "one": np.ones(groups, np.float32),
                 "zero": np.zeros(groups, np.float32), "g": f(*scale), "b": f(6, 1, 1)}
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1] * 4, name="conv"),
             node("Reshape", ["c", "split"], ["r"]),
             node("InstanceNormalization", ["r", "one", "zero"], ["i"]),
             node("Reshape", ["i", "back"], ["u"]), node("Mul", ["u", "g"], ["m"]),
             node("Add", ["m", "b"], ["y"])]
    return model(nodes, {"x": shape}, {"y": shape}, constants)


def test_group_norms_as_torch_exports_them_are_one_step():
    proto = group_norm()
    float_program = models.program_of(ir.to_proto(load(proto)))
    assert [s.spec.op for s in float_program.entry().steps] == ["conv2d", "normalize"]
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(float_program, feeds), models.run_ort(proto, feeds))
    _, result, report = quantized(proto)
    program = models.program_of(ir.to_proto(result))
    assert [s.spec.text()[:9] for s in program.entry().steps] == ["conv2d(dt", "normalize"]
    assert program.entry().steps[1].spec.groups == 3 and report.output_sqnr_db > 25
    assert program.entry().steps[1].spec.dtype == "int8" and not program.layout_conversions


def test_rows_along_other_axes_stay_behind_a_norm():
    proto = group_norm(scale=(9,))
    program = models.program_of(ir.to_proto(load(proto)))
    assert [s.spec.op for s in program.entry().steps] == ["conv2d", "normalize", "rowwise"]
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))
