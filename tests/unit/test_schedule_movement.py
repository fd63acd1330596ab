"""Operators that move elements against ONNX Runtime: many layouts, dtypes and forms."""

from dataclasses import replace

import movement_cases as cases
import numpy as np
import pytest
import schedule_models as models
from movement_cases import CASES, MOVES, RESIZES
from onnx import helper

from edgecc.errors import CheckFailed
from edgecc.schedule import check_program
from edgecc.schedule.program import Copy

IMAGES = [name for name, case in CASES.items() if len(case[1]) == 4 and case[1][1] > 1]
EVEN = [name for name in IMAGES if CASES[name][1][1] % 2 == 0]


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    models.plain_catalogue(monkeypatch)


def feeds_of(proto, dtype="float32"):
    random = np.random.default_rng(1)
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
              for v in proto.graph.input}
    if dtype == "float32":
        return {n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    return {n: random.integers(0, 2 if dtype == "bool" else 100, s).astype(dtype)
            for n, s in shapes.items()}


def compared(proto, dtype="float32", **config):
    program = models.program_of(proto, **config)
    feeds = feeds_of(proto, dtype)
    ours, theirs = models.run_ours(program, feeds), models.run_ort(proto, feeds)
    for name, value in theirs.items():
        assert ours[name].dtype == value.dtype and ours[name].shape == value.shape
    if dtype == "float32":
        models.assert_close(ours, theirs)
    else:
        assert all(np.array_equal(ours[name], value) for name, value in theirs.items())
    return program


@pytest.mark.parametrize("name", CASES)
def test_on_a_model_input(name):
    compared(cases.plain(name))


@pytest.mark.parametrize("name", IMAGES)
def test_between_operators_on_images(name):
    proto = cases.between(name)
    compared(proto)
    compared(proto, fusion=False)


@pytest.mark.parametrize("name", EVEN)
def test_after_a_channel_shuffle(name):
    compared(cases.shuffled(name))


SELDOM = {"bool": ("slice backwards", "pad with a number", "transpose of 5-D", "tile"),
          "uint8": ("gather a table", "split", "pad reflected"),
          "int32": ("slice with steps", "expand", "depth to space"),
          "int64": ("gather many", "pad with a number", "transpose", "slice of one row"),
          "float64": ("slice", "tile channels"), "int8": ("gather", "pad", "space to depth"),
          "float16": ("slice", "reshape"), "int16": ("reshape", "transpose")}


@pytest.mark.parametrize(("dtype", "name"), [(d, n) for d, names in SELDOM.items() for n in names])
def test_other_dtypes(dtype, name):
    if dtype == "bool" and "pad" in name:
        pytest.skip("ONNX Runtime pads bool from opset 19 on only")
    try:
        proto = cases.plain(name, dtype)
        models.run_ort(proto, feeds_of(proto, dtype))
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error):
            raise
        pytest.skip(f"ONNX Runtime has no {dtype} {name}")
    compared(proto, dtype)


def quantized(name, scale=0.05, zero=3):
    """The operator between QDQ pairs of one scale and zero point."""
    q = models.Qdq()
    node, constants, opset = cases.case_node(name, q.through("x", scale, zero), ["moved"])
    q.nodes.append(node)
    q.constants |= constants
    y = q.through("moved", scale, zero)
    return cases.built(q.nodes, {"x": CASES[name][1]}, [y], q.constants, opset)


@pytest.mark.parametrize("name", [n for n in MOVES if CASES[n][4] == 1 and "number" not in n])
def test_integers_are_moved_as_they_are(name):
    proto = quantized(name)
    program = compared(proto)
    assert {v.dtype for s in program.entry().steps for v in (*s.inputs, *s.outputs)} <= {"int8"}


@pytest.mark.parametrize("name", [n for n in RESIZES if "nearest" not in n and "not_" not in n])
def test_interpolated_integers_are_within_one_of_the_exact_ones(name):
    proto = quantized(name)
    program = models.program_of(proto)
    assert [s.spec.dtype for s in program.entry().steps] == ["int8"]
    feeds = feeds_of(proto)
    ours, theirs = (run(each, feeds) for run, each in ((models.run_ours, program),
                                                       (models.run_ort, proto)))
    for key, value in theirs.items():
        assert np.abs(np.rint((ours[key] - value) / 0.05)).max() <= 1


@pytest.mark.parametrize("scale", [0.05, 0.25])
def test_what_is_filled_in_is_quantized_like_the_output(scale):
    q = models.Qdq()
    padded = q.add("Pad", [q.through("x", 0.05, 3), q.constant(cases.i64(0, 0, 1, 0, 0, 0, 1, 1)),
                           q.constant(np.float32(0.77))])
    y = q.through(padded, scale, -9)
    proto = cases.built(q.nodes, {"x": cases.IMAGE}, [y], q.constants, 17)
    program = compared(proto)
    assert [s.spec.op for s in program.entry().steps][-1] == "take"


def test_a_constant_among_int8_parts_is_quantized_at_compile_time():
    q = models.Qdq()
    parts = [q.through("x", 0.05, 3), q.constant(np.full((2, 1, 7, 8), 0.3, np.float32))]
    y = q.through(q.add("Concat", parts, axis=1), 0.05, 3)
    program = compared(cases.built(q.nodes, {"x": cases.IMAGE}, [y], q.constants, 17))
    fixed = [s for s in program.entry().steps if not isinstance(s, Copy)]
    assert [s.spec.text() for s in fixed] == ["fixed(dtype='int8', size=112)"]


def test_selections_in_a_row_are_one_step():
    """The shortcut of a CIFAR ResNet: every second pixel, and more channels of zeros."""
    nodes = [models.node("Slice", ["x", "s", "e", "h", "two"], ["a"]),
             models.node("Slice", ["a", "s", "e", "w", "two"], ["b"]),
             models.node("Pad", ["b", "p"], ["y"])]
    constants = {"s": cases.i64(0), "e": cases.i64(100), "h": cases.i64(2), "w": cases.i64(3),
                 "two": cases.i64(2), "p": cases.i64(0, 2, 0, 0, 0, 2, 0, 0)}
    program = compared(cases.built(nodes, {"x": cases.IMAGE}, ["y"], constants, 17))
    assert len(program.entry().steps) == 1


def test_every_second_channel_after_a_shuffle_is_one_copy():
    nodes = [models.node("Conv", ["x", "k"], ["t"]), models.node("Reshape", ["t", "c"], ["r"]),
             models.node("Transpose", ["r"], ["q"], perm=[1, 0, 2]),
             models.node("Reshape", ["q", "g"], ["z"]),
             models.node("Gather", ["z", "i"], ["u"], axis=0), models.node("Relu", ["u"], ["y"])]
    constants = {"k": np.ones((6, 3, 1, 1), np.float32), "c": cases.i64(3, 2, 20),
                 "g": cases.i64(2, -1, 3, 4, 5), "i": np.array(1)}
    program = compared(cases.built(nodes, {"x": (1, 3, 4, 5)}, ["y"], constants, 17))
    assert program.layout_conversions == 0
    copy, = (s for s in program.entry().steps if isinstance(s, Copy))
    assert copy.source.shape[-2:] == (3, 1) and copy.source.strides[-2:] == (2, 1)


def test_blocks_cost_one_conversion():
    nodes = [models.node("Conv", ["x", "w"], ["a"]),
             models.node("DepthToSpace", ["a"], ["b"], blocksize=2),
             models.node("Conv", ["b", "v"], ["y"])]
    constants = {"w": np.ones((12, 3, 1, 1), np.float32), "v": np.ones((2, 3, 1, 1), np.float32)}
    program = compared(cases.built(nodes, {"x": (1, 3, 4, 5)}, ["y"], constants, 17))
    assert program.layout_conversions == 1


def with_spec(program, spec=None, **constants):
    """The program with its last step reading elsewhere."""
    entry = program.entry()
    step = entry.steps[-1]
    changed = replace(step, spec=spec or step.spec, constants={**step.constants, **constants})
    return replace(program, entries=(replace(entry, steps=(*entry.steps[:-1], changed)),))


def test_the_judge_sees_indices_outside_of_an_axis():
    program = models.program_of(cases.plain("pad edges"))
    spec = program.entry().steps[-1].spec
    check_program(with_spec(program, spec))
    first, *others = spec.axes[-1]
    for start in (-5, 8):
        axes = (*spec.axes[:-1], (replace(first, start=start), *others))
        with pytest.raises(CheckFailed, match="of axis .*, which has"):
            check_program(with_spec(program, replace(spec, axes=axes)))
    program = models.program_of(cases.plain("gather many"))
    for index in (-2, 50):
        tables = program.entry().steps[-1].constants["tables"].copy()
        tables[7] = index
        with pytest.raises(CheckFailed, match="of axis 1, which has 50"):
            check_program(with_spec(program, tables=tables))
    program = models.program_of(cases.plain("linear odd asymmetric"))
    with pytest.raises(CheckFailed, match="of columns, which has 8"):
        columns = program.entry().steps[-1].constants["columns"]
        check_program(with_spec(program, columns=columns + 1))


def test_outputs_that_never_change_are_written_in_every_run():
    nodes = [models.node("Shape", ["x"], ["s"]), models.node("Relu", ["x"], ["y"]),
             models.node("Constant", [], ["n"], value_floats=[1.0, 2.0])]
    proto = helper.make_model(helper.make_graph(
        nodes, "g", cases.ports({"x": (2, 3)}, "float32"),
        [*cases.ports({"y": (2, 3), "n": (2,)}, "float32"), *cases.ports({"s": (2,)}, "int64")]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program = compared(proto)
    assert [s.spec.op for s in program.entry().steps].count("fixed") == 2
