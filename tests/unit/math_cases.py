"""Small float models of one arithmetic operator or spelled-out function, by name."""

import numpy as np
from schedule_models import model, node

RANDOM = np.random.default_rng(7)
IMAGE = (2, 6, 5, 7)
ROWS = (2, 5, 12)


def f(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def one(op, shape, out, inputs=(), opset=20, **attributes):
    """One operator on x; constants after it, None where an input is left out."""
    names = {f"c{i}": c for i, c in enumerate(inputs) if c is not None}
    given = [f"c{i}" if c is not None else "" for i, c in enumerate(inputs)]
    return model([node(op, ["x", *given], ["y"], name="n", **attributes)], {"x": shape},
                 {"y": out}, names, opset)


def two(op, a, b, **attributes):
    """One operator on x and b."""
    out = np.broadcast_shapes(a, b)
    return model([node(op, ["x", "b"], ["y"], name="n", **attributes)], {"x": a, "b": b},
                 {"y": out}, opset=20)


def product(a, b):
    out = np.matmul(np.zeros(a), np.zeros(b)).shape
    return model([node("MatMul", ["x", "b"], ["y"], name="n")], {"x": a, "b": b}, {"y": out})


def chain(shape, constants, *steps):
    """Nodes (op, inputs, output, attributes) from x to y."""
    nodes = [node(op, list(inputs), [out], **attributes) for op, inputs, out, attributes in steps]
    return model(nodes, {"x": shape}, {"y": shape}, constants, 20)


def transposed(shape, weights, out, bias=True, **attributes):
    groups = attributes.get("group", 1)
    inputs = [f(*weights)] + ([f(weights[1] * groups)] if bias else [])
    return one("ConvTranspose", shape, out, inputs, **attributes)


def reductions():
    """Every reduction over the axes of an image, alone and together."""
    kinds = ("Mean", "Sum", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp")
    for kind in kinds:
        for axes in ((1,), (2, 3), (0, 2), (-1,), (0, 1, 2, 3)):
            for keep in (0, 1):
                chosen = {a % 4 for a in axes}
                out = [1 if i in chosen else n for i, n in enumerate(IMAGE)
                       if i not in chosen or keep]
                yield (f"Reduce{kind} {axes} {keep}",
                       one(f"Reduce{kind}", IMAGE, out, [ints(*axes)], keepdims=keep))


def broadcasts():
    shapes = (((6, 1, 1), IMAGE), (IMAGE, (2, 6, 1, 1)), ((5, 7), IMAGE), ((6, 1, 7), IMAGE),
              ((2, 6, 1, 1), (5, 7)), ((2, 1, 5, 1), (6, 1, 7)), (IMAGE, (1,)), ((1,), IMAGE),
              ((2, 1, 1, 1), IMAGE), ((1, 1, 5, 1), IMAGE), ((), IMAGE), ((3, 1), (1, 4)))
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max"):
        for a, b in shapes:
            yield f"{op} {a} {b}", two(op, a, b)


def constants():
    """A constant row on either side."""
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max"):
        for shape in ((6, 1, 1), (7,), (5, 1), (6, 1, 7), (2, 1, 1, 1), IMAGE):
            value = np.abs(f(*shape)) + np.float32(0.5)
            yield f"{op} {shape}", one(op, IMAGE, IMAGE, [value])
            left = model([node(op, ["c", "x"], ["y"])], {"x": IMAGE}, {"y": IMAGE}, {"c": value})
            yield f"{shape} {op}", left


def functions():
    plain = ("Erf", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Softplus", "Softsign",
             "Mish", "Reciprocal", "Gelu", "Elu", "Selu", "Celu", "ThresholdedRelu")
    for op in plain:
        yield op, one(op, IMAGE, IMAGE)
    yield "Elu 0.3", one("Elu", IMAGE, IMAGE, alpha=0.3)
    yield "Celu 2", one("Celu", IMAGE, IMAGE, alpha=2.0)
    yield "Selu 1.1", one("Selu", IMAGE, IMAGE, alpha=1.1, gamma=0.9)
    yield "Gelu tanh", one("Gelu", IMAGE, IMAGE, approximate="tanh")
    for exponent in (0, 1, 2, 3, -1, -2):
        yield f"Pow {exponent}", one("Pow", IMAGE, IMAGE, [np.float32(exponent)])
    for slope in ((6, 1, 1), (1, 1, 7), (1,), IMAGE):
        yield f"PRelu {slope}", one("PRelu", IMAGE, IMAGE, [f(*slope)])


def positive():
    """Functions of positive numbers."""
    for op in ("Log", "Sqrt"):
        yield op, one(op, IMAGE, IMAGE)
    for exponent in (0.5, -0.5, 2.5, 1 / 3):
        yield f"Pow {exponent}", one("Pow", IMAGE, IMAGE, [np.float32(exponent)])
    yield "ReduceLogSum", one("ReduceLogSum", IMAGE, (2, 6, 1, 1), [ints(2, 3)])


def norms():
    yield "LayerNormalization", one("LayerNormalization", ROWS, ROWS, [f(12), f(12)])
    yield "LayerNormalization, no shift", one("LayerNormalization", ROWS, ROWS, [f(12)])
    yield "LayerNormalization, two axes", one("LayerNormalization", IMAGE, IMAGE,
                                              [f(5, 7), f(5, 7)], axis=2, epsilon=1e-3)
    yield "LayerNormalization, all but the batch", one(
        "LayerNormalization", IMAGE, IMAGE, [f(6, 5, 7), f(1, 5, 1)], axis=1)
    yield "InstanceNormalization", one("InstanceNormalization", IMAGE, IMAGE, [f(6), f(6)])
    yield "InstanceNormalization 1-D", one("InstanceNormalization", ROWS, ROWS, [f(5), f(5)])
    yield "GroupNormalization", one("GroupNormalization", IMAGE, IMAGE, [f(6), f(6)], opset=21,
                                    num_groups=3)
    for p in (1, 2):
        yield f"LpNormalization {p}", one("LpNormalization", IMAGE, IMAGE, axis=1, p=p)


def softmaxes():
    for op in ("Softmax", "LogSoftmax"):
        for axis in range(4):
            yield f"{op} {axis}", one(op, IMAGE, IMAGE, axis=axis)
        yield f"{op} flat", one(op, IMAGE, IMAGE, axis=2, opset=12)


def products():
    shapes = (((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((4,), (4, 5)),
              ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4,)), ((1, 9), (9, 1)))
    for a, b in shapes:
        yield f"MatMul {a} {b}", product(a, b)
    yield "MatMul, weights left", model([node("MatMul", ["w", "x"], ["y"])], {"x": (2, 4, 5)},
                                        {"y": (2, 3, 5)}, {"w": f(3, 4)})
    yield "MatMul, weights per matrix", one("MatMul", (2, 3, 4), (2, 3, 5), [f(2, 4, 5)])
    for turn_a, turn_b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        nodes = [node("Gemm", ["x", "b", "c"], ["y"], transA=turn_a, transB=turn_b, alpha=0.5,
                      beta=2.0)]
        sizes = {"x": (4, 3) if turn_a else (3, 4), "b": (5, 4) if turn_b else (4, 5)}
        yield f"Gemm {turn_a} {turn_b}", model(nodes, {**sizes, "c": (5,)}, {"y": (3, 5)})
    yield "Gemm, constant C", model([node("Gemm", ["x", "b", "c"], ["y"])],
                                    {"x": (3, 4), "b": (4, 5)}, {"y": (3, 5)}, {"c": f(3, 1)})
    yield "attention", attention()


def attention():
    """softmax(q kᵀ / sqrt(d)) v of two heads, as torch exports it."""
    def heads(name, perm):
        return [node("MatMul", ["x", f"w{name}"], [f"{name}0"]),
                node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
                node("Transpose", [f"{name}1"], [name], perm=perm)]

    nodes = [*heads("q", [0, 2, 1, 3]), *heads("k", [0, 2, 3, 1]), *heads("v", [0, 2, 1, 3]),
             node("MatMul", ["q", "k"], ["s"]), node("Mul", ["s", "root"], ["t"]),
             node("Softmax", ["t"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["o"]),
             node("Transpose", ["o"], ["m"], perm=[0, 2, 1, 3]),
             node("Reshape", ["m", "join"], ["n"]), node("MatMul", ["n", "wo"], ["y"])]
    weights = {f"w{name}": f(12, 12) / 3 for name in "qkvo"}
    weights |= {"split": ints(2, 5, 2, 6), "join": ints(2, 5, 12), "root": np.float32(0.4)}
    return model(nodes, {"x": ROWS}, {"y": ROWS}, weights)


def transposed_convolutions():
    """(n, c, h, w), weights (c, k / groups, kh, kw), and the output."""
    yield "ConvTranspose 3x3", transposed((1, 4, 5, 6), (4, 3, 3, 3), (1, 3, 7, 8))
    yield "ConvTranspose 2x2 by 2", transposed((2, 4, 5, 6), (4, 3, 2, 2), (2, 3, 10, 12),
                                               strides=[2, 2])
    yield "ConvTranspose 4x4 by 2", transposed((1, 4, 5, 6), (4, 3, 4, 4), (1, 3, 10, 12),
                                               strides=[2, 2], pads=[1, 1, 1, 1])
    yield "ConvTranspose 3x3 by 2", transposed(
        (1, 4, 5, 6), (4, 3, 3, 3), (1, 3, 10, 12), strides=[2, 2], pads=[1, 1, 1, 1],
        output_padding=[1, 1])
    yield "ConvTranspose, odd size", transposed(
        (1, 4, 5, 6), (4, 3, 3, 3), (1, 3, 9, 11), strides=[2, 2], pads=[1, 1, 1, 1])
    yield "ConvTranspose by 3 and 2", transposed(
        (2, 4, 3, 4), (4, 2, 5, 2), (2, 2, 9, 7), strides=[3, 2], pads=[2, 1, 0, 0], bias=False)
    yield "ConvTranspose dilated", transposed(
        (1, 4, 5, 6), (4, 3, 3, 2), (1, 3, 13, 14), strides=[2, 2], dilations=[2, 3])
    yield "ConvTranspose grouped", transposed((1, 4, 5, 6), (4, 3, 3, 3), (1, 6, 11, 13),
                                              strides=[2, 2], group=2)
    yield "ConvTranspose depthwise", transposed((1, 4, 5, 6), (4, 1, 2, 2), (1, 4, 10, 12),
                                                strides=[2, 2], group=4)
    yield "ConvTranspose, stride beyond the kernel", transposed(
        (1, 4, 3, 4), (4, 3, 2, 1), (1, 3, 8, 10), strides=[3, 3])
    yield "ConvTranspose, large pads", transposed(
        (1, 4, 6, 7), (4, 3, 3, 3), (1, 3, 4, 7), strides=[2, 2], pads=[5, 4, 4, 4])
    yield "ConvTranspose 1-D", transposed((2, 4, 9), (4, 3, 4), (2, 3, 18), strides=[2],
                                          pads=[1, 1])
    yield "ConvTranspose SAME_UPPER", transposed((1, 4, 5, 6), (4, 3, 3, 3), (1, 3, 10, 12),
                                                 strides=[2, 2], auto_pad="SAME_UPPER")
    yield "ConvTranspose output_shape", transposed((1, 4, 5, 6), (4, 3, 3, 3), (1, 3, 10, 13),
                                                   strides=[2, 2], output_shape=[10, 13])


def spelled_out():
    """Functions as models write them."""
    number = {"half": np.float32(0.5), "one": np.float32(1), "three": np.float32(3),
              "six": np.float32(6), "zero": np.float32(0), "root": np.float32(np.sqrt(2)),
              "cube": np.float32(0.044715), "pi": np.float32(np.sqrt(2 / np.pi))}
    yield "silu", chain(ROWS, {}, ("Sigmoid", "x", "s", {}), ("Mul", "xs", "y", {}))
    yield "gelu", chain(ROWS, number, ("Div", ("x", "root"), "d", {}), ("Erf", "d", "e", {}),
                        ("Add", ("e", "one"), "a", {}), ("Mul", ("x", "a"), "m", {}),
                        ("Mul", ("m", "half"), "y", {}))
    yield "gelu tanh", chain(
        ROWS, number, ("Mul", "xx", "x2", {}), ("Mul", ("x2", "x"), "x3", {}),
        ("Mul", ("x3", "cube"), "c", {}), ("Add", ("x", "c"), "a", {}),
        ("Mul", ("a", "pi"), "i", {}), ("Tanh", "i", "t", {}), ("Add", ("t", "one"), "o", {}),
        ("Mul", ("x", "half"), "h", {}), ("Mul", "ho", "y", {}))
    yield "mish", chain(ROWS, {}, ("Softplus", "x", "s", {}), ("Tanh", "s", "t", {}),
                        ("Mul", "xt", "y", {}))
    yield "hard_swish", chain(
        ROWS, number, ("Add", ("x", "three"), "a", {}),
        ("Clip", ("a", "zero", "six"), "c", {}), ("Mul", "xc", "m", {}),
        ("Div", ("m", "six"), "y", {}))


def microsoft():
    """Operators that ONNX Runtime's own optimizer makes."""
    for op, attributes in (("Gelu", {}), ("FastGelu", {}), ("QuickGelu", {}),
                           ("QuickGelu", {"alpha": 1.0})):
        proto = model([node("Relu", ["x"], ["y"])], {"x": ROWS}, {"y": ROWS})
        proto.graph.node[0].CopyFrom(node(op, ["x"], ["y"], domain="com.microsoft", **attributes))
        proto.opset_import.add(domain="com.microsoft", version=1)
        yield f"{op} {attributes}", proto
    biased = model([node("Add", ["x", "b"], ["y"])], {"x": ROWS}, {"y": ROWS}, {"b": f(12)})
    biased.graph.node[0].CopyFrom(node("FastGelu", ["x", "b"], ["y"], domain="com.microsoft"))
    biased.opset_import.add(domain="com.microsoft", version=1)
    yield "FastGelu with a bias", biased


def truths():
    """Comparisons, logic and Where, as numbers at the end."""
    number = {"half": np.float32(0.5), "low": np.float32(-1), "row": f(6, 1, 1)}

    def ending(*nodes, inputs=None, constants=number):
        cast = node("Cast", ["t"], ["y"], to=1)
        return model([*nodes, cast], inputs or {"x": IMAGE}, {"y": IMAGE}, constants)

    for op in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"):
        yield op, ending(node("Round", ["x"], ["r"]), node("Round", ["b"], ["s"]),
                         node(op, ["r", "s"], ["t"]), inputs={"x": IMAGE, "b": (6, 1, 1)})
        yield f"{op} than a number", ending(node(op, ["x", "half"], ["t"]))
    for op in ("And", "Or", "Xor"):
        yield op, ending(node("Less", ["x", "half"], ["a"]), node("Less", ["x", "low"], ["b"]),
                         node(op, ["a", "b"], ["t"]))
    yield "Not", ending(node("Less", ["x", "half"], ["a"]), node("Not", ["a"], ["t"]))
    wheres = {"a number": "low", "a row": "row", "itself negated": "n"}
    for name, other in wheres.items():
        nodes = [node("Neg", ["x"], ["n"]), node("Greater", ["x", "row"], ["c"]),
                 node("Where", ["c", "x", other], ["y"])]
        yield f"Where, else {name}", model(nodes, {"x": IMAGE}, {"y": IMAGE}, number)
    mask = RANDOM.standard_normal((5, 7)) > 0
    yield "Where, constant mask", model([node("Where", ["m", "x", "low"], ["y"])], {"x": IMAGE},
                                        {"y": IMAGE}, number | {"m": mask})
    yield "Where, all repeated", model(
        [node("Greater", ["x", "low"], ["c"]), node("Where", ["c", "row", "b"], ["y"])],
        {"x": (2, 1, 1, 1), "b": (5, 7)}, {"y": IMAGE}, number)


FAMILIES = {"functions": functions, "positive": positive, "reductions": reductions,
            "broadcasts": broadcasts, "constants": constants, "norms": norms,
            "softmaxes": softmaxes, "products": products,
            "transposed convolutions": transposed_convolutions, "spelled out": spelled_out,
            "microsoft": microsoft, "truths": truths}
