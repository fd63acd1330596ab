"""Random ONNX graphs: an image part, global pooling, a vector part."""

import numpy as np
from hypothesis import strategies as st
from model_graphs import GraphMaker

IMAGE_STEPS = (
    "conv", "depthwise", "norm", "relu", "clip", "scale", "shift", "divide", "residual", "pool",
    "identity", "dropout", "transpose", "concat", "sigmoid", "subtract", "pad",
)  # fmt: skip
VECTOR_STEPS = ("gemm", "matmul", "relu", "shift", "norm", "softmax", "reshape")


def image_step(make, step, x, channels):
    """One step on an image of `channels`; gives the new value and its channels."""
    match step:
        case "conv":
            kernel = int(make.random.choice([1, 3]))
            return make.conv(x, channels, 4, kernel, bias=bool(make.random.integers(2))), 4
        case "depthwise":
            return make.conv(x, channels, channels, groups=channels), channels
        case "norm":
            return make.batch_norm(x, channels), channels
        case "clip":
            return make.add("Clip", x, make.weight(np.float32(-1)), make.weight(np.float32(2))), (
                channels
            )
        case "scale":
            return make.add("Mul", make.weight((channels, 1, 1)), x), channels
        case "shift":
            return make.add("Add", x, make.weight((1, channels, 1, 1))), channels
        case "subtract":
            return make.add("Sub", x, make.weight((1,))), channels
        case "divide":
            return make.add("Div", x, make.weight(np.float32(4))), channels
        case "residual":
            return make.add("Add", x, make.add("Sigmoid", x)), channels
        case "pool":
            kind = str(make.random.choice(["MaxPool", "AveragePool"]))
            return make.add(kind, x, kernel_shape=[2, 2], pads=[0, 0, 1, 1]), channels
        case "transpose":
            turned = make.add("Transpose", x, perm=[0, 2, 3, 1])
            return make.add("Transpose", turned, perm=[0, 3, 1, 2]), channels
        case "concat":
            return make.add("Concat", x, make.add("Relu", x), axis=1), 2 * channels
        case "pad":
            pads = make.weight(np.int64([0, 0, 1, 1, 0, 0, 1, 1]))
            return make.add("Pad", x, pads, make.weight(np.float32(0))), channels
        case _:
            return make.add(step.capitalize(), x), channels


def vector_step(make, step, x, width):
    match step:
        case "gemm":
            turned = bool(make.random.integers(2))
            weights = make.weight((5, width) if turned else (width, 5))
            return make.add("Gemm", x, weights, make.weight((5,)), transB=int(turned)), 5
        case "matmul":
            return make.add("MatMul", x, make.weight((width, 6))), 6
        case "shift":
            return make.add("Add", x, make.weight((width,))), width
        case "norm":
            return make.batch_norm(x, width), width
        case "softmax":
            return make.add("Softmax", x), width
        case "reshape":
            wide = make.add("Reshape", x, make.weight(np.int64([1, -1, 1])))
            return make.add("Flatten", wide), width
        case _:
            return make.add(step.capitalize(), x), width


@st.composite
def graphs(draw):
    make = GraphMaker(seed=draw(st.integers(0, 2**16)), opset=draw(st.sampled_from([13, 17, 18])))
    x, channels = make.input("x", [draw(st.sampled_from(["N", 1])), 3, 5, 6]), 3
    side = []
    for step in draw(st.lists(st.sampled_from(IMAGE_STEPS), max_size=7)):
        x, channels = image_step(make, step, x, channels)
        side += [x] if draw(st.booleans()) and draw(st.booleans()) else []
    x = make.add("Flatten", make.add("GlobalAveragePool", x))
    for step in draw(st.lists(st.sampled_from(VECTOR_STEPS), max_size=4)):
        x, channels = vector_step(make, step, x, channels)
    return make.model(x, *{s for s in side if s != "x"})
