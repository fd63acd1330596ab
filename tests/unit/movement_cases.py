"""Small models of every operator that moves elements, in several layouts and dtypes.

Each case is (node arguments, input shape, constants, attributes); it is run on its own
(row-major), between convolutions (channels last) and after a channel shuffle (torn axes).
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

IMAGE = (2, 6, 7, 8)


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


FILL = f32(0.75)[0]
CUBE = (2, 3, 4, 5, 3)

# name: (operator, input shape, constant inputs after the first, attributes, outputs)
MOVES = {
    "slice": ("Slice", IMAGE, [i64(1, 2), i64(5, 100), i64(1, 3)], {}, 1),
    "slice with steps": ("Slice", IMAGE, [i64(0, 1), i64(7, 8), i64(2, 3), i64(2, 3)], {}, 1),
    "slice backwards": ("Slice", IMAGE, [i64(-1, 5, -2), i64(-100, 0, 1), i64(1, 2, 3),
                                         i64(-1, -2, -3)], {}, 1),
    "slice of 5-D": ("Slice", CUBE, [i64(1, -3), i64(3, 4), i64(4, 2), i64(1, 1)], {}, 1),
    "slice of one row": ("Slice", (1, 40), [i64(3), i64(33), i64(1), i64(2)], {}, 1),
    "split": ("Split", IMAGE, [], {"axis": 1}, 3),
    "split unequally": ("Split", IMAGE, [i64(1, 5, 2)], {"axis": -1}, 3),
    "split rows": ("Split", IMAGE, [i64(3, 4)], {"axis": 2}, 2),
    "gather": ("Gather", IMAGE, [i64(0, 3, 3, -1, 1)], {"axis": 1}, 1),
    "gather one": ("Gather", IMAGE, [np.array(-2, np.int64)], {"axis": 1}, 1),
    "gather one column": ("Gather", IMAGE, [np.array(3, np.int32)], {"axis": 3}, 1),
    "gather a table": ("Gather", IMAGE, [i64(0, 1, 5, 6).reshape(2, 2)], {"axis": 2}, 1),
    "gather many": ("Gather", (3, 50), [np.random.default_rng(0).integers(0, 50, 70)],
                    {"axis": 1}, 1),
    "gather of 5-D": ("Gather", CUBE, [i64(1, 0, 2)], {"axis": 2}, 1),
    "pad": ("Pad", IMAGE, [i64(0, 0, 1, 2, 0, 0, 2, 0)], {}, 1),
    "pad with a number": ("Pad", IMAGE, [i64(1, 0, 1, 2, 0, 3, 2, 0), FILL], {}, 1),
    "pad channels": ("Pad", IMAGE, [i64(0, 2, 0, 0, 0, 3, 0, 0)], {}, 1),
    "pad some axes": ("Pad", IMAGE, [i64(2, 1, 0, 1), FILL, i64(3, -3)], {"opset": 18}, 1),
    "pad away": ("Pad", IMAGE, [i64(0, 0, -1, -2, 0, 0, 1, -1)], {}, 1),
    "pad reflected": ("Pad", IMAGE, [i64(0, 0, 3, 1, 0, 0, 2, 7)], {"mode": "reflect"}, 1),
    "pad reflected, all axes": ("Pad", IMAGE, [i64(1, 2, 3, 1, 0, 2, 2, 1)],
                                {"mode": "reflect"}, 1),
    "pad edges": ("Pad", IMAGE, [i64(0, 1, 3, 1, 0, 2, 2, 9)], {"mode": "edge"}, 1),
    "pad wrapped": ("Pad", IMAGE, [i64(0, 1, 3, 1, 0, 2, 2, 8)], {"mode": "wrap", "opset": 19}, 1),
    "pad of 5-D": ("Pad", CUBE, [i64(0, 0, 1, 0, 1, 0, 0, 0, 1, 2)], {}, 1),
    "expand": ("Expand", (2, 1, 7, 1), [i64(2, 6, 1, 8)], {}, 1),
    "expand to more axes": ("Expand", (6, 1), [i64(2, 3, 6, 4)], {}, 1),
    "expand one number": ("Expand", (1, 1), [i64(5, 7)], {}, 1),
    "tile": ("Tile", IMAGE, [i64(2, 1, 1, 3)], {}, 1),
    "tile channels": ("Tile", IMAGE, [i64(1, 2, 2, 1)], {}, 1),
    "depth to space": ("DepthToSpace", (2, 12, 3, 5), [], {"blocksize": 2}, 1),
    "depth to space, by columns": ("DepthToSpace", (2, 18, 3, 5), [],
                                   {"blocksize": 3, "mode": "CRD"}, 1),
    "space to depth": ("SpaceToDepth", (2, 3, 6, 8), [], {"blocksize": 2}, 1),
    "transpose": ("Transpose", IMAGE, [], {"perm": [1, 3, 0, 2]}, 1),
    "transpose of 5-D": ("Transpose", CUBE, [], {"perm": [4, 2, 0, 3, 1]}, 1),
    "reshape": ("Reshape", IMAGE, [i64(2, 4, 12, -1)], {}, 1),
    "reshape channels": ("Reshape", IMAGE, [i64(2, 2, 3, 7, 8)], {}, 1),
    "flatten": ("Flatten", IMAGE, [], {"axis": 2}, 1),
    "squeeze": ("Squeeze", (1, 6, 1, 8), [i64(2)], {}, 1),
    "unsqueeze": ("Unsqueeze", IMAGE, [i64(0, 5)], {}, 1),
}


def _resizes():
    """Nearest, linear and cubic by scales and sizes, up, down and odd, in every coordinate mode."""
    shapes = {"twice": f32(1, 1, 2, 2), "odd": f32(1, 1, 1.7, 2.3), "down": f32(1, 1, 0.6, 0.45),
              "one axis": f32(1, 1, 1, 3), "to one": f32(1, 1, 1 / 7, 1 / 8)}
    modes = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    for turn, mode in enumerate(modes):
        for name, scales in shapes.items():
            for kind in ("nearest", "linear", "cubic"):
                attributes = {"mode": kind, "coordinate_transformation_mode": mode}
                if kind == "nearest":
                    attributes["nearest_mode"] = ("round_prefer_floor", "round_prefer_ceil",
                                                  "floor", "ceil")[(turn + len(name)) % 4]
                yield f"{kind} {name} {mode}", ("Resize", IMAGE, [None, scales], attributes, 1)
    for kind in ("nearest", "linear", "cubic"):
        sizes = [None, None, i64(2, 6, 11, 5)]
        yield f"{kind} to sizes", ("Resize", IMAGE, sizes, {"mode": kind}, 1)
        symmetric = {"mode": kind, "coordinate_transformation_mode": "half_pixel_symmetric",
                     "opset": 19}
        yield f"{kind} symmetric", ("Resize", IMAGE, [None, f32(1, 1, 1.3, 0.7)], symmetric, 1)
        if kind != "cubic":  # ONNX Runtime has no cubic along one axis
            one = ("Resize", (2, 6, 7), [None, f32(1, 1, 2.5)], {"mode": kind}, 1)
            yield f"{kind} of a signal", one
    yield "nearest of 5-D", ("Resize", CUBE, [None, f32(1, 1, 2, 1, 3)], {"mode": "nearest"}, 1)
    for kind in ("not_larger", "not_smaller"):
        yield kind, ("Resize", IMAGE, [None, None, i64(10, 20)], {
            "axes": [2, 3], "keep_aspect_ratio_policy": kind, "opset": 18}, 1)
    yield "cubic, nothing outside", ("Resize", IMAGE, [None, f32(1, 1, 1.5, 2)], {
        "mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5}, 1)


RESIZES = dict(_resizes())
CASES = {**MOVES, **RESIZES}


def ports(shapes, dtype):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return [helper.make_tensor_value_info(n, kind, s) for n, s in shapes.items()]


def built(nodes, inputs, outputs, constants, opset, dtype="float32"):
    """A model whose outputs' shapes are inferred."""
    weights = [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    given = [helper.make_tensor_value_info(n, kind, None) for n in outputs]
    graph = helper.make_graph(nodes, "moves", ports(inputs, dtype), given, weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(proto, strict_mode=True, data_prop=True)
    for value in inferred.graph.output:
        assert all(d.dim_value for d in value.type.tensor_type.shape.dim), value
    return inferred


def case_node(name, source, outputs, stem="given"):
    """The case's node reading `source`, its constants and its opset."""
    op, _, given, attributes, _ = CASES[name]
    attributes = dict(attributes)
    opset = attributes.pop("opset", 17)
    if op == "Pad" and len(given) > 1:
        given = [given[0], given[1], *given[2:]]
    names = ["" if v is None else f"{stem}{i}" for i, v in enumerate(given)]
    constants = {n: v for n, v in zip(names, given, strict=True) if n}
    return helper.make_node(op, [source, *names], outputs, name=f"n_{stem}",
                            **attributes), constants, opset


def outputs_of(name):
    return [f"y{i}" for i in range(CASES[name][4])]


def plain(name, dtype="float32"):
    """The operator on a model input."""
    node, constants, opset = case_node(name, "x", outputs_of(name))
    if dtype != "float32":
        constants = {n: v.astype(dtype) if v.dtype == np.float32 and v.ndim == 0 else v
                     for n, v in constants.items()}
    return built([node], {"x": CASES[name][1]}, outputs_of(name), constants, opset, dtype)


def between(name):
    """Channels last: Conv before, and a function after each output."""
    shape = CASES[name][1]
    random = np.random.default_rng(3)
    weights = random.standard_normal((shape[1], 3, 1, 1)).astype(np.float32)
    outputs = outputs_of(name)
    node, constants, opset = case_node(name, "t", [f"{y}.s" for y in outputs])
    nodes = [helper.make_node("Conv", ["x", "w"], ["t"]), node,
             *(helper.make_node("Sigmoid", [f"{y}.s"], [y]) for y in outputs)]
    return built(nodes, {"x": (shape[0], 3, *shape[2:])}, outputs, {**constants, "w": weights},
                 opset)


def shuffled(name):
    """Torn axes: Conv, then channels shuffled by views."""
    n, c, h, w = CASES[name][1]
    random = np.random.default_rng(4)
    weights = random.standard_normal((c, 3, 1, 1)).astype(np.float32)
    outputs = outputs_of(name)
    node, constants, opset = case_node(name, "t", outputs)
    constants |= {"w": weights, "cut": i64(n, 2, c // 2, h, w), "whole": i64(n, c, h, w)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]),
             helper.make_node("Reshape", ["a", "cut"], ["b"]),
             helper.make_node("Transpose", ["b"], ["d"], perm=[0, 2, 1, 3, 4]),
             helper.make_node("Reshape", ["d", "whole"], ["t"]), node]
    return built(nodes, {"x": (n, 3, h, w)}, outputs, constants, opset)
