"""Concatenation: parts are produced in place where they can be, copied where they cannot."""

import numpy as np
import pytest
import schedule_models as models
from schedule_models import model, node

from edgecc.schedule.program import Copy

R = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def f(*shape):
    return R.standard_normal(shape).astype(np.float32)


def checked(proto):
    program = models.program_of(proto)
    feeds = models.feeds_for(proto)
    models.assert_close(models.run_ours(program, feeds), models.run_ort(proto, feeds))
    return program


def copies(program):
    return [s for s in program.entry().steps if isinstance(s, Copy)]


def two_convs(axis, out, first=(4, 6, 1, 1), second=(5, 6, 1, 1)):
    nodes = [node("Conv", ["x", "w"], ["a"]), node("Conv", ["x", "v"], ["b"]),
             node("Concat", ["a", "b"], ["y"], axis=axis)]
    return model(nodes, {"x": (1, 6, 5, 4)}, {"y": out},
                 {"w": f(*first), "v": f(*second)})


def test_rows_are_produced_where_they_belong():
    program = checked(two_convs(2, (1, 4, 10, 4), second=(4, 6, 1, 1)))
    assert not copies(program) and len(program.entry().steps) == 2
    first, second = program.entry().steps
    assert first.outputs[0].buffer == second.outputs[0].buffer
    assert second.outputs[0].offset_bytes == 5 * 4 * 4 * 4


def test_channels_of_images_are_converted_into_place():
    program = checked(two_convs(1, (1, 9, 5, 4)))
    assert not copies(program) and program.layout_conversions == 2
    first, second = (s.outputs[0] for s in program.entry().steps if s.spec.op == "transpose")
    assert first.buffer == second.buffer and second.offset_bytes == 4 * 20 * 4
    tail = (node("Conv", ["y", "u"], ["z"]),)
    nodes = two_convs(1, (1, 9, 5, 4)).graph.node
    proto = model([*nodes, *tail], {"x": (1, 6, 5, 4)}, {"z": (1, 2, 5, 4)},
                  {"w": f(4, 6, 1, 1), "v": f(5, 6, 1, 1), "u": f(2, 9, 1, 1)})
    assert checked(proto).layout_conversions == 3


def test_channels_of_one_pixel_are_contiguous():
    pools = [node("GlobalAveragePool", [n], [f"g{n}"]) for n in "ab"]
    nodes = [node("Conv", ["x", "w"], ["a"]), node("Conv", ["x", "v"], ["b"]), *pools,
             node("Concat", ["ga", "gb"], ["c"], axis=1), node("Flatten", ["c"], ["y"])]
    proto = model(nodes, {"x": (1, 6, 5, 4)}, {"y": (1, 9)},
                  {"w": f(4, 6, 1, 1), "v": f(5, 6, 1, 1)})
    program = checked(proto)
    assert not copies(program) and len(program.entry().steps) == 4


def test_nested_concatenations_share_one_buffer():
    nodes = [node("Relu", ["x"], ["a"]), node("Neg", ["x"], ["b"]), node("Abs", ["x"], ["c"]),
             node("Concat", ["a", "b"], ["d"], axis=0), node("Concat", ["d", "c"], ["y"], axis=0)]
    program = checked(model(nodes, {"x": (2, 3)}, {"y": (6, 3)}))
    assert not copies(program)
    assert [s.outputs[0].offset_bytes for s in program.entry().steps] == [0, 24, 48]


def test_inputs_repeats_and_outputs_are_copied():
    nodes = [node("Relu", ["x"], ["a"]), node("Concat", ["a", "x", "a"], ["y"], axis=0)]
    program = checked(model(nodes, {"x": (2, 3)}, {"y": (6, 3), "a": (2, 3)}))
    assert len(copies(program)) == 3
    assert len(copies(checked(model(nodes, {"x": (2, 3)}, {"y": (6, 3)})))) == 2


def test_a_part_that_others_read_too():
    nodes = [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["b"]),
             node("Concat", ["b", "a"], ["c"], axis=1), node("Exp", ["c"], ["y"])]
    program = checked(model(nodes, {"x": (1, 3)}, {"y": (1, 6)}))
    assert not copies(program)
