"""Two models for whole-line tests of operators that move elements, with random inputs."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node


def _built(nodes, inputs, outputs, constants):
    """`inputs` and `outputs` are {name: (type, shape)}."""
    ports = [[helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in each.items()]
             for each in (inputs, outputs)]
    weights = [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()]
    graph = helper.make_graph(nodes, "moves", *ports, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def typed():
    """Integers and flags of every width, moved but never computed with; its inputs."""
    nodes = [node("Pad", ["a", "pads", "five"], ["padded"]),
             node("Concat", ["a", "row"], ["longer"], axis=0),
             node("Gather", ["b", "index"], ["picked"], axis=1),
             node("Transpose", ["u"], ["turned"], perm=[0, 2, 1]),
             node("Expand", ["t", "size"], ["spread"])]
    constants = {"pads": np.int64([0, 1, 1, 0]), "five": np.int64(5), "index": np.int64([2, 0]),
                 "size": np.int64([2, 3, 4]), "row": np.int64([[7, 8, 9]])}
    inputs = {"a": (TensorProto.INT64, [2, 3]), "b": (TensorProto.INT32, [2, 3]),
              "u": (TensorProto.UINT8, [2, 3, 5]), "t": (TensorProto.BOOL, [3, 1])}
    outputs = {"padded": (TensorProto.INT64, [3, 4]), "longer": (TensorProto.INT64, [3, 3]),
               "picked": (TensorProto.INT32, [2, 2]), "turned": (TensorProto.UINT8, [2, 5, 3]),
               "spread": (TensorProto.BOOL, [2, 3, 4])}
    r = np.random.default_rng(0)
    return _built(nodes, inputs, outputs, constants), {
        "a": r.integers(-10**12, 10**12, (2, 3)), "b": r.integers(-1000, 1000, (2, 3), np.int32),
        "u": r.integers(0, 256, (2, 3, 5), np.uint8), "t": r.integers(0, 2, (3, 1)).astype(bool)}


def images():
    """A small detector's neck: halves, blocks, pyramids and borders; its calibration samples."""
    r = np.random.default_rng(1)
    constants = {"stem": r.standard_normal((8, 3, 3, 3)) * 0.2,
                 "head": r.standard_normal((4, 22, 1, 1)) * 0.2, "grid": np.ones((1, 1, 9, 11)),
                 "up": [1, 1, 2, 2], "down": [1, 1, 0.5, 0.5]}
    constants = {n: np.asarray(v, np.float32) for n, v in constants.items()} | {
        "borders": np.int64([0, 0, 1, 2, 0, 0, 1, 1]), "first": np.int64([0, 1]),
        "last": np.int64([9, 12]), "axes": np.int64([2, 3]), "odd": np.int64([1, 5, 3, 7, 0])}
    nodes = [node("Pad", ["x", "borders"], ["b"], mode="reflect"),
             node("Conv", ["b", "stem"], ["c"]), node("Relu", ["c"], ["r"]),
             node("Split", ["r"], ["s0", "s1"], axis=1),
             node("Resize", ["s0", "", "up"], ["u0"], mode="linear"),
             node("Resize", ["u0", "", "down"], ["u"], mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
             node("SpaceToDepth", ["s1"], ["d"], blocksize=1),
             node("Resize", ["d", "", "up"], ["e0"], mode="nearest"),
             node("Slice", ["e0", "first", "last", "axes"], ["e"]),
             node("Gather", ["r", "odd"], ["g"], axis=1),
             node("Concat", ["u", "d", "g", "r", "grid"], ["k"], axis=1),
             node("Conv", ["k", "head"], ["y"]), node("Sigmoid", ["e"], ["z"])]
    shape = (TensorProto.FLOAT, [1, 3, 9, 10])
    model = _built(nodes, {"x": shape}, {"y": (TensorProto.FLOAT, [1, 4, 9, 11]),
                                         "z": (TensorProto.FLOAT, [1, 4, 9, 11])}, constants)
    return model, r.standard_normal((8, 3, 9, 10)).astype(np.float32)
