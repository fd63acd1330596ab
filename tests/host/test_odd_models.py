"""Small models that are odd on purpose: each works and gives ONNX Runtime's answer, or ends in the
one error that says why."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgecc
from edgecc.errors import EdgeccError, UnsupportedModel

pytestmark = pytest.mark.host
RNG = np.random.default_rng(5)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, constants=(), opset=17):
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "odd", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def conv(shape, weights, out, **attributes):
    weights = RNG.normal(0, 0.3, weights).astype(np.float32)
    return model([node("Conv", ["x", "w"], ["y"], **attributes)], [value("x", shape)],
                 [value("y", out)], [("w", weights)])


def scalar_input():
    return model([node("Add", ["x", "c"], ["y"])], [value("x", [])], [value("y", [])],
                 [("c", np.float32(2))])


def unused_input():
    return model([node("Relu", ["x"], ["y"])], [value("x", [1, 4]), value("spare", [1, 3])],
                 [value("y", [1, 4])])


def unicode_names():
    return model([node("Relu", ["größe 入力"], ["выход"], name="узел/1")],
                 [value("größe 入力", [1, 5])], [value("выход", [1, 5])])


def same_node_names():
    return model([node("Relu", ["x"], ["a"], name="n"), node("Neg", ["a"], ["y"], name="n")],
                 [value("x", [1, 5])], [value("y", [1, 5])])


def initializer_is_input():
    return model([node("Mul", ["x", "c"], ["y"])], [value("x", [1, 4]), value("c", [4])],
                 [value("y", [1, 4])], [("c", np.arange(4, dtype=np.float32))])


def output_is_input():
    return model([node("Relu", ["x"], ["y"])], [value("x", [1, 4])],
                 [value("y", [1, 4]), value("x", [1, 4])])


def constant_output():
    return model([node("Relu", ["x"], ["y"]), node("Neg", ["c"], ["z"])], [value("x", [1, 4])],
                 [value("y", [1, 4]), value("z", [3])], [("c", np.arange(3, dtype=np.float32))])


def five_dimensions():
    return model([node("Relu", ["x"], ["r"]), node("Transpose", ["r"], ["y"],
                                                   perm=[0, 4, 2, 1, 3])],
                 [value("x", [1, 2, 3, 4, 5])], [value("y", [1, 5, 3, 2, 4])])


def output_twice():
    return model([node("Relu", ["x"], ["y"]), node("Identity", ["y"], ["z"])],
                 [value("x", [1, 4])], [value("y", [1, 4]), value("z", [1, 4])])


def long_chain():
    names = ["x", *(f"t{i}" for i in range(59)), "y"]
    return model([node("Relu" if i % 2 else "Neg", [a], [b])
                  for i, (a, b) in enumerate(zip(names, names[1:], strict=False))],
                 [value("x", [1, 7])], [value("y", [1, 7])])


def int64_indices():
    return model([node("Gather", ["x", "i"], ["y"], axis=1)], [value("x", [1, 6])],
                 [value("y", [1, 3])], [("i", np.array([5, 0, -2], np.int64))])


def empty_graph():
    return model([], [value("x", [1, 4])], [value("x", [1, 4])])


def zero_size():
    return model([node("Relu", ["x"], ["y"])], [value("x", [1, 0, 4])], [value("y", [1, 0, 4])])


def unknown_operator():
    return model([helper.make_node("Frobnicate", ["x"], ["y"], domain="com.example")],
                 [value("x", [1, 4])], [value("y", [1, 4])])


WORK = {
    "unused input": unused_input, "unicode names": unicode_names,
    "initializer is input": initializer_is_input,
    "output is input": output_is_input, "constant output": constant_output,
    "five dimensions": five_dimensions, "one value twice": output_twice,
    "sixty nodes": long_chain, "int64 indices": int64_indices, "scalar input": scalar_input,
    "huge pads": lambda: conv([1, 2, 4, 4], (3, 2, 3, 3), [1, 3, 42, 42], pads=[20, 20, 20, 20]),
    "stride above kernel": lambda: conv([1, 2, 9, 9], (3, 2, 2, 2), [1, 3, 2, 2], strides=[5, 5]),
    "dilated beyond the image": lambda: conv([1, 2, 4, 4], (3, 2, 3, 3), [1, 3, 4, 4],
                                             dilations=[5, 5], pads=[5, 5, 5, 5]),
    "depthwise of multiplier 3": lambda: conv([1, 4, 5, 5], (12, 1, 3, 3), [1, 12, 5, 5],
                                              pads=[1, 1, 1, 1], group=4),
    "one pixel": lambda: conv([1, 1, 1, 1], (1, 1, 1, 1), [1, 1, 1, 1]),
    "prime sizes": lambda: conv([1, 7, 11, 13], (17, 7, 5, 3), [1, 17, 7, 11]),
    "asymmetric pads": lambda: conv([1, 3, 6, 7], (5, 3, 3, 4), [1, 5, 7, 6], pads=[2, 0, 1, 2]),
    "empty graph": empty_graph,
}
REFUSED = {
    "zero-size dimension": (zero_size, "dimension 1"),
    "unknown operator": (unknown_operator, "Frobnicate"),
    "two nodes of one name, as in ONNX Runtime": (same_node_names, "same node name"),
}


def feeds(made):
    given = {t.name for t in made.graph.initializer}
    return {i.name: np.asarray(RNG.normal(0, 1, [d.dim_value for d in
                                                 i.type.tensor_type.shape.dim]), np.float32)
            for i in made.graph.input if i.name not in given}


@pytest.mark.parametrize("quantization", ["none", "int8"])
@pytest.mark.parametrize("name", WORK)
def test_an_odd_model_works(name, quantization):
    made = WORK[name]()
    onnx.checker.check_model(made)
    samples = [feeds(made) for _ in range(4)]
    bundle = edgecc.compile(made, target="host", quantization=quantization, name="odd",
                            calibration=samples if quantization == "int8" else None)
    found = bundle.run(samples[0])
    session = onnxruntime.InferenceSession(made.SerializeToString())
    inputs = {i.name for i in made.graph.input}  # an output that is an input is told apart
    names = [f"{o.name}_out" if o.name in inputs else o.name for o in made.graph.output]
    for output, expected in zip(names, session.run(None, samples[0]), strict=True):
        limit = 1e-4 if quantization == "none" else 0.1
        error = np.abs(np.asarray(found[output], np.float64) - expected).max()
        assert error <= limit * max(1e-3, np.abs(expected).max()), (output, error)


@pytest.mark.parametrize("name", REFUSED)
def test_an_impossible_model_is_refused_in_words(name):
    build, words = REFUSED[name]
    with pytest.raises(UnsupportedModel, match=words) as error:
        edgecc.compile(build(), target="host", name="odd")
    assert isinstance(error.value, EdgeccError) and error.value.exit_code == 3
