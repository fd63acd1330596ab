"""check_model: every rule is seen to fail."""

import onnx
import pytest
from model_graphs import GraphMaker

from edgecc.errors import CheckFailed
from edgecc.model import check_model, load, to_proto
from edgecc.model.check import check_proto


def small():
    make = GraphMaker()
    x = make.add("Relu", make.conv(make.input("x", [1, 3, 4, 4]), 3, 2))
    return load(make.model(make.add("Sigmoid", x)))


def swap_nodes(model):
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend([nodes[1], nodes[0], *nodes[2:]])


def rename(index, name):
    def change(model):
        model.graph.node[index].name = name

    return change


def forget_shapes(model):
    del model.graph.value_info[:]


def forget_type(model):
    info = next(v for v in model.graph.value_info if v.name == "v0")
    info.type.tensor_type.elem_type = 0


def open_dimension(model):
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"


def drop_initializer(model):
    del model.graph.initializer[0]


def define_twice(model):
    model.graph.node[1].output[0] = model.graph.node[0].output[0]


def drop_last_node(model):
    del model.graph.node[-1]


def move_data_out(model):
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL


def cut_data(model):
    tensor = model.graph.initializer[0]
    tensor.raw_data = tensor.raw_data[:-4]


def leave_function(model):
    model.functions.add(name="left", domain="local")


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (swap_nodes, "before anything defines it"),
        (rename(0, ""), "has no name"),
        (rename(0, "sigmoid_2"), "two nodes are named sigmoid_2"),
        (forget_shapes, "the shape of v0 is unknown"),
        (forget_type, "the type of v0 is unknown"),
        (open_dimension, "a dimension that is not fixed"),
        (drop_initializer, "before anything defines it"),
        (define_twice, "value v0 is defined twice"),
        (drop_last_node, "output v2 is defined by nothing"),
        (move_data_out, "are outside the model"),
        (cut_data, "do not have its shape"),
        (leave_function, "function left was not inlined"),
    ],
)
def test_a_broken_model_fails_its_check(change, finding):
    proto = to_proto(small())
    change(proto)
    with pytest.raises(CheckFailed, match=finding):
        check_proto(proto)


def test_a_loaded_model_passes():
    check_model(small())
