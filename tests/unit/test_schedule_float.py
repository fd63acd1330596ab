"""Float32 models against ONNX Runtime: one operator each, then fusions."""

import numpy as np
import pytest
import schedule_models as models
from schedule_models import model, node

R = np.random.default_rng(5)
IMAGE = (1, 6, 9, 10)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def f(*shape):
    return R.standard_normal(shape).astype(np.float32)


def one(op, shape, out, constants=(), opset=17, **attributes):
    names = {f"c{i}": np.asarray(c) for i, c in enumerate(constants)}
    return model([node(op, ["x", *names], ["y"], name="n", **attributes)], {"x": shape},
                 {"y": out}, names, opset)


ints = np.array
CASES = {
    "conv": one("Conv", IMAGE, (1, 4, 9, 10), [f(4, 6, 3, 3), f(4)], pads=[1] * 4),
    "conv same upper": one("Conv", IMAGE, (1, 4, 5, 4), [f(4, 3, 2, 3)], group=2,
                           strides=[2, 3], auto_pad="SAME_UPPER"),
    "conv same lower": one("Conv", IMAGE, (1, 4, 5, 5), [f(4, 6, 4, 2)], strides=[2, 2],
                           auto_pad="SAME_LOWER"),
    "conv valid": one("Conv", IMAGE, (1, 6, 5, 8), [f(6, 1, 3, 3)], group=6, dilations=[2, 1],
                      auto_pad="VALID"),
    "conv 1-D": one("Conv", (2, 5, 20), (2, 4, 9), [f(4, 5, 3), f(4)], strides=[2]),
    "gemm": one("Gemm", (3, 7), (3, 5), [f(7, 5), f(5)], alpha=0.5, beta=2.0),
    "gemm transposed": one("Gemm", (7, 3), (3, 5), [f(5, 7), f(1, 5)], transA=1, transB=1),
    "gemm scalar bias": one("Gemm", (3, 7), (3, 5), [f(7, 5), np.float32([0.5])]),
    "matmul": one("MatMul", (2, 3, 7), (2, 3, 4), [f(7, 4)]),
    "maxpool": one("MaxPool", IMAGE, (1, 6, 5, 6), kernel_shape=[2, 3], strides=[2, 2],
                   pads=[1, 1, 1, 1], ceil_mode=0),
    "maxpool ceil": one("MaxPool", IMAGE, (1, 6, 4, 5), kernel_shape=[3, 2], strides=[2, 2],
                        ceil_mode=1),
    "averagepool": one("AveragePool", IMAGE, (1, 6, 9, 10), kernel_shape=[3, 3], pads=[1] * 4),
    "averagepool counting": one("AveragePool", IMAGE, (1, 6, 5, 5), kernel_shape=[3, 3],
                                pads=[1] * 4, strides=[2, 2], count_include_pad=1),
    "averagepool 1-D": one("AveragePool", (1, 3, 12), (1, 3, 5), kernel_shape=[4], strides=[2]),
    "global average": one("GlobalAveragePool", IMAGE, (1, 6, 1, 1)),
    "global max": one("GlobalMaxPool", IMAGE, (1, 6, 1, 1)),
    "mean of images": one("ReduceMean", IMAGE, (1, 6, 1, 1), axes=[2, -1]),
    "mean of rows": one("ReduceMean", IMAGE, (1, 6, 9), axes=[3], keepdims=0),
    "mean of channels": one("ReduceMean", IMAGE, (1, 1, 9, 10), axes=[1]),
    "mean of all": one("ReduceMean", (2, 3, 4), (1, 1, 1)),
    "mean, axes as input": one("ReduceMean", IMAGE, (1, 6), [ints([2, 3])], 18, keepdims=0),
    "softmax": one("Softmax", (4, 9), (4, 9)),
    "softmax of channels": one("Softmax", IMAGE, IMAGE, axis=1),
    "softmax, old": one("Softmax", (2, 3, 4), (2, 3, 4), opset=11, axis=1),
    "relu": one("Relu", IMAGE, IMAGE),
    "clip": one("Clip", IMAGE, IMAGE, [np.float32(-0.3), np.float32(0.6)]),
    "clip, old": one("Clip", IMAGE, IMAGE, opset=6, min=-0.3, max=0.6),
    "leaky": one("LeakyRelu", IMAGE, IMAGE, alpha=0.3),
    "sigmoid": one("Sigmoid", IMAGE, IMAGE),
    "tanh": one("Tanh", IMAGE, IMAGE),
    "hard sigmoid": one("HardSigmoid", IMAGE, IMAGE, alpha=0.3),
    "hard swish": one("HardSwish", IMAGE, IMAGE),
    "exp": one("Exp", IMAGE, IMAGE),
    "neg": one("Neg", IMAGE, IMAGE),
    "abs": one("Abs", IMAGE, IMAGE),
    "add number": one("Add", IMAGE, IMAGE, [np.float32(2)]),
    "sub row": one("Sub", IMAGE, IMAGE, [f(6, 1, 1)]),
    "mul columns": one("Mul", IMAGE, IMAGE, [f(10)]),
    "div all": one("Div", (3, 4), (3, 4), [f(3, 4)]),
    "batch norm": one("BatchNormalization", IMAGE, IMAGE, [f(6), f(6), f(6), f(6) ** 2 + 1]),
    "pad": one("Pad", IMAGE, (1, 6, 10, 13), [ints([0, 0, 1, 1, 0, 0, 0, 2])]),
    "transpose": one("Transpose", IMAGE, (10, 6, 1, 9), perm=[3, 1, 0, 2]),
    "reshape": one("Reshape", IMAGE, (6, 90), [ints([6, -1])]),
    "reshape with zero": one("Reshape", IMAGE, (1, 6, 90), [ints([0, 0, -1])]),
    "flatten": one("Flatten", IMAGE, (6, 90), axis=2),
    "squeeze": one("Squeeze", (1, 4, 1), (4,)),
    "squeeze axes": one("Squeeze", (1, 4, 1), (1, 4), [ints([-1])]),
    "unsqueeze": one("Unsqueeze", (4, 5), (1, 4, 1, 5), [ints([0, 2])]),
    "identity": one("Identity", IMAGE, IMAGE),
}


@pytest.mark.parametrize("name", CASES)
def test_one_operator(name):
    proto = CASES[name]
    feeds = models.feeds_for(proto)
    for fusion in (True, False):
        program = models.program_of(proto, fusion=fusion)
        models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_square_root():
    proto = one("Sqrt", (5,), (5,))
    feeds = {"x": np.abs(f(5))}
    models.assert_close(models.run_ours(models.program_of(proto), feeds),
                        models.run_ort(proto, feeds))


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("other", [IMAGE, (1, 6, 1, 1), (10,), (1,), (1, 6, 9, 1)])
def test_two_tensors(op, other):
    proto = model([node(op, ["x", "b"], ["y"])], {"x": IMAGE, "b": other}, {"y": IMAGE})
    feeds = models.feeds_for(proto)
    feeds["b"] = np.abs(feeds["b"]) + 0.5
    if other == (1, 6, 9, 1):
        program = models.program_of(proto)
        assert [s.spec.op for s in program.entry().steps] == ["broadcast"]
    models.assert_close(models.run_ours(models.program_of(proto), feeds),
                        models.run_ort(proto, feeds))


def test_a_smaller_left_operand_changes_places():
    proto = model([node("Mul", ["s", "x"], ["y"])], {"s": (1, 6, 1, 1), "x": IMAGE}, {"y": IMAGE})
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(models.program_of(proto), feeds),
                        models.run_ort(proto, feeds))


def test_constant_minus_tensor():
    proto = model([node("Sub", ["c", "x"], ["y"])], {"x": IMAGE}, {"y": IMAGE}, {"c": f(9, 1)})
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(models.program_of(proto), feeds),
                        models.run_ort(proto, feeds))


def kinds(program):
    return [s.spec.op if hasattr(s, "spec") else "copy" for s in program.entry().steps]


def block(**changes):
    """conv, relu, conv, add with the block's input, relu, flatten, gemm, clip."""
    nodes = [node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4),
             node("Relu", ["c1"], ["r1"]),
             node("Conv", ["r1", "w2", "b1"], ["c2"], pads=[1] * 4),
             node("Add", ["c2", "x"], ["a"]), node("Relu", ["a"], ["r2"]),
             node("Flatten", ["r2"], ["f"]),
             node("Gemm", ["f", "w3"], ["g"], transB=1),
             node("Clip", ["g", "lo", "hi"], ["y"])]
    constants = {"w1": f(6, 6, 3, 3), "b1": f(6), "w2": f(6, 6, 3, 3), "w3": f(7, 540),
                 "lo": np.float32(-5), "hi": np.float32(9)}
    return model(nodes, {"x": IMAGE}, {"y": (1, 7)}, constants)


def test_a_residual_block_is_three_steps_without_conversions():
    proto = block()
    feeds = models.feeds_for(proto)
    fused, plain = models.program_of(proto), models.program_of(proto, fusion=False)
    assert kinds(fused) == ["conv2d", "conv2d", "fully_connected"]
    assert fused.layout_conversions == plain.layout_conversions == 0
    first, second, third = fused.entry().steps
    assert (first.spec.clamp, first.spec.residual) == (True, False)
    assert (second.spec.clamp, second.spec.residual) == (True, True)
    assert [(i.input, i.output, i.distance_bytes) for i in second.in_place] == [(1, 0, 0)]
    assert len({v.buffer for v in second.inputs}) == 2
    assert third.spec.clamp and third.constants["hi"] == 9
    assert len(second.nodes) == 3 and len(plain.entry().steps) == 7
    for program in (fused, plain):
        models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_a_clamped_float_convolution_takes_no_residual():
    nodes = [node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["r"]),
             node("Add", ["r", "x"], ["y"])]
    proto = model(nodes, {"x": IMAGE}, {"y": IMAGE}, {"w": f(6, 6, 1, 1)})
    program = models.program_of(proto)
    assert kinds(program) == ["conv2d", "binary"]
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_a_convolution_with_two_readers_is_not_fused():
    nodes = [node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["r"]),
             node("Add", ["c", "r"], ["y"])]
    proto = model(nodes, {"x": IMAGE}, {"y": IMAGE}, {"w": f(6, 6, 1, 1)})
    assert kinds(models.program_of(proto)) == ["conv2d", "unary", "binary"]


def test_an_intermediate_output_stays_visible():
    nodes = [node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["y"])]
    proto = model(nodes, {"x": IMAGE}, {"y": IMAGE, "c": IMAGE}, {"w": f(6, 6, 1, 1)})
    program = models.program_of(proto)
    assert kinds(program) == ["conv2d", "unary"]
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_zero_padding_folds_into_the_convolution():
    nodes = [node("Pad", ["x", "p"], ["q"]), node("Conv", ["q", "w"], ["y"], pads=[1, 0, 0, 0])]
    proto = model(nodes, {"x": IMAGE}, {"y": (1, 4, 11, 11)},
                  {"w": f(4, 6, 2, 2), "p": ints([0, 0, 1, 0, 0, 0, 1, 2])})
    program = models.program_of(proto)
    assert kinds(program) == ["conv2d"]
    assert program.entry().steps[0].spec.pads == (2, 0, 1, 2)
    assert kinds(models.program_of(proto, fusion=False)) == ["take", "conv2d"]
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_nhwc_models_need_no_conversion():
    nodes = [node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), node("Conv", ["t", "w"], ["c"]),
             node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1])]
    proto = model(nodes, {"x": (1, 9, 10, 6)}, {"y": (1, 9, 10, 4)}, {"w": f(4, 6, 1, 1)})
    program = models.program_of(proto)
    assert kinds(program) == ["conv2d"] and program.layout_conversions == 0
    assert program.entry().inputs[0].permutation is None
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_unavoidable_conversions_are_steps_and_counted():
    nodes = [node("Conv", ["x", "w"], ["c"]), node("Reshape", ["c", "s"], ["r"]),
             node("MatMul", ["r", "m"], ["y"])]
    proto = model(nodes, {"x": IMAGE}, {"y": (4, 9, 5)},
                  {"w": f(4, 6, 1, 1), "s": ints([4, 9, 10]), "m": f(10, 5)})
    program = models.program_of(proto)
    assert program.layout_conversions == kinds(program).count("transpose") == 1
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))


def test_layouts_that_do_not_align_go_through_row_major():
    nodes = [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Reshape", ["t", "s"], ["r"]),
             node("Transpose", ["r"], ["u"], perm=[1, 0]), node("Softmax", ["u"], ["y"], axis=0)]
    proto = model(nodes, {"x": (4, 6)}, {"y": (8, 3)}, {"s": ints([3, 8])})
    program = models.program_of(proto)
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))
