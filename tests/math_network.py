"""A small network of gates, norms, attention and transposed convolutions, and data for it."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE, TOKENS = 8, 12, 36
node = helper.make_node


def _weights(seed):
    make = np.random.default_rng(seed)

    def of(*shape):
        fan = max(int(np.prod(shape[1:])), 1)
        return (make.standard_normal(shape) / np.sqrt(fan)).astype(np.float32)

    c = CHANNELS
    found = {"w0": of(c, 3, 3, 3), "b0": of(c), "we": of(c, c, 1, 1), "be": of(c),
             "wu": of(c, 4, 2, 2), "bu": of(4), "slope": np.abs(of(4, 1, 1)),
             "w1": of(5, 4, 1, 1), "w2": of(16, c), "w3": of(c, 16), "w4": of(5, c)}
    found |= {f"w{name}": of(c, c) for name in "qkvo"}
    found |= {f"{kind}{i}": 1 + of(c) / 4 if kind == "g" else of(c) / 4
              for i in (1, 2, 3) for kind in "gs"}
    return found | {"split": np.array([1, TOKENS, 2, c // 2]), "root": np.float32(0.5),
                    "join": np.array([1, TOKENS, c]), "flat": np.array([1, c, TOKENS]),
                    "middle": np.array([1])}


def _gated():
    """Convolution, SiLU, squeeze-excite, InstanceNormalization."""
    return [node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1] * 4, strides=[2, 2]),
            node("Sigmoid", ["c0"], ["s0"]), node("Mul", ["c0", "s0"], ["a0"]),
            node("GlobalAveragePool", ["a0"], ["p0"]),
            node("Conv", ["p0", "we", "be"], ["e0"]), node("HardSigmoid", ["e0"], ["h0"]),
            node("Mul", ["h0", "a0"], ["m0"]),
            node("InstanceNormalization", ["m0", "g1", "s1"], ["n0"])]


def _map():
    """Twice as large, PRelu, and the likeliest class of every pixel."""
    return [node("ConvTranspose", ["n0", "wu", "bu"], ["u0"], strides=[2, 2]),
            node("PRelu", ["u0", "slope"], ["u1"]), node("Conv", ["u1", "w1"], ["u2"]),
            node("ArgMax", ["u2"], ["map"], axis=1, keepdims=0)]


def _heads(name, perm):
    return [node("MatMul", ["l1", f"w{name}"], [f"{name}0"]),
            node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
            node("Transpose", [f"{name}1"], [name], perm=perm)]


def _attention():
    """Pixels as tokens: LayerNormalization, two heads, a residual."""
    return [node("Reshape", ["n0", "flat"], ["t0"]), node("Transpose", ["t0"], ["t1"],
                                                          perm=[0, 2, 1]),
            node("LayerNormalization", ["t1", "g2", "s2"], ["l1"]),
            *_heads("q", [0, 2, 1, 3]), *_heads("k", [0, 2, 3, 1]), *_heads("v", [0, 2, 1, 3]),
            node("MatMul", ["q", "k"], ["d0"]), node("Mul", ["d0", "root"], ["d1"]),
            node("Softmax", ["d1"], ["d2"], axis=-1), node("MatMul", ["d2", "v"], ["o0"]),
            node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
            node("Reshape", ["o1", "join"], ["o2"]), node("MatMul", ["o2", "wo"], ["o3"]),
            node("Add", ["o3", "t1"], ["r1"])]


def _answer():
    """LayerNormalization, GELU between two products, the mean of all tokens, classes."""
    return [node("LayerNormalization", ["r1", "g3", "s3"], ["l2"]),
            node("Gemm", ["l2f", "w2"], ["f0"], transB=1), node("Gelu", ["f0"], ["f1"]),
            node("Gemm", ["f1", "w3"], ["f2"], transB=1),
            node("Reshape", ["f2", "join"], ["f3"]), node("Add", ["f3", "r1"], ["r2"]),
            node("ReduceMean", ["r2", "middle"], ["m1"], keepdims=0),
            node("Gemm", ["m1", "w4"], ["y"], transB=1)]


def network(seed=0):
    """Input x (1, 3, 12, 12); outputs y (1, 5), and map (1, 12, 12) of int64."""
    answer = _answer()
    answer.insert(1, node("Reshape", ["l2", "rows"], ["l2f"]))
    weights = _weights(seed) | {"rows": np.array([TOKENS, CHANNELS])}
    ports = {"x": (TensorProto.FLOAT, (1, 3, SIDE, SIDE)), "y": (TensorProto.FLOAT, (1, 5)),
             "map": (TensorProto.INT64, (1, SIDE, SIDE))}
    infos = {name: helper.make_tensor_value_info(name, *port) for name, port in ports.items()}
    graph = helper.make_graph(
        [*_gated(), *_map(), *_attention(), *answer], "math", [infos["x"]],
        [infos["y"], infos["map"]],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def samples(count=16, seed=1):
    return np.random.default_rng(seed).standard_normal((count, 3, SIDE, SIDE)).astype(np.float32)
