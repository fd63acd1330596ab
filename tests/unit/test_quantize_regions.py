"""Functions of one tensor are one int8 table: nothing inside them is quantized."""

from __future__ import annotations

import numpy as np
import pytest
from model_graphs import GraphMaker, feeds_of

from edgecc.config import CompileConfig
from edgecc.model import check_model, load
from edgecc.quantize import agreement, check_quantized, quantize, regions


def number(make, value):
    return make.weight(np.float32(value))


def silu(make, x):
    return make.add("Mul", x, make.add("Sigmoid", x))


def gelu(make, x):
    inner = make.add("Erf", make.add("Div", x, number(make, 2**0.5)))
    half = make.add("Mul", x, number(make, 0.5))
    return make.add("Mul", half, make.add("Add", inner, number(make, 1)))


def mish(make, x):
    return make.add("Mul", x, make.add("Tanh", make.add("Softplus", x)))


def own(make, x):
    """A function that has no name."""
    product = make.add("Mul", make.add("LeakyRelu", x), x)
    return make.add("Pow", make.add("Abs", product), number(make, 0.5))


def quantized(make, *outputs):
    model = load(make.model(*outputs))
    samples = [feeds_of(model, seed) for seed in range(8)]
    result, report = quantize(model, samples, config=CompileConfig(quantization="int8"))
    check_model(result)
    check_quantized(result)
    return model, result, report, agreement(model, result, samples)


def written(model):
    """Names of the tensors that QuantizeLinear quantizes."""
    return [n.inputs[0].name for n in model.graph if n.op_type == "QuantizeLinear"]


@pytest.mark.parametrize("function", [silu, gelu, mish, own])
def test_nothing_inside_a_function_is_quantized(function):
    make = GraphMaker()
    before = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
    after = function(make, before)
    last = make.conv(after, 4, 4)
    _, result, report, alike = quantized(make, last)
    assert written(result) == ["x", before, after, last + "_float"]
    assert report.left_in_float == () and report.int8_macs_fraction == 1.0
    assert alike["output_sqnr_db"] > 25


def runs_of(make, *outputs):
    model = load(make.model(*outputs))
    return [[node.op_type for node in run] for run in regions.find(list(model.graph))]


def test_a_value_that_others_read_ends_the_function():
    make = GraphMaker()
    x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
    gate = make.add("Sigmoid", x)
    assert runs_of(make, make.add("Mul", x, gate), gate) == []


def test_two_tensors_are_no_function_of_one():
    make = GraphMaker()
    x = make.input("x", [1, 3, 6, 6])
    gated = make.add("Mul", make.conv(x, 3, 4), make.add("Sigmoid", make.conv(x, 3, 4)))
    assert runs_of(make, gated) == []


def test_a_function_begins_where_two_tensors_meet():
    make = GraphMaker()
    x = make.input("x", [1, 3, 6, 6])
    joined = make.add("Add", make.conv(x, 3, 4), make.conv(x, 3, 4))
    assert runs_of(make, silu(make, joined)) == [["Sigmoid", "Mul"]]


def test_rows_of_constants_are_no_function_of_one_number():
    make = GraphMaker()
    x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
    scaled = make.add("Mul", make.add("Sigmoid", x), make.weight((1, 4, 1, 1)))
    assert runs_of(make, scaled) == []


def test_an_activation_that_a_convolution_takes_stays_with_it():
    make = GraphMaker()
    x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
    clipped = make.add("Clip", x, number(make, 0), number(make, 6))
    halved = make.add("Mul", clipped, number(make, 0.5))
    assert runs_of(make, make.add("Tanh", halved)) == [["Mul", "Tanh"]]


def test_long_functions_are_cut_but_stay_whole():
    make = GraphMaker()
    x = make.conv(make.input("x", [1, 3, 6, 6]), 3, 4)
    for _ in range(40):
        x = make.add("Tanh", x)
    found = runs_of(make, x)
    assert len(found) > 1 and sum(len(run) for run in found) <= 40
    assert max(len(run) for run in found) <= 16
