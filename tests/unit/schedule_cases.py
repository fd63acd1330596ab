"""One-operator QDQ models, by name: what docs/numerics.md lists beside ONNX Runtime."""

import numpy as np
import schedule_models as models

SX, ZX, SY, ZY = 0.0517, 3, 0.0913, -20


def _weighted(build, shape, out_shape, scale=None, zero=ZY, **options):
    """A model with one weighted operator between QDQ; `build(q, x, w, b)` adds it."""
    q = models.Qdq(options.get("seed", 0))
    x = q.through("x", SX, ZX)
    w, s = q.weights(options["weights"], axis=options.get("axis", 0),
                     per_channel=options.get("per_channel", True), low=options.get("low", -127))
    b = q.bias(s, SX) if options.get("bias", True) else None
    y = q.through(build(q, x, w, b), scale or options.get("sy", 0.9), zero)
    return finish(q, y, {"x": shape}, out_shape)


def finish(q, y, inputs, out_shape, opset=17):
    last = q.nodes[-1]
    assert list(last.output) == [y]
    last.output[0] = "y"
    return q.build(inputs, {"y": out_shape}, opset)


def conv(shape, weights, out_shape, seed=0, per_channel=True, low=-127, bias=True, **attributes):
    def build(q, x, w, b):
        return q.add("Conv", [x, w] + ([b] if b else []), **attributes)

    return _weighted(build, shape, out_shape, weights=weights, seed=seed, low=low, bias=bias,
                     per_channel=per_channel)


def gemm(m, k, n, trans_b=1):
    def build(q, x, w, b):
        return q.add("Gemm", [x, w, b], transB=trans_b)

    shape = (n, k) if trans_b else (k, n)
    return _weighted(build, (m, k), (m, n), weights=shape, axis=0 if trans_b else 1, sy=2.0)


def matmul(shape, n):
    def build(q, x, w, b):
        return q.add("MatMul", [x, w])

    return _weighted(build, shape, (*shape[:-1], n), weights=(shape[-1], n), axis=1, sy=2.0,
                     bias=False)


def single(op, shape, out_shape, sy=SY, zy=ZY, opset=17, inputs=(), sx=SX, **attributes):
    q = models.Qdq()
    x = q.through("x", sx, ZX)
    extra = [q.constant(value) for value in inputs]
    y = q.through(q.add(op, [x, *extra], **attributes), sy, zy)
    return finish(q, y, {"x": shape}, out_shape, opset)


def pair(op, a_shape, b_shape, sy, out_shape=None):
    q = models.Qdq()
    a, b = q.through("a", SX, ZX), q.through("b", 0.0311, -7)
    y = q.through(q.add(op, [a, b]), sy, ZY)
    return finish(q, y, {"a": a_shape, "b": b_shape}, out_shape or a_shape)


def concat(axis, shapes, out_shape):
    q = models.Qdq()
    parts = [q.through("a", SX, ZX), q.through("b", 0.0311, -7), q.through("c", SY, ZY)]
    y = q.through(q.add("Concat", parts, axis=axis), SY, ZY)
    return finish(q, y, dict(zip("abc", shapes, strict=True)), out_shape)


IMAGE = (1, 8, 9, 11)
TWICE = np.float32([1, 1, 2, 2])

# name: (model, largest difference in units of the last place)
CASES = {
    "Conv 3x3": (lambda: conv(IMAGE, (6, 8, 3, 3), (1, 6, 9, 11), pads=[1, 1, 1, 1]), 0),
    "Conv strided, dilated, grouped": (lambda: conv(
        (1, 8, 13, 12), (4, 4, 3, 2), (1, 4, 5, 12), group=2, strides=[2, 1], dilations=[2, 1],
        pads=[0, 1, 1, 0]), 0),
    "Conv depthwise": (lambda: conv(IMAGE, (8, 1, 3, 3), (1, 8, 5, 6), group=8, strides=[2, 2],
                                    pads=[1, 1, 1, 1]), 0),
    "Conv 1-D": (lambda: conv((1, 5, 20), (7, 5, 3), (1, 7, 18)), 0),
    "Conv per tensor, no bias": (lambda: conv(IMAGE, (6, 8, 1, 1), (1, 6, 9, 11), bias=False,
                                              per_channel=False), 0),
    "Gemm": (lambda: gemm(3, 37, 10), 0),
    "Gemm transB=0": (lambda: gemm(1, 37, 10, 0), 0),
    "MatMul": (lambda: matmul((1, 4, 33), 9), 0),
    "MaxPool": (lambda: single("MaxPool", IMAGE, (1, 8, 5, 6), SX, ZX, kernel_shape=[3, 3],
                               strides=[2, 2], pads=[1, 1, 1, 1]), 0),
    "AveragePool": (lambda: single("AveragePool", IMAGE, (1, 8, 8, 9), kernel_shape=[2, 3]), 1),
    "AveragePool 2x2, equal scales, zero point 3": (lambda: single(
        "AveragePool", IMAGE, (1, 8, 4, 5), SX, ZX, kernel_shape=[2, 2], strides=[2, 2]), 1),
    "AveragePool 2x2, equal scales, zero point -20": (lambda: single(
        "AveragePool", IMAGE, (1, 8, 4, 5), SX, ZY, kernel_shape=[2, 2], strides=[2, 2]), 1),
    "AveragePool padded": (lambda: single("AveragePool", IMAGE, (1, 8, 9, 11),
                                          kernel_shape=[3, 3], pads=[1, 1, 1, 1]), 1),
    "GlobalAveragePool": (lambda: single("GlobalAveragePool", IMAGE, (1, 8, 1, 1), 0.01, 5), 0),
    "ReduceMean": (lambda: single("ReduceMean", IMAGE, (1, 8), 0.01, 5, axes=[2, 3],
                                  keepdims=0), 1),
    "Add": (lambda: pair("Add", IMAGE, IMAGE, 0.0637), 1),
    "Add, ratio 1/2 (ties)": (lambda: pair("Add", IMAGE, IMAGE, 0.0622), 1),
    "Sub": (lambda: pair("Sub", IMAGE, IMAGE, 0.0637), 1),
    "Mul": (lambda: pair("Mul", IMAGE, IMAGE, 0.1013), 1),
    "Add of one row": (lambda: pair("Add", IMAGE, (1, 8, 1, 1), 0.0637), 1),
    "Mul by channel": (lambda: pair("Mul", IMAGE, (1, 8, 1, 1), 0.1013), 1),
    "Softmax, output scale 1/256": (lambda: single("Softmax", (6, 12), (6, 12), 1 / 256, -128,
                                                   axis=-1), 1),
    "Softmax, output scale 1/255": (lambda: single("Softmax", (6, 12), (6, 12), 1 / 255, -128,
                                                   axis=-1), 1),
    "Softmax of channels": (lambda: single("Softmax", IMAGE, IMAGE, 1 / 256, -128, axis=1), 1),
    "Relu": (lambda: single("Relu", IMAGE, IMAGE), 0),
    "Clip": (lambda: single("Clip", IMAGE, IMAGE, inputs=(np.float32(-1), np.float32(2))), 0),
    "LeakyRelu": (lambda: single("LeakyRelu", IMAGE, IMAGE, alpha=0.1), 1),
    "Sigmoid": (lambda: single("Sigmoid", IMAGE, IMAGE, 1 / 256, -128), 1),
    "Tanh": (lambda: single("Tanh", IMAGE, IMAGE, 1 / 128, 0), 1),
    "HardSigmoid": (lambda: single("HardSigmoid", IMAGE, IMAGE, 1 / 256, -128), 1),
    "HardSwish": (lambda: single("HardSwish", IMAGE, IMAGE, 0.02, -100), 1),
    "Exp": (lambda: single("Exp", IMAGE, IMAGE, 0.5, -128), 1),
    "Abs": (lambda: single("Abs", IMAGE, IMAGE), 0),
    "Neg": (lambda: single("Neg", IMAGE, IMAGE), 0),
    "Add of a number": (lambda: single("Add", IMAGE, IMAGE, inputs=(np.float32(0.7),)), 1),
    "Mul by a number": (lambda: single("Mul", IMAGE, IMAGE, inputs=(np.float32(0.7),)), 1),
    "Div by a number": (lambda: single("Div", IMAGE, IMAGE, inputs=(np.float32(0.7),)), 1),
    "Div of two": (lambda: pair("Div", IMAGE, IMAGE, 0.1013), 1),
    "Add of a row of constants": (lambda: single("Add", IMAGE, IMAGE, inputs=(
        np.linspace(-1, 1, 8, dtype=np.float32).reshape(8, 1, 1),)), 1),
    "Concat": (lambda: concat(1, [(1, 3, 4, 4), (1, 2, 4, 4), (1, 5, 4, 4)], (1, 10, 4, 4)), 1),
    "Concat of rows": (lambda: concat(2, [(1, 3, 2, 4), (1, 3, 4, 4), (1, 3, 1, 4)],
                                      (1, 3, 7, 4)), 1),
    "Requantize": (lambda: single("Identity", IMAGE, IMAGE), 1),
    "Transpose": (lambda: single("Transpose", IMAGE, (1, 9, 11, 8), SX, ZX,
                                 perm=[0, 2, 3, 1]), 0),
    "Reshape": (lambda: single("Reshape", IMAGE, (8, 99), SX, ZX,
                               inputs=(np.array([8, -1]),)), 0),
    "Pad": (lambda: single("Pad", IMAGE, (1, 8, 10, 14), SX, ZX, inputs=(
        np.array([0, 0, 0, 1, 0, 0, 1, 2]), np.float32(0))), 0),
    "Pad with a number": (lambda: single("Pad", IMAGE, (1, 8, 10, 14), inputs=(
        np.array([0, 0, 0, 1, 0, 0, 1, 2]), np.float32(0.77))), 1),
    "Pad reflected": (lambda: single("Pad", IMAGE, (1, 8, 10, 14), SX, ZX, mode="reflect", inputs=(
        np.array([0, 0, 0, 1, 0, 0, 1, 2]),)), 0),
    "Slice": (lambda: single("Slice", IMAGE, (1, 8, 4, 11), SX, ZX, inputs=(
        np.array([1, -1]), np.array([9, -100]), np.array([2, 3]), np.array([2, -1]))), 0),
    "Gather": (lambda: single("Gather", IMAGE, (1, 3, 9, 11), SX, ZX, axis=1, inputs=(
        np.array([7, 0, 3]),)), 0),
    "Tile": (lambda: single("Tile", IMAGE, (1, 16, 9, 11), SX, ZX, inputs=(
        np.array([1, 2, 1, 1]),)), 0),
    "DepthToSpace": (lambda: single("DepthToSpace", IMAGE, (1, 2, 18, 22), SX, ZX,
                                    blocksize=2), 0),
    "Concat with a constant": (lambda: single("Concat", IMAGE, (1, 9, 9, 11), axis=1, inputs=(
        np.full((1, 1, 9, 11), 0.77, np.float32),)), 1),
    "Resize nearest": (lambda: single("Resize", IMAGE, (1, 8, 18, 22), SX, ZX, mode="nearest",
                                      inputs=(np.zeros(0, np.float32), TWICE)), 0),
    "Resize linear": (lambda: single("Resize", IMAGE, (1, 8, 18, 22), SX, ZX, mode="linear",
                                     inputs=(np.zeros(0, np.float32), TWICE)), 1),
    "Resize linear, other scale": (lambda: single(
        "Resize", IMAGE, (1, 8, 15, 31), mode="linear",
        inputs=(np.zeros(0, np.float32), np.float32([1, 1, 1.7, 2.9]))), 1),
    "Resize cubic": (lambda: single("Resize", IMAGE, (1, 8, 18, 22), mode="cubic",
                                    inputs=(np.zeros(0, np.float32), TWICE)), 1),
}


def differences(name, program, proto, runs=12):
    """Differences between our integers and ONNX Runtime's, over random inputs."""
    scale = program.entry().outputs[0].view.quantization.scale
    found = []
    for seed in range(runs):
        feeds = models.feeds_for(proto, seed, scale=3.0)
        if "Div" in name and "b" in feeds:  # 0 / 0 has no integer
            feeds["b"] = np.abs(feeds["b"]) + 1
        ours, theirs = models.run_ours(program, feeds), models.run_ort(proto, feeds)
        found.append(np.rint((ours["y"] - theirs["y"]) / np.float32(scale)).reshape(-1))
    return np.concatenate(found)
