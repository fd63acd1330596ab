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


def test_channels_of_images_are_copied_into_place_and_nothing_is_transposed():
    program = checked(two_convs(1, (1, 9, 5, 4)))
    assert program.layout_conversions == 0
    first, second = (s.target for s in copies(program))
    assert first.buffer == second.buffer and second.offset_bytes == 4 * 4
    assert first.strides[-2:] == second.strides[-2:] == (9, 1)
    tail = (node("Conv", ["y", "u"], ["z"]),)
    nodes = two_convs(1, (1, 9, 5, 4)).graph.node
    proto = model([*nodes, *tail], {"x": (1, 6, 5, 4)}, {"z": (1, 2, 5, 4)},
                  {"w": f(4, 6, 1, 1), "v": f(5, 6, 1, 1), "u": f(2, 9, 1, 1)})
    assert checked(proto).layout_conversions == 0


def slices(*ranges, axis=1):
    """Constants and nodes that cut x into pieces s0, s1, ..."""
    constants = {f"{end}{i}": np.array([v]) for i, r in enumerate(ranges)
                 for end, v in zip(("from", "to"), r, strict=True)} | {"axis": np.array([axis])}
    return constants, [node("Slice", ["x", f"from{i}", f"to{i}", "axis"], [f"s{i}"])
                       for i in range(len(ranges))]


def test_a_slice_goes_straight_into_its_part():
    constants, nodes = slices((4, 6), (0, 3), axis=2)
    nodes += [node("Concat", ["s0", "s1"], ["y"], axis=2)]
    program = checked(model(nodes, {"x": (2, 3, 6)}, {"y": (2, 3, 5)}, constants))
    first, second = copies(program)
    assert len(program.entry().steps) == 2
    assert first.source.offset_bytes == 16 and first.source.strides == (18, 6, 1)
    assert first.target.strides == second.target.strides == (15, 5, 1)
    assert second.target.offset_bytes == 8


def test_contiguous_slices_are_views():
    constants, nodes = slices((0, 2), (2, 5), (4, 6))
    nodes += [node("Relu", [f"s{i}"], [f"r{i}"]) for i in range(3)]
    nodes += [node("Add", ["r1", "r1"], ["y1"])]
    program = checked(model(nodes, {"x": (1, 6, 4)}, {"r0": (1, 2, 4), "y1": (1, 3, 4),
                                                      "r2": (1, 2, 4)}, constants))
    assert not copies(program) and len(program.entry().steps) == 4
    relus = [s for s in program.entry().steps if s.spec.op == "unary"]
    assert [s.inputs[0].offset_bytes for s in relus] == [0, 32, 64]


def test_a_view_that_is_an_output_or_a_part_is_copied():
    constants, nodes = slices((0, 2), (2, 5))
    nodes = [node("Neg", ["v"], ["x"]), *nodes, node("Concat", ["s1", "s0"], ["z"], axis=1),
             node("Exp", ["z"], ["y"])]
    program = checked(model(nodes, {"v": (1, 6, 4)}, {"y": (1, 5, 4), "s1": (1, 3, 4)}, constants))
    assert len(copies(program)) == 3
    assert all(p.view.offset_bytes == 0 for p in program.entry().outputs)


def test_concatenations_of_concatenations_are_one():
    constants, nodes = slices((0, 1), (1, 3), (3, 6), axis=2)
    nodes += [node("Concat", ["s2", "s1"], ["d"], axis=2),
              node("Concat", ["d", "s0"], ["e"], axis=2),
              node("Relu", ["e"], ["y"])]
    program = checked(model(nodes, {"x": (2, 3, 6)}, {"y": (2, 3, 6)}, constants))
    assert len(copies(program)) == 3 and len(program.entry().steps) == 4


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_constants_among_the_parts(axis):
    shape = [2, 3, 4, 5]
    shape[axis] = 2
    out = [2, 3, 4, 5]
    out[axis] += 2
    nodes = [node("Conv", ["x", "w"], ["a"]), node("Concat", ["a", "k"], ["y"], axis=axis)]
    program = checked(model(nodes, {"x": (2, 6, 4, 5)}, {"y": out},
                            {"w": f(3, 6, 1, 1), "k": f(*shape)}))
    assert "fixed" in [s.spec.op for s in program.entry().steps if not isinstance(s, Copy)]
    assert program.layout_conversions == 0


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
