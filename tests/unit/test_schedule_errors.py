"""Models that break a rule: the right error, with the node's name and the rule."""

from dataclasses import replace

import numpy as np
import onnx_ir as ir
import pytest
import schedule_cases as cases
import schedule_models as models
from onnx import TensorProto, helper
from schedule_models import Qdq, model, node

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError, UnsupportedModel
from edgecc.schedule import schedule
from edgecc.targets.null import NULL

IMAGE = (1, 6, 7, 8)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def f(*shape):
    return np.ones(shape, np.float32)


def raw(nodes, inputs, outputs, constants=(), opset=17):
    """A model that ONNX's own checker may refuse: shapes may be names, types any."""
    def port(name, spec):
        shape, dtype = spec if isinstance(spec[0], tuple) else (spec, TensorProto.FLOAT)
        return helper.make_tensor_value_info(name, dtype, shape)

    weights = [models.numpy_helper.from_array(np.asarray(v), n) for n, v in dict(constants).items()]
    graph = helper.make_graph(nodes, "g", [port(n, s) for n, s in inputs.items()],
                              [port(n, s) for n, s in outputs.items()], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def one(op, *constants, shape=IMAGE, opset=17, **attributes):
    names = {f"c{i}": c for i, c in enumerate(constants)}
    return raw([node(op, ["x", *names], ["y"], name="bad", **attributes)], {"x": shape},
               {"y": (1,)}, names, opset)


def two(op, a, b):
    return raw([node(op, ["x", "b"], ["y"], name="bad")], {"x": a, "b": b}, {"y": (1,)})


def resized(axes=2, opset=17, **attributes):
    scales = np.ones(4, np.float32)
    scales[-axes:] = 2
    return one("Resize", f(0), scales, opset=opset, **attributes)


BAD = {
    "unknown operator": (one("Softmac"), "operator Softmac is not supported.*Softmax"),
    "unknown, nothing near": (one("Einsum"), "rewrite the model with supported operators"),
    "foreign domain": (raw([node("Relu", ["x"], ["y"], name="bad", domain="acme")],
                           {"x": IMAGE}, {"y": IMAGE}), "acme::Relu is not supported"),
    "attribute": (one("Relu", alpha=1.0), "attribute alpha is not supported"),
    "second output": (raw([node("MaxPool", ["x"], ["y", "i"], name="bad", kernel_shape=[2, 2])],
                          {"x": IMAGE}, {"y": IMAGE, "i": IMAGE}), "output i is used"),
    "computed weights": (two("Conv", IMAGE, (4, 6, 1, 1)), "is computed at run time"),
    "no weights": (one("Conv"), "input 1 is missing"),
    "no input": (raw([node("Relu", [""], ["y"], name="bad")], {"x": IMAGE}, {"y": IMAGE}),
                 "input 0 is missing"),
    "constant input": (raw([node("Relu", ["c"], ["y"], name="bad")], {"x": IMAGE}, {"y": (2,)},
                           {"c": f(2)}), "is a constant where a computed tensor"),
    "integers without DQ": (raw([node("Relu", ["x"], ["y"], name="bad")],
                                {"x": (IMAGE, TensorProto.INT8)}, {"y": IMAGE}),
                            "is int8, float32 or float16 is needed"),
    "groups": (one("Conv", f(4, 5, 1, 1), group=1), "do not fit 6 input channels"),
    "kernel rank": (one("Conv", f(4, 6, 1)), "kernel .1,. does not fit"),
    "3-D convolution": (one("Conv", f(4, 6, 1, 1, 1), shape=(1, 6, 3, 3, 3)), "5 dimensions"),
    "empty output": (one("Conv", f(4, 6, 9, 9)), "no elements"),
    "negative pads": (one("Conv", f(4, 6, 1, 1), pads=[-1, 0, 0, 0]), "pads not negative"),
    "auto_pad": (one("Conv", f(4, 6, 1, 1), auto_pad="SAME"), "auto_pad 'SAME' is unknown"),
    "training norm": (one("BatchNormalization", f(6), f(6), f(6), f(6), training_mode=1),
                      "training_mode"),
    "spatial norm": (one("BatchNormalization", f(6), f(6), f(6), f(6), spatial=0), "spatial=0"),
    "norm of other channels": (one("BatchNormalization", f(5), f(5), f(5), f(5)), "do not fit"),
    "matmul sizes": (two("MatMul", (2, 3), (4, 2)), "has 3 columns"),
    "gemm size": (one("Gemm", f(4, 2), shape=(2, 3)), "do not fit"),
    "gemm bias": (one("Gemm", f(3, 2), f(2, 2), shape=(2, 3)), "not one row of 2"),
    "pads of a pool": (one("MaxPool", kernel_shape=[1, 1], pads=[1, 0, 0, 0]), "as large as"),
    "mean axes": (one("ReduceMean", axes=[4]), "outside a tensor"),
    "softmax axis": (one("Softmax", axis=4), "outside a tensor"),
    "large constant": (one("Add", f(2, 6, 7, 8)), "larger than the computed"),
    "constants only": (raw([node("Max", ["c", "c"], ["y"], name="bad")], {"x": IMAGE},
                           {"y": (1,)}, {"c": f(1)}), "all inputs are constants"),
    "truth of numbers": (two("And", IMAGE, IMAGE), "is float32, bool is needed"),
    "cast": (one("Cast", to=9), "a Cast of float32 to type 9"),
    "gelu form": (one("Gelu", opset=20, approximate="fast"), "approximate 'fast' is unknown"),
    "exponents": (one("Pow", f(8)), "exponents of shape"),
    "slopes": (one("PRelu", f(2, 6, 7, 8)), "slopes of shape"),
    "norm of too few": (one("LayerNormalization", f(7, 8), shape=(2, 8)),
                        "does not fit the normalized"),
    "norm axis": (one("LayerNormalization", f(8), axis=4), "axis 4 is outside"),
    "norm scale": (one("LayerNormalization", f(7)), "do not broadcast"),
    "norm groups": (one("GroupNormalization", f(6), f(6), num_groups=4, opset=21),
                    "not channels in 4 groups"),
    "norm channels": (one("InstanceNormalization", f(5), f(5)), "does not fit 6 channels"),
    "power of a norm": (one("LpNormalization", p=3), "p = 3"),
    "C of a product": (raw([node("Gemm", ["x", "b", "c"], ["y"], name="bad")],
                           {"x": (1, 3), "b": (3, 4)}, {"y": (1,)}, {"c": f(3, 1)}),
                       "does not broadcast"),
    "transposed rank": (one("ConvTranspose", f(6, 4, 3)), "do not fit an input of 2"),
    "transposed groups": (one("ConvTranspose", f(6, 4, 3, 3), group=4), "in 4 groups"),
    "transposed strides": (one("ConvTranspose", f(6, 4, 3, 3), strides=[0, 1]),
                           "must be positive"),
    "transposed auto_pad": (one("ConvTranspose", f(6, 4, 3, 3), auto_pad="SAME"),
                            "auto_pad 'SAME' is unknown"),
    "transposed pads": (one("ConvTranspose", f(6, 4, 3, 3), pads=[-1, 0, 0, 0]),
                        "must not be negative"),
    "reshape": (one("Reshape", np.array([5, 5])), "does not hold the 336 elements"),
    "squeeze": (one("Squeeze", np.array([1])), "not all of size 1"),
    "unsqueeze axes": (one("Unsqueeze", np.array([7])), "outside 5 dimensions"),
    "perm": (one("Transpose", perm=[0, 1, 2, 2]), "not a permutation"),
    "concat shapes": (two("Concat", IMAGE, IMAGE), None),
    "concat axis": (raw([node("Concat", ["x", "x"], ["y"], name="bad", axis=4)], {"x": IMAGE},
                        {"y": IMAGE}), "axis 4 is outside"),
    "pad mode": (one("Pad", np.zeros(8, np.int64), mode="mirror"), "mode 'mirror' is unknown"),
    "pad count": (one("Pad", np.zeros(6, np.int64)), "6 pads for 4 axes"),
    "pad away": (one("Pad", np.array([0, 0, 0, 0, 0, 0, -7, 0])), "do not fit an axis of 7"),
    "pad reflected": (one("Pad", np.array([0, 0, 7, 0, 0, 0, 0, 0]), mode="reflect"),
                      "pads 7 and 0 do not fit an axis of 7"),
    "slice axes": (one("Slice", np.array([0]), np.array([1]), np.array([4])), "axis 4 is outside"),
    "slice ends": (one("Slice", np.array([0, 0]), np.array([1])), "as many of one"),
    "slice steps": (one("Slice", np.array([0]), np.array([1]), np.array([1]), np.array([0])),
                    "one step other than zero"),
    "slice of nothing": (one("Slice", np.array([3]), np.array([3])), "no elements"),
    "split": (raw([node("Split", ["x", "s"], ["y", "z"], name="bad", axis=1)], {"x": IMAGE},
                  {"y": IMAGE, "z": IMAGE}, {"s": np.array([1, 4])}), "do not split into"),
    "gather": (one("Gather", np.array([6]), axis=1), "outside axis 1 of 6"),
    "gather of computed": (two("Gather", IMAGE, (1,)), "is computed at run time"),
    "expand": (one("Expand", np.array([5])), "does not expand to"),
    "tile": (one("Tile", np.array([5])), "1 repeats for 4 dimensions"),
    "blocks": (one("DepthToSpace", blocksize=2), "blocks of 2 do not fit"),
    "block mode": (one("DepthToSpace", blocksize=1, mode="RDC"), "mode 'RDC' is unknown"),
    "space blocks": (one("SpaceToDepth", blocksize=2), "blocks of 2 do not fit"),
    "resize mode": (resized(mode="area"), "mode 'area' with antialias=0"),
    "antialias": (resized(mode="linear", antialias=1, opset=18), "antialias=1"),
    "coordinates": (resized(coordinate_transformation_mode="tf_crop_and_resize"),
                    "'tf_crop_and_resize' are not supported"),
    "nearest mode": (resized(nearest_mode="up"), "nearest_mode 'up' is unknown"),
    "policy": (one("Resize", f(0), f(0), np.array([1, 6, 8, 8]), opset=18,
                   keep_aspect_ratio_policy="fit"), "policy 'fit' is unknown"),
    "scales": (one("Resize", f(0), f(3)), "do not fit 4 axes"),
    "three axes": (resized(3, mode="linear"), "along 3 axes"),
    "one axis of one": (one("Resize", f(0), np.float32([2]), shape=(4,), mode="linear"),
                        "one axis alone"),
    "constant forms": (raw([node("Constant", [], ["c"], name="bad", value_string="1"),
                            node("Add", ["x", "c"], ["y"])], {"x": IMAGE}, {"y": IMAGE}),
                       "tensor or numbers"),
    "blocked": (one("QuantizeLinear", f(1), np.zeros(1, np.int8), block_size=4), "blocked"),
    "int16": (one("QuantizeLinear", np.float32(1), np.int16(0)), "activations of int16"),
    "per channel": (one("QuantizeLinear", f(6), np.zeros(6, np.int8)), "one scale per tensor"),
    "scale": (one("QuantizeLinear", np.float32(0), np.int8(0)), "finite, positive"),
    "float8": (one("QuantizeLinear", np.float32(1), output_dtype=17, opset=21), "type 17"),
}
BAD["concat shapes"] = (raw([node("Concat", ["x", "b"], ["y"], name="bad", axis=1)],
                            {"x": IMAGE, "b": (1, 6, 7, 9)}, {"y": IMAGE}), "does not fit beside")


@pytest.mark.parametrize("name", BAD)
def test_the_node_and_the_rule_are_named(name):
    proto, rule = BAD[name]
    with pytest.raises(UnsupportedModel, match=rule) as caught:
        models.program_of(proto)
    assert caught.value.where.startswith("bad (")
    assert caught.value.exit_code == 3


PORTS = {
    "dynamic": (raw([node("Relu", ["x"], ["y"])], {"x": ("N", 3)}, {"y": ("N", 3)}),
                "dynamic dimensions.*--shape x="),
    "empty": (raw([node("Relu", ["x"], ["y"])], {"x": (0, 3)}, {"y": (0, 3)}), "no elements"),
    "int64": (raw([node("Relu", ["x"], ["y"])], {"x": ((2, 3), TensorProto.INT64)},
                  {"y": (2, 3)}), "is int64"),
    "constant output": (raw([node("Relu", ["x"], ["y"])], {"x": (2,)}, {"y": (2,), "c": (0,)},
                            {"c": f(0)}), "output c is a constant of 0 float32"),
    "unsigned output": (raw([node("QuantizeLinear", ["x", "s", "z"], ["y"])], {"x": (2,)},
                            {"y": ((2,), TensorProto.UINT8)},
                            {"s": np.float32(1), "z": np.uint8(3)}), "is uint8"),
}


@pytest.mark.parametrize("name", PORTS)
def test_ports_that_cannot_be(name):
    proto, rule = PORTS[name]
    with pytest.raises(UnsupportedModel, match=rule):
        models.program_of(proto)


def test_an_input_without_a_shape():
    loaded = ir.from_proto(PORTS["dynamic"][0])
    loaded.graph.inputs[0].shape = None
    with pytest.raises(UnsupportedModel, match="has no shape"):
        schedule(loaded, NULL, config=CompileConfig(), context=Context())


def weights_model(**options):
    q = Qdq()
    w, _ = q.weights((4, 6, 1, 1), **options)
    y = q.through(q.add("Conv", [q.through("x"), w]), 2.0, 4)
    return cases.finish(q, y, {"x": IMAGE}, (1, 4, 7, 8))


def test_asymmetric_weights_that_do_not_fit():
    with pytest.raises(UnsupportedModel, match="do not fit int8.*quantize weights symmetrically"):
        models.program_of(weights_model(dtype=np.uint8, zero=20))


def test_weights_scaled_along_another_axis():
    with pytest.raises(UnsupportedModel, match="index of axis 1"):
        models.program_of(weights_model(axis=1))


def test_constants_of_int16_are_refused():
    q = Qdq()
    w = q.dequantize(q.constant(np.zeros((4, 6, 1, 1), np.int16)), 0.1, 0, np.int16)
    y = q.through(q.add("Conv", [q.through("x"), w]), 2.0, 4)
    with pytest.raises(UnsupportedModel, match="constants of int16"):
        models.program_of(raw(q.nodes, {"x": IMAGE}, {y: (1, 4, 7, 8)}, q.constants, 21))


def test_dequantize_must_match_quantize():
    q = Qdq()
    y = q.dequantize(q.quantize("x", 0.1, 3), 0.2, 3)
    with pytest.raises(UnsupportedModel, match="differ from those"):
        models.program_of(cases.finish(q, y, {"x": IMAGE}, IMAGE))


def test_one_integer_input_has_one_scale():
    nodes = [node("Reshape", ["x", "s"], ["r"]),
             node("DequantizeLinear", ["x", "a", "z"], ["p"]),
             node("DequantizeLinear", ["r", "b", "z"], ["q"]),
             node("Reshape", ["q", "t"], ["u"]), node("Add", ["p", "u"], ["y"])]
    proto = raw(nodes, {"x": ((2, 3), TensorProto.INT8)}, {"y": (2, 3)},
                {"s": np.array([6]), "t": np.array([2, 3]), "a": np.float32(1),
                 "b": np.float32(2), "z": np.int8(0)})
    with pytest.raises(UnsupportedModel, match="dequantized with different"):
        models.program_of(proto)


def test_float_cannot_be_dequantized():
    with pytest.raises(UnsupportedModel, match="is float32, integers are needed"):
        models.program_of(one("DequantizeLinear", np.float32(1), np.int8(0)))


def test_integers_that_meet_before_dequantize_must_agree():
    q = Qdq()
    both = q.add("Concat", [q.quantize("x", 0.1, 3), q.quantize("x", 0.2, 3)], axis=1)
    y = q.dequantize(both, 0.1, 3)
    with pytest.raises(UnsupportedModel, match="differ in type or quantization"):
        models.program_of(raw(q.nodes, {"x": IMAGE}, {y: IMAGE}, q.constants))


def test_int8_ports_of_a_float_model():
    proto = model([node("Relu", ["x"], ["y"])], {"x": IMAGE}, {"y": IMAGE})
    with pytest.raises(ConfigError, match="io='int8', but x is not quantized"):
        models.program_of(proto, io="int8")


def test_a_target_that_allows_no_kernel_for_a_step(monkeypatch):
    proto = model([node("Relu", ["x"], ["y"], name="r")], {"x": IMAGE}, {"y": IMAGE})
    with pytest.raises(UnsupportedModel, match="r .Unary.: none of the kernels that target null"):
        models.program_of(proto, replace(NULL, kernels=("other",)))
    models.plain_catalogue(monkeypatch, ())
    with pytest.raises(UnsupportedModel, match="no kernel computes unary"):
        models.program_of(proto)


def test_the_target_chooses_among_kernels(monkeypatch):
    fast = models.plain_record("unary", "float32", name="float32_unary__fast", fast=True,
                               requires=frozenset({"neon"}), cost=lambda spec: 0.5,
                               scratch_bytes=lambda spec: spec.size)
    models.plain_catalogue(monkeypatch, (*models.PLAIN, fast))
    proto = model([node("Relu", ["x"], ["y"], name="r")], {"x": (5,)}, {"y": (5,)})
    neon = replace(NULL, features=frozenset({"neon"}))
    (step,) = models.program_of(proto, neon).entry().steps
    assert (step.kernel, step.why_not_fast, step.scratch_bytes) == (
        "float32_unary__fast", None, 5)
    (step,) = models.program_of(proto, replace(neon, kernels=("float32_unary__plain",))
                                ).entry().steps
    assert step.kernel == "float32_unary__plain" and "restricts" in step.why_not_fast


def test_a_type_that_the_target_does_not_compute_in():
    proto = model([node("Relu", ["x"], ["y"], name="r")], {"x": IMAGE}, {"y": IMAGE})
    with pytest.raises(UnsupportedModel, match="r .Unary.: target null does not compute in "
                       "float32 .needed float32, available int8.; quantize the model to int8"):
        models.program_of(proto, replace(NULL, dtypes=("int8",)))
    with pytest.raises(UnsupportedModel, match="available int4.; choose another target"):
        models.program_of(proto, replace(NULL, dtypes=("int4",)))


def test_values_are_moved_whatever_the_target_computes_in(monkeypatch):
    moving = models.plain_record("transpose", "float32")
    models.plain_catalogue(monkeypatch, (*models.PLAIN, moving))
    proto = model([node("Transpose", ["x"], ["y"], perm=[1, 0])], {"x": (3, 4)}, {"y": (4, 3)})
    models.program_of(proto, replace(NULL, dtypes=("int8",)))
