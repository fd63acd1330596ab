"""Arithmetic operators in float32: the interpreter against ONNX Runtime."""

import math_cases as cases
import numpy as np
import pytest
import schedule_models as models
from schedule_models import model, node


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def feeds_of(family, proto):
    feeds = models.feeds_for(proto)
    if family in ("positive", "broadcasts"):
        return {name: np.asarray(np.abs(v) + np.float32(0.5)) for name, v in feeds.items()}
    return feeds


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_float_operators_give_what_onnxruntime_gives(family):
    for _, proto in cases.FAMILIES[family]():
        feeds = feeds_of(family, proto)
        expected = models.run_ort(proto, feeds)
        for fusion in (True, False):
            found = models.run_ours(models.program_of(proto, fusion=fusion), feeds)
            models.assert_close(found, expected)


def kinds(program):
    return [step.spec.op if hasattr(step, "spec") else "copy" for step in program.entry().steps]


def test_functions_that_a_model_spells_out_are_one_step():
    for name, proto in cases.spelled_out():
        steps = models.program_of(proto).entry().steps
        assert [step.spec.kind for step in steps] == [name.replace(" ", "_")]


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_indices_of_extremes_are_those_of_onnxruntime(axis):
    for op in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            shape = [n for i, n in enumerate(cases.IMAGE) if i != axis]
            proto = model([node(op, ["x"], ["y"], axis=axis, keepdims=0,
                                select_last_index=last)], {"x": cases.IMAGE}, {"y": shape})
            proto.graph.output[0].type.tensor_type.elem_type = models.TensorProto.INT64
            feeds = {"x": np.rint(models.feeds_for(proto)["x"])}  # with equals
            found = models.run_ours(models.program_of(proto), feeds)["y"]
            assert found.dtype == np.int64
            assert np.array_equal(found, models.run_ort(proto, feeds)["y"])


def test_two_by_two_phases_of_stride_two_are_one_convolution():
    found = dict(cases.transposed_convolutions())
    program = models.program_of(found["ConvTranspose 2x2 by 2"])
    assert kinds(program) == ["conv2d", "transpose"]
    assert program.entry().steps[0].spec.k == 12
    assert kinds(models.program_of(found["ConvTranspose 3x3"])) == ["conv2d"]


def test_phases_cost_no_more_products_than_the_transposed_convolution():
    program = models.program_of(dict(cases.transposed_convolutions())["ConvTranspose 4x4 by 2"])
    macs = sum(step.macs for step in program.entry().steps if hasattr(step, "macs"))
    assert macs == 10 * 12 * 3 * 4 * (4 * 4 // 4)


def test_broadcasting_takes_operands_as_they_lie():
    """The result of a convolution has its channels last; a row of its width needs no turning."""
    nodes = [node("Conv", ["x", "w"], ["c"]), node("Mul", ["c", "r"], ["y"])]
    proto = model(nodes, {"x": (1, 6, 5, 7), "r": (5, 1)}, {"y": (1, 6, 5, 7)},
                  {"w": cases.f(6, 6, 1, 1)})
    program = models.program_of(proto)
    assert kinds(program) == ["conv2d", "broadcast"] and not program.layout_conversions


def test_interleaved_phases_leave_with_their_channels_together():
    """Turned to rows, every element would be moved alone."""
    program = models.program_of(dict(cases.transposed_convolutions())["ConvTranspose 4x4 by 2"])
    assert program.entry().outputs[0].permutation == (0, 2, 3, 1)
    turned = program.entry().steps[-1].spec
    assert turned.permutation[-1] == len(turned.shape) - 1
