"""QDQ models of every make: integers, fusion and borders."""

import numpy as np
import pytest
import schedule_cases as cases
import schedule_models as models
from schedule_models import Qdq

from edgecc.schedule.program import Copy

IMAGE = (1, 6, 7, 8)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def kinds(program):
    return ["copy" if isinstance(s, Copy) else s.spec.op for s in program.entry().steps]


def same_as_ort(proto, limit=0, seeds=6, **config):
    """The program, after its bytes were compared with ONNX Runtime's and with plain steps."""
    program = models.program_of(proto, **config)
    plain = models.program_of(proto, fusion=False, **config)
    for seed in range(seeds):
        feeds = models.feeds_for(proto, seed, 3.0)
        ours, theirs = models.run_ours(program, feeds), models.run_ort(proto, feeds)
        unfused = models.run_ours(plain, feeds)
        for port in program.entry().outputs:
            scale = port.view.quantization.scale if port.view.quantization else 1e-6
            found = np.rint((ours[port.name] - theirs[port.name]) / np.float32(scale))
            assert np.abs(found).max() <= limit
            assert (ours[port.name] == unfused[port.name]).all()
    return program


def conv(q, x, shape, per_channel=True, bias=True, scale=0.05, **options):
    attributes = options.pop("attributes", {})
    w, s = q.weights(shape, per_channel=per_channel, **options)
    extra = [q.bias(np.broadcast_to(s, shape[0]), scale)] if bias else []
    return q.add("Conv", [x, w, *extra], **attributes)


def residual_block(conv_zero=-3, relu=True, out=(0.11, -120), swap=False, inner_relu=False):
    q = Qdq()
    x = q.through("x", 0.05, 3)
    c = conv(q, x, (6, 6, 3, 3), attributes={"pads": [1] * 4})
    if inner_relu:
        c = q.add("Relu", [c])
    c = q.through(c, 0.4, conv_zero)
    a = q.add("Add", [x, c] if swap else [c, x])
    y = q.through(q.add("Relu", [a]) if relu else a, *out)
    return cases.finish(q, y, {"x": IMAGE}, IMAGE)


@pytest.mark.parametrize("options", [{}, {"relu": False}, {"swap": True}, {"inner_relu": True},
                                     {"out": (0.11, 7)}])
def test_residual_addition_fuses_and_keeps_every_byte(options):
    program = same_as_ort(residual_block(**options), limit=1)
    assert kinds(program) == ["conv2d"]
    (step,) = program.entry().steps
    assert step.spec.residual and not step.in_place  # the residual is also what it convolves
    assert step.inputs[1].shape == step.outputs[0].shape
    if options.get("inner_relu"):
        assert step.constants["inner_lo"] == step.constants["inner_zero_point"] == -3
    if options.get("out") == (0.11, 7):
        assert step.spec.clamp and step.constants["lo"] == 7


def test_a_relu_whose_zero_point_is_the_lowest_needs_no_clamp():
    program = same_as_ort(residual_block(out=(0.11, -128)), limit=1)
    assert not program.entry().steps[0].spec.clamp


def test_two_convolutions_added_use_the_later_one():
    q = Qdq()
    x = q.through("x", 0.05, 3)
    first = q.through(conv(q, x, (4, 6, 1, 1)), 0.3, 1)
    second = q.through(conv(q, x, (4, 6, 3, 3), attributes={"pads": [1] * 4}), 0.4, 5)
    y = q.through(q.add("Add", [first, second]), 0.5, -4)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 4, 7, 8)), limit=1)
    assert kinds(program) == ["conv2d", "conv2d"]
    assert [s.spec.kh for s in program.entry().steps] == [1, 3]
    assert program.entry().steps[1].spec.residual
    assert [(i.input, i.output) for i in program.entry().steps[1].in_place] == [(1, 0)]


def test_a_gemm_takes_a_residual_too():
    q = Qdq()
    x = q.through("x", 0.05, 3)
    w, s = q.weights((20, 20))
    g = q.through(q.add("Gemm", [x, w, q.bias(s)], transB=1), 0.4, 9)
    y = q.through(q.add("Add", [g, x]), 0.5, -4)
    program = same_as_ort(cases.finish(q, y, {"x": (2, 20)}, (2, 20)), limit=1)
    assert kinds(program) == ["fully_connected"] and program.entry().steps[0].spec.residual


@pytest.mark.parametrize("bounds", [(-0.5, 2.0), (0.0, 1e9), (None, 1.0)])
@pytest.mark.parametrize("between", [False, True])
def test_activations_become_clamps_with_and_without_qdq_before_them(bounds, between):
    q = Qdq()
    c = conv(q, q.through("x", 0.05, 3), (4, 6, 1, 1))
    if between:
        c = q.through(c, 0.3, 11)
    lo, hi = (q.constant(np.float32(b)) if b is not None else "" for b in bounds)
    y = q.through(q.add("Clip", [c, lo, hi]), 0.3, 11)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 4, 7, 8)))
    assert kinds(program) == ["conv2d"] and program.entry().steps[0].spec.clamp


def test_an_activation_that_changes_scale_is_a_table():
    q = Qdq()
    c = q.through(conv(q, q.through("x", 0.05, 3), (4, 6, 1, 1)), 0.3, 11)
    y = q.through(q.add("Relu", [c]), 0.2, -128)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 4, 7, 8)))
    assert kinds(program) == ["conv2d", "table"]
    assert [(i.input, i.output) for i in program.entry().steps[1].in_place] == [(0, 0)]


def test_tables_in_a_row_are_composed():
    q = Qdq()
    t = q.through(q.add("Sigmoid", [q.through("x", 0.05, 3)]), 1 / 256, -128)
    y = q.through(q.add("HardSwish", [t]), 0.003, -9)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, IMAGE), limit=1)
    assert kinds(program) == ["table"] and len(program.entry().steps[0].nodes) == 2


@pytest.mark.parametrize("options", [
    {"per_channel": False}, {"low": -128}, {"bias": False},
    {"dtype": np.uint8, "zero": 128}])
def test_weights_of_other_makers(options):
    q = Qdq()
    y = q.through(conv(q, q.through("x", 0.05, 3), (4, 6, 3, 3), **options), 2.0, 4)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 4, 5, 6)),
                          limit=1 if "dtype" in options else 0)
    assert kinds(program) == ["conv2d"]
    weights = program.entry().steps[0].constants["weights"]
    assert program.entry().steps[0].spec.wide_weights == (weights.min() == -128)
    assert (weights.min() == -128) == ("low" in options or "dtype" in options)


def test_unsigned_activations_become_int8():
    q = Qdq()
    c = conv(q, q.through("x", 0.05, 131, np.uint8), (4, 6, 3, 3), low=-30)
    y = q.through(q.add("Relu", [c]), 0.4, 0, np.uint8)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 4, 5, 6)))
    entry = program.entry()
    assert kinds(program) == ["conv2d"]
    assert entry.inputs[0].view.quantization.zero_point == 3
    assert entry.outputs[0].view.quantization.zero_point == -128


def test_a_bias_of_another_scale_is_rounded_to_ours():
    q = Qdq()
    w, s = q.weights((4, 6, 1, 1))
    real = np.float32([1, -2, 3, 0.5])
    c = q.add("Conv", [q.through("x", 0.05, 3), w, q.constant(real)])
    proto = cases.finish(q, q.through(c, 0.3, 1), {"x": IMAGE}, (1, 4, 7, 8))
    step = models.program_of(proto).entry().steps[0]
    product = np.float32(0.05) * s
    assert (step.constants["bias"] == np.rint(real / product.astype(np.float64))).all()
    assert (step.constants["scale"] == product / np.float32(0.3)).all()


def test_weights_quantized_in_the_model_are_folded():
    q = Qdq()
    w = q.constant(np.random.default_rng(0).standard_normal((4, 6, 1, 1)).astype(np.float32))
    y = q.through(q.add("Conv", [q.through("x", 0.05, 3), q.through(w, 0.03, 0)]), 0.3, 1)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 4, 7, 8)))
    assert kinds(program) == ["conv2d"]


def test_flatten_after_an_image_permutes_the_weights():
    q = Qdq()
    x = q.through("x", 0.05, 3)
    c = q.through(q.add("Relu", [conv(q, x, (4, 6, 3, 3))]), 0.4, -128)
    w, s = q.weights((5, 4 * 5 * 6))
    flat = q.add("Flatten", [c])
    y = q.through(q.add("Gemm", [flat, w, q.bias(s, 0.4)], transB=1), 8.0, 2)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 5)))
    assert kinds(program) == ["conv2d", "fully_connected"]
    assert program.layout_conversions == 0
    conv_step, dense = program.entry().steps
    assert dense.inputs[0].buffer == conv_step.outputs[0].buffer


def test_views_between_operator_and_quantize_do_not_stop_folding():
    q = Qdq()
    w, s = q.weights((5, 8))
    g = q.add("Gemm", [q.through("x", 0.05, 3), w, q.bias(s)], transB=1)
    shaped = q.add("Reshape", [g, q.constant(np.array([2, 5, 1]))])
    moved = q.add("Transpose", [shaped], perm=[1, 0, 2])
    y = q.through(moved, 0.4, 3)
    program = same_as_ort(cases.finish(q, y, {"x": (2, 8)}, (5, 2, 1)))
    assert kinds(program) == ["fully_connected"]


def test_maxima_and_pads_move_integers_and_rescale_after():
    q = Qdq()
    p = q.add("Pad", [q.through("x", 0.05, 3), q.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1]))])
    m = q.add("MaxPool", [p], kernel_shape=[2, 2], strides=[2, 2])
    y = q.through(m, 0.07, -5)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 6, 4, 5)))
    assert kinds(program) == ["take", "pool2d", "table"]
    assert program.entry().steps[0].outputs[0].quantization.zero_point == 3


def test_float_islands_are_bordered_by_quantize_and_dequantize():
    q = Qdq()
    x = q.through("x", 0.05, 3)
    c = q.through(conv(q, x, (6, 6, 1, 1)), 0.3, 1)
    soft = q.add("LogSoftmax", [c], axis=1)
    y = q.through(soft, 0.2, 30)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, IMAGE), limit=1)
    assert kinds(program) == ["conv2d", "dequantize", "softmax", "quantize"]


def test_what_is_computed_from_one_tensor_without_rounding_between_is_one_table():
    q = Qdq()
    x = q.through("x", 0.05, 3)
    c = q.through(conv(q, x, (6, 6, 1, 1)), 0.3, 1)
    square = q.add("Mul", [q.add("Sigmoid", [c]), c])  # no QDQ between
    y = q.through(square, 0.2, -3)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, IMAGE), limit=1)
    assert kinds(program) == ["conv2d", "table"]


def test_float_weights_keep_an_operator_in_float():
    q = Qdq()
    w = q.constant(np.random.default_rng(0).standard_normal((4, 6, 1, 1)).astype(np.float32))
    y = q.through(q.add("Conv", [q.through("x", 0.05, 3), w]), 0.3, 1)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, (1, 4, 7, 8)), limit=1)
    assert kinds(program) == ["dequantize", "conv2d", "quantize"]


def test_borders_by_configuration():
    proto = residual_block()
    assert kinds(models.program_of(proto, io="float32")) == ["quantize", "conv2d", "dequantize"]
    for io in ("auto", "int8"):
        entry = models.program_of(proto, io=io).entry()
        (port,) = entry.inputs
        assert (port.view.dtype, port.view.layout, port.view.shape) == (
            "int8", "NHWC", (1, 7, 8, 6))
        assert (port.model_shape, port.model_dtype, port.permutation) == (
            IMAGE, "float32", (0, 2, 3, 1))
        assert port.view.quantization.scale == np.float32(0.05)


def test_an_input_read_as_float_too_stays_float():
    q = Qdq()
    c = q.through(conv(q, q.through("x", 0.05, 3), (6, 6, 1, 1)), 0.3, 1)
    y = q.add("Add", [c, "x"])
    q.nodes[-1].output[0] = "y"
    assert y
    proto = q.build({"x": IMAGE}, {"y": IMAGE})
    program = models.program_of(proto)
    assert kinds(program) == ["quantize", "conv2d", "dequantize", "binary"]
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_an_input_quantized_twice_alike_is_one_port():
    q = Qdq()
    a, b = q.through("x", 0.05, 3), q.through("x", 0.05, 3)
    y = q.through(q.add("Mul", [a, b]), 0.2, -3)
    program = same_as_ort(cases.finish(q, y, {"x": IMAGE}, IMAGE), limit=1)
    assert kinds(program) == ["table"] and len(program.entry().inputs) == 1


def test_outputs_share_no_buffer():
    q = Qdq()
    m = q.through(q.add("Relu", [q.through("x", 0.05, 3)]), 0.05, 3)
    for name in ("y", "z"):
        q.nodes.append(models.node("Identity", [m], [name], name=name))
    q.nodes.append(models.node("Identity", [q.through("x", 0.05, 3)], ["same"], name="same"))
    proto = q.build({"x": IMAGE}, {"y": IMAGE, "z": IMAGE, "same": IMAGE})
    program = same_as_ort(proto)
    buffers = [p.view.buffer for p in program.entry().outputs]
    assert len(set(buffers)) == 3 and kinds(program) == ["table", "copy", "copy"]


def test_integer_ports_of_the_model_itself():
    q = Qdq()
    c = conv(q, q.dequantize("x", 0.05, 3), (4, 6, 1, 1))
    q.quantize(c, 0.3, 1)
    q.nodes[-1].output[0] = "y"
    proto = q.build({"x": IMAGE}, {"y": (1, 4, 7, 8)})
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.elem_type = models.TensorProto.INT8
    program = models.program_of(proto)
    (port,) = program.entry().inputs
    assert (port.model_dtype, port.view.quantization.zero_point) == ("int8", 3)
    x = np.random.default_rng(0).integers(-128, 128, IMAGE, np.int8)
    ours = models.run_ours(program, {"x": x}, real=False)["y"]
    assert (ours == models.run_ort(proto, {"x": x})["y"]).all()
