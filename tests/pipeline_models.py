"""A small network and its calibration data for tests of the whole line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = (3, 8, 16)
SIZE = 12


def network(seed: int = 0) -> onnx.ModelProto:
    """Conv-Relu, depthwise Conv-Relu, 1x1 Conv-Relu, global average pool, Gemm, Softmax."""
    make = np.random.default_rng(seed)
    first, second, third = CHANNELS
    weights = {
        "w0": make.normal(0, 0.3, (second, first, 3, 3)), "b0": make.normal(0, 0.1, second),
        "w1": make.normal(0, 0.3, (second, 1, 3, 3)), "b1": make.normal(0, 0.1, second),
        "w2": make.normal(0, 0.3, (third, second, 1, 1)), "b2": make.normal(0, 0.1, third),
        "w3": make.normal(0, 0.3, (third, 5)), "b3": make.normal(0, 0.1, 5),
    }
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], name="conv0", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c0"], ["r0"], name="relu0"),
        node("Conv", ["r0", "w1", "b1"], ["c1"], name="conv1", pads=[1, 1, 1, 1], group=second),
        node("Relu", ["c1"], ["r1"], name="relu1"),
        node("Conv", ["r1", "w2", "b2"], ["c2"], name="conv2"),
        node("Relu", ["c2"], ["r2"], name="relu2"),
        node("GlobalAveragePool", ["r2"], ["p"], name="pool"),
        node("Flatten", ["p"], ["f"], name="flatten"),
        node("Gemm", ["f", "w3", "b3"], ["g"], name="gemm"),
        node("Softmax", ["g"], ["y"], name="softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes, "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", first, SIZE, SIZE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])],
        [numpy_helper.from_array(value.astype(np.float32), name)
         for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def samples(count: int = 8, seed: int = 1) -> np.ndarray:
    make = np.random.default_rng(seed)
    return make.normal(0, 1, (count, CHANNELS[0], SIZE, SIZE)).astype(np.float32)


def files(folder: Path) -> tuple[Path, Path]:
    """The network and its calibration data as files."""
    model, data = folder / "net.onnx", folder / "data.npz"
    onnx.save(network(), model)
    np.savez(data, x=samples())
    return model, data
