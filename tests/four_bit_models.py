"""ONNX models with 4-bit weights in both spellings, and a float network that is worth them."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def _model(nodes, x_shape, outputs, constants, opset, name, real=np.float32):
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(real))
    x, y = (helper.make_tensor_value_info(port, dtype, shape)
            for port, shape in (("x", x_shape), ("y", [*x_shape[:-1], outputs])))
    graph = helper.make_graph(nodes, name, [x], [y], constants)
    versions = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def nbits(x_shape, n, block, zeros=None, bias=False, seed=0, g_idx=False, real=np.float32,
          **attributes):
    """com.microsoft.MatMulNBits. `zeros`: None, "bytes" or "floats"."""
    rng, k = np.random.default_rng(seed), x_shape[-1]
    groups = -(-k // block)
    given = {"B": rng.integers(0, 256, (n, groups, block // 2), dtype=np.uint8),
             "scales": rng.uniform(0.01, 0.1, n * groups).astype(real)}
    if zeros == "bytes":
        given["zeros"] = rng.integers(0, 256, n * -(-groups // 2), dtype=np.uint8)
    if zeros == "floats":
        given["zeros"] = rng.integers(0, 16, (n, groups)).astype(real)
    if zeros == "fractions":
        given["zeros"] = np.full((n, groups), 7.5, np.float32)
    if g_idx:
        given["order"] = np.repeat(np.arange(groups), block).astype(np.int32)
    if bias:
        given["bias"] = rng.normal(size=n).astype(real)
    names = ["x", *(name if name in given else ""
                    for name in ("B", "scales", "zeros", "order", "bias"))]
    node = helper.make_node(
        "MatMulNBits", names, ["y"], name="product", domain="com.microsoft",
        **({"K": k, "N": n, "bits": 4, "block_size": block} | attributes))
    constants = [numpy_helper.from_array(value, name) for name, value in given.items()]
    return _model([node], x_shape, n, constants, 17, "nbits", real)


def blocked(x_shape, n, block, kind="INT4", zeros=False, spelled="MatMul", seed=0):
    """DequantizeLinear of 4-bit weights, then MatMul, Gemm (with a bias) or a Transpose and
    MatMul. `block` 0: one scale per output."""
    rng, k = np.random.default_rng(seed), x_shape[-1]
    shape = (k, n) if spelled == "MatMul" else (n, k)
    along = shape.index(k) if k != n else int(spelled != "MatMul")
    parts = [-(-d // block) if i == along else d for i, d in enumerate(shape)] if block else [n]
    least, dtype = (-8 if kind == "INT4" else 0), getattr(TensorProto, kind)

    def codes(name, shape):
        values = rng.integers(least, least + 16, shape)
        return helper.make_tensor(name, dtype, shape, values.ravel().tolist())

    scales = rng.uniform(0.01, 0.1, parts).astype(np.float32)
    constants = [codes("w", shape), numpy_helper.from_array(scales, "s")]
    constants += [codes("z", parts)] if zeros else []
    attributes = {"axis": along, "block_size": block} if block else {"axis": 1 - along}
    nodes = [helper.make_node("DequantizeLinear", [c.name for c in constants], ["d"], name="real",
                              **attributes)]
    if spelled == "Gemm":
        constants.append(numpy_helper.from_array(rng.normal(size=n).astype(np.float32), "b"))
        nodes.append(helper.make_node("Gemm", ["x", "d", "b"], ["y"], name="product", transB=1))
    elif spelled == "Transpose":
        nodes += [helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]),
                  helper.make_node("MatMul", ["x", "t"], ["y"], name="product")]
    else:
        nodes.append(helper.make_node("MatMul", ["x", "d"], ["y"], name="product"))
    return _model(nodes, x_shape, n, constants, 21, "blocked")


def perceptron(sizes=(96, 128, 70, 5), seed=0):
    """Gemm and Relu by turns; the last layer is too small to be worth 4 bits."""
    rng, nodes, constants, name = np.random.default_rng(seed), [], [], "x"
    for i, (k, n) in enumerate(zip(sizes, sizes[1:], strict=False)):
        last = i == len(sizes) - 2
        constants += [numpy_helper.from_array(rng.normal(0, k ** -0.5, (n, k)).astype(np.float32),
                                              f"w{i}"),
                      numpy_helper.from_array(rng.normal(size=n).astype(np.float32), f"b{i}")]
        out = "y" if last else f"g{i}"
        nodes.append(helper.make_node("Gemm", [name, f"w{i}", f"b{i}"], [out], name=f"layer{i}",
                                      transB=1))
        if not last:
            name = f"r{i}"
            nodes.append(helper.make_node("Relu", [out], [name], name=f"relu{i}"))
    return _model(nodes, [2, sizes[0]], sizes[-1], constants, 17, "perceptron")
