"""One arithmetic operator between QDQ, by name: what docs/numerics.md lists of them."""

import numpy as np
import schedule_models as models
from schedule_cases import IMAGE, SX, ZX, ZY, finish, pair, single

RANDOM = np.random.default_rng(11)
BATCH = (2, 6, 5, 7)
ROWS = (3, 5, 12)


def f(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def transposed(shape, weights, out, per_channel=True, bias=True, **attributes):
    """ConvTranspose with weights quantized along the output channels (axis 1)."""
    q = models.Qdq(5)
    x = q.through("x", SX, ZX)
    w, scale = q.weights(weights, axis=1, per_channel=per_channel)
    groups = attributes.get("group", 1)
    inputs = [x, w]
    if bias:
        scale = np.tile(scale, groups) if scale.ndim else np.full(weights[1], scale)
        inputs.append(q.bias(np.asarray(scale, np.float32), SX))
    y = q.through(q.add("ConvTranspose", inputs, **attributes), 0.9, ZY)
    return finish(q, y, {"x": shape}, out)


def matmul(a, b, sy=0.35):
    return pair("MatMul", a, b, sy, np.matmul(np.zeros(a), np.zeros(b)).shape)


def quantized_constant(op, shape, sy):
    """Arithmetic with a row of int8 constants."""
    q = models.Qdq(3)
    x = q.through("x", SX, ZX)
    values = RANDOM.integers(-128, 128, shape).astype(np.int8)
    c = q.dequantize(q.constant(values), 0.0311, -7)
    y = q.through(q.add(op, [x, c]), sy, ZY)
    return finish(q, y, {"x": IMAGE}, IMAGE)


def gate():
    """What squeeze-excite blocks end with, for two images."""
    q = models.Qdq()
    x, s = q.through("x", SX, ZX), q.through("s", SX, ZX)
    gates = q.through(q.add("HardSigmoid", [s], alpha=1 / 6), 1 / 256, -128)
    y = q.through(q.add("Mul", [gates, x]), 0.06, 3)
    return finish(q, y, {"x": BATCH, "s": (2, 6, 1, 1)}, BATCH)


def logarithm():
    """Of numbers that are not negative; zero gives minus infinity, the lowest integer."""
    q = models.Qdq()
    y = q.through(q.add("Log", [q.through("x", SX, -128)]), 0.02, 10)
    return finish(q, y, {"x": IMAGE}, IMAGE)


def reduced(op, axes, out, sy, **attributes):
    return single(op, IMAGE, out, sy, 5, opset=18, inputs=(np.array(axes),), **attributes)


def norm(op, shape, count, sy=0.03, **attributes):
    return single(op, shape, shape, sy, -3, opset=21, inputs=(f(count), f(count)), **attributes)


CASES = {
    "ConvTranspose 2x2 by 2": (lambda: transposed((1, 5, 4, 6), (5, 3, 2, 2), (1, 3, 8, 12),
                                                  strides=[2, 2]), 1),
    "ConvTranspose 3x3 by 2": (lambda: transposed(
        (1, 5, 4, 6), (5, 3, 3, 3), (1, 3, 8, 12), strides=[2, 2], pads=[1, 1, 1, 1],
        output_padding=[1, 1]), 1),
    "ConvTranspose 4x4 by 2, per tensor": (lambda: transposed(
        (1, 5, 4, 6), (5, 3, 4, 4), (1, 3, 8, 12), False, strides=[2, 2], pads=[1, 1, 1, 1]), 1),
    "ConvTranspose grouped": (lambda: transposed((1, 4, 4, 5), (4, 3, 3, 3), (1, 6, 9, 11),
                                                 strides=[2, 2], group=2), 1),
    "ConvTranspose 1-D, no bias": (lambda: transposed((2, 5, 9), (5, 3, 3), (2, 3, 11),
                                                      bias=False), 1),
    "LayerNormalization": (lambda: norm("LayerNormalization", ROWS, 12), 1),
    "InstanceNormalization": (lambda: norm("InstanceNormalization", BATCH, 6), 1),
    "GroupNormalization": (lambda: norm("GroupNormalization", BATCH, 6, num_groups=2), 1),
    "ReduceMean of channels": (lambda: reduced("ReduceMean", [1], (1, 1, 9, 11), 0.02), 1),
    "ReduceMean of a row": (lambda: reduced("ReduceMean", [-1], (1, 8, 9), 0.02, keepdims=0), 1),
    "ReduceSum": (lambda: reduced("ReduceSum", [2], (1, 8, 1, 11), 0.3), 1),
    "ReduceMax": (lambda: single("ReduceMax", IMAGE, (1, 8, 1, 1), SX, ZX, opset=18,
                                 inputs=(np.array([2, 3]),)), 0),
    "ReduceMin of channels": (lambda: single("ReduceMin", IMAGE, (1, 9, 11), SX, ZX, opset=18,
                                             inputs=(np.array([1]),), keepdims=0), 0),
    "MatMul of two": (lambda: matmul((3, 9), (9, 5)), 0),
    "MatMul of many": (lambda: matmul((2, 3, 4, 9), (3, 9, 5)), 0),
    "Sub of a larger one": (lambda: pair("Sub", (6, 1, 1), BATCH, 0.0637, BATCH), 1),
    "Add of both repeated": (lambda: pair("Add", (2, 6, 1, 1), (5, 7), 0.0637, BATCH), 1),
    "Mul by channels of two images": (lambda: pair("Mul", BATCH, (2, 6, 1, 1), 0.1013), 1),
    "Div by channels": (lambda: pair("Div", IMAGE, (1, 8, 1, 1), 0.1013), 1),
    "Min": (lambda: pair("Min", IMAGE, IMAGE, 0.0637), 1),
    "Max by channel": (lambda: pair("Max", IMAGE, (1, 8, 1, 1), 0.0637), 1),
    "Squeeze-excite": (gate, 1),
    "Add of an int8 row": (lambda: quantized_constant("Add", (8, 1, 1), 0.0637), 1),
    "Mul by an int8 row": (lambda: quantized_constant("Mul", (8, 1, 1), 0.1013), 1),
    "Mul by an int8 image": (lambda: quantized_constant("Mul", IMAGE, 0.1013), 1),
    "Mul by a row of constants": (lambda: single("Mul", IMAGE, IMAGE, 0.1, inputs=(
        f(8, 1, 1),)), 1),
    "PRelu": (lambda: single("PRelu", IMAGE, IMAGE, inputs=(f(8, 1, 1),)), 1),
    "PRelu of one slope": (lambda: single("PRelu", IMAGE, IMAGE, inputs=(f(1),)), 1),
    **{op: (lambda op=op: single(op, IMAGE, IMAGE, opset=20), 1) for op in (
        "Elu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "Gelu", "Erf", "Floor", "Ceil",
        "Round", "Sign", "Sin", "Cos", "ThresholdedRelu")},
    "Log": (logarithm, 1),
    "Pow": (lambda: single("Pow", IMAGE, IMAGE, 0.3, inputs=(np.float32(3),)), 1),
    "Pow 2": (lambda: single("Pow", IMAGE, IMAGE, 0.3, inputs=(np.float32(2),)), 1),
}
