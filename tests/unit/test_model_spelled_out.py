"""LayerNormalization and sums of many where a model spells them out."""

import numpy as np
import onnx_ir as ir
import pytest
import schedule_models as models
from schedule_models import model, node

from edgecc.model import load

ROWS, IMAGE = (2, 5, 12), (1, 6, 4, 5)
RANDOM = np.random.default_rng(2)


def f(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def spelled(shape, axes, root="Sqrt", square="Pow", divide="Div", scale=None, shift=None):
    """ReduceMean, Sub, Pow or Mul, ReduceMean, Add, Sqrt or Pow, Div or Mul by Reciprocal."""
    constants = {"axes": np.array(axes), "two": np.float32(2), "half": np.float32(0.5),
                 "eps": np.float32(1e-4)}
    reduced = {"axes": list(axes)}
    nodes = [node("ReduceMean", ["x"], ["mean"], **reduced), node("Sub", ["x", "mean"], ["d"]),
             node("Pow", ["d", "two"], ["sq"]) if square == "Pow" else
             node("Mul", ["d", "d"], ["sq"]),
             node("ReduceMean", ["sq"], ["var"], **reduced), node("Add", ["eps", "var"], ["ve"]),
             node("Sqrt", ["ve"], ["dev"]) if root == "Sqrt" else
             node("Pow", ["ve", "half"], ["dev"])]
    if divide == "Div":
        nodes.append(node("Div", ["d", "dev"], ["n0"]))
    else:
        nodes += [node("Reciprocal", ["dev"], ["inv"]), node("Mul", ["inv", "d"], ["n0"])]
    last = "n0"
    for name, op, value in (("n1", "Mul", scale), ("n2", "Add", shift)):
        if value is not None:
            constants[f"c_{name}"] = value
            nodes.append(node(op, [f"c_{name}", last], [name]))
            last = name
    nodes.append(node("Relu", [last], ["y"]))
    return model(nodes, {"x": shape}, {"y": shape}, constants)


CASES = {
    "plain": (spelled(ROWS, [-1]), ["LayerNormalization", "Relu"]),
    "scale and shift": (spelled(ROWS, [-1], "Pow", "Mul", "Mul", f(12), f(1, 1, 12)),
                        ["LayerNormalization", "Relu"]),
    "two axes": (spelled(IMAGE, [2, 3], scale=f(4, 5), shift=f(1, 5)),
                 ["LayerNormalization", "Relu"]),
    "shift alone": (spelled(ROWS, [2], shift=f(12)), ["LayerNormalization", "Relu"]),
    "channels": (spelled(IMAGE, [1], scale=f(6, 1, 1), shift=f(6, 1, 1)),
                 ["LayerNormalization", "Relu", "Transpose", "Transpose"]),
    "a scale of other axes": (spelled(ROWS, [-1], scale=f(5, 1)),
                              ["LayerNormalization", "Mul", "Relu"]),
}


@pytest.mark.parametrize("name", CASES)
def test_spelled_out_normalization_is_the_operator(name):
    proto, expected = CASES[name]
    loaded = load(proto)
    assert sorted(n.op_type for n in loaded.graph) == expected
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ort(ir.to_proto(loaded), feeds), models.run_ort(proto, feeds))


def test_other_axes_stay_as_they_are():
    loaded = load(spelled(IMAGE, [1, 2]))
    assert "LayerNormalization" not in [n.op_type for n in loaded.graph]


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_many_become_pairs(op, count):
    names = [f"x{i}" for i in range(count)]
    proto = model([node(op, names, ["s"]), node("Relu", ["s"], ["y"])],
                  dict.fromkeys(names, ROWS), {"y": ROWS})
    loaded = load(proto)
    assert all(len(n.inputs) <= 2 for n in loaded.graph)
    assert not {"Sum", "Mean"} & {n.op_type for n in loaded.graph}
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ort(ir.to_proto(loaded), feeds), models.run_ort(proto, feeds))


def biased(bias, order=("m", "b"), readers=1):
    nodes = [node("MatMul", ["x", "w"], ["m"], name="product"),
             node("Add", list(order), ["a"]), node("Relu", ["a"], ["y"])]
    outputs = {"y": (2, 5, 4)}
    if readers > 1:
        nodes.append(node("Neg", ["m"], ["z"]))
        outputs["z"] = (2, 5, 4)
    return model(nodes, {"x": ROWS}, outputs, {"w": f(12, 4), "b": bias})


@pytest.mark.parametrize("order", [("m", "b"), ("b", "m")])
@pytest.mark.parametrize("shape", [(4,), (1, 1, 4)])
def test_a_bias_behind_a_product_of_many_rows_becomes_its_own(order, shape):
    proto = biased(f(*shape), order)
    loaded = load(proto)
    assert sorted(n.op_type for n in loaded.graph) == ["Gemm", "Relu", "Reshape", "Reshape"]
    assert "product" in [n.name for n in loaded.graph]
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ort(ir.to_proto(loaded), feeds), models.run_ort(proto, feeds))


def test_other_additions_stay_behind_a_product():
    for proto in (biased(f(5, 1)), biased(f(1)), biased(f(4), readers=2), biased(f(2, 5, 4))):
        assert "Add" in [n.op_type for n in load(proto).graph]
