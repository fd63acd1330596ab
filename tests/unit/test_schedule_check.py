"""The judge of Programs: a sound one passes, and each broken rule is found."""

from dataclasses import replace

import numpy as np
import pytest
import schedule_cases as cases
import schedule_models as models

from edgecc.errors import CheckFailed, ConfigError
from edgecc.kernels.spec import Unary
from edgecc.schedule import check_program
from edgecc.schedule.interpret import interpret, run_step, to_port
from edgecc.schedule.program import (
    Branch,
    Buffer,
    Copy,
    Entry,
    InPlace,
    Kernel,
    Loop,
    Npu,
    Port,
    Program,
    Quantization,
    View,
)


@pytest.fixture
def program(monkeypatch):
    models.plain_catalogue(monkeypatch)
    q = models.Qdq()
    x = q.through("x", 0.05, 3)
    w, s = q.weights((6, 6, 1, 1))
    c = q.through(q.add("Conv", [x, w, q.bias(s)]), 0.4, 5)
    y = q.through(q.add("Sigmoid", [c]), 1 / 256, -128)
    return models.program_of(cases.finish(q, y, {"x": (1, 6, 3, 4)}, (1, 6, 3, 4)))


def with_step(program, index, **changes):
    entry = program.entry()
    steps = list(entry.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(program, entries=(replace(entry, steps=tuple(steps)),))


def with_view(program, index, **changes):
    view = program.entry().steps[index].inputs[0]
    return with_step(program, index, inputs=(replace(view, **changes),))


def with_port(program, kind, **changes):
    entry = program.entry()
    port = replace(getattr(entry, kind)[0], **changes)
    return replace(program, entries=(replace(entry, **{kind: (port,)}),))


def with_buffer(program, index, **changes):
    buffers = list(program.buffers)
    buffers[index] = replace(buffers[index], **changes)
    return replace(program, buffers=tuple(buffers))


def with_constant(program, index, **changes):
    constants = {**program.entry().steps[index].constants, **changes}
    return with_step(program, index, constants={k: v for k, v in constants.items()
                                                if v is not None})


def twice(program):
    entry = program.entry()
    again = replace(entry.steps[1], name="again")
    return replace(program, entries=(replace(entry, steps=(*entry.steps, again)),))


def onto_input(program):
    step = program.entry().steps[1]
    target = replace(program.entry().inputs[0].view, quantization=None)
    return with_step(program, 1, outputs=(replace(step.outputs[0], buffer=target.buffer),))


def shared_output(program):
    entry = program.entry()
    other = replace(entry.outputs[0], name="z")
    return replace(program, entries=(replace(entry, outputs=(*entry.outputs, other)),))


def view_of(program):
    return program.entry().inputs[0].view


BROKEN = {
    "no entry": (lambda p: replace(p, entries=()), "has no entry"),
    "twin buffers": (lambda p: replace(p, buffers=(*p.buffers, p.buffers[0])),
                     "buffer name is not unique"),
    "twin entries": (lambda p: replace(p, entries=p.entries * 2), "entry name is not unique"),
    "twin steps": (lambda p: with_step(p, 1, name=p.entry().steps[0].name),
                   "step name is not unique"),
    "empty buffer": (lambda p: with_buffer(p, 0, size_bytes=0), "is empty"),
    "alignment": (lambda p: with_buffer(p, 0, align_bytes=12), "odd alignment"),
    "conversions": (lambda p: replace(p, layout_conversions=1), "counts 1 layout conversions"),
    "order": (lambda p: replace(p, entries=(replace(
        p.entry(), steps=p.entry().steps[::-1]),)), "that nothing wrote"),
    "unwritten output": (lambda p: replace(p, entries=(replace(
        p.entry(), steps=p.entry().steps[:1]),)), "is not written completely"),
    "written twice": (twice, "a second time"),
    "writes the input": (onto_input, "writes the input"),
    "shared output": (shared_output, "shares its buffer"),
    "unknown buffer": (lambda p: with_view(p, 0, buffer="nowhere"), "has no buffer 'nowhere'"),
    "dtype": (lambda p: with_view(p, 0, dtype="int7"), "unknown dtype int7"),
    "shape": (lambda p: with_view(p, 0, shape=(1, 0, 4, 6)), "has shape"),
    "offset": (lambda p: with_view(p, 0, offset_bytes=-1), "starts at byte -1"),
    "past the end": (lambda p: with_view(p, 0, offset_bytes=1), "ends at byte 73 of x"),
    "strides": (lambda p: with_view(p, 0, strides=(1,)), "has strides"),
    "strided": (lambda p: with_view(p, 0, strides=(72, 6, 18, 1)), "strided view"),
    "quantization": (lambda p: with_view(p, 0, quantization=Quantization(0.0, 0)),
                     "has quantization"),
    "input kind": (lambda p: with_buffer(p, 0, kind="activation"), "of kind activation"),
    "port shape": (lambda p: with_port(p, "inputs", model_shape=(1, 6, 3, 5)), "the model"),
    "permutation": (lambda p: with_port(p, "inputs", permutation=(0, 1, 1, 2)),
                    "has permutation"),
    "other permutation": (lambda p: with_port(p, "inputs", permutation=(0, 3, 2, 1)),
                          "after its permutation"),
    "strided port": (lambda p: with_port(p, "inputs", view=replace(
        view_of(p), strides=(72, 6, 18, 1))), "is not contiguous"),
    "no kernel": (lambda p: with_step(p, 0, kernel=""), "has no kernel"),
    "macs": (lambda p: with_step(p, 0, macs=1), "claims 1 MAC"),
    "view shape": (lambda p: with_view(p, 0, shape=(1, 4, 3, 6)), "its spec"),
    "in place": (lambda p: with_step(p, 1, in_place=(InPlace(1, 0),)), "InPlace"),
    "missing constant": (lambda p: with_constant(p, 0, bias=None), "lacks the constant bias"),
    "bias type": (lambda p: with_constant(p, 0, bias=np.zeros(6)), "bias is float64"),
    "scale shape": (lambda p: with_constant(p, 0, scale=np.ones(5, np.float32)), "scale is"),
    "scale value": (lambda p: with_constant(p, 0, scale=np.full(6, np.nan, np.float32)),
                    "has NaN"),
    "narrow weights": (lambda p: with_constant(p, 0, weights=np.full(
        (6, 1, 1, 6), -128, np.int8)), "weights of -128 and does not say so"),
    "short sums": (lambda p: with_constant(with_step(p, 0, spec=replace(
        p.entry().steps[0].spec, short_sums=True)), 0, output_zero_point=1),
        "says that its sums are short"),
    "zero point": (lambda p: with_constant(p, 0, input_zero_point=200), "input_zero_point is 200"),
}


def test_what_schedule_makes_is_sound(program):
    check_program(program)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_found(program, name):
    change, rule = BROKEN[name]
    with pytest.raises(CheckFailed, match=rule):
        check_program(change(program))


def flat(buffer, offset=0, size=4, dtype="float32"):
    return View(buffer, dtype, (size,), "flat", offset)


def relu(name, source, target):
    return Kernel(name, Unary("float32", "relu", 4), "k", (source,), (target,))


def small(*steps):
    buffers = (Buffer("in", 16, "input"), Buffer("mid", 16), Buffer("out", 16, "output"),
               Buffer("memory", 16, "state"))
    entry = Entry("run", (Port("in", flat("in"), (4,)),), (Port("out", flat("out"), (4,)),), steps)
    return Program("p", buffers, (entry,))


def test_other_kinds_of_steps_are_judged():
    first, second = relu("a", flat("in"), flat("mid")), relu("b", flat("mid"), flat("out"))
    state = relu("s", flat("memory"), flat("memory"))
    check_program(small(first, second, state))
    loop = Loop("l", 3, (relu("inner", flat("in"), flat("mid")),), (), (flat("mid"),))
    check_program(small(loop, second))
    branch = Branch("c", flat("in"), (replace(first, name="t"),), (replace(first, name="e"),),
                    (), (flat("mid"),))
    check_program(small(branch, second))
    check_program(small(Npu("n", "null", "go", (flat("in"),), (flat("mid"),)), second))
    with pytest.raises(CheckFailed, match="never runs"):
        check_program(small(replace(loop, count=0), second))
    with pytest.raises(CheckFailed, match="has no entry point"):
        check_program(small(Npu("n", "null", "", (flat("in"),), (flat("mid"),)), second))
    with pytest.raises(CheckFailed, match="different shapes"):
        check_program(small(Copy("c", flat("in"), flat("mid", size=2)), second))


def test_inputs_of_the_interpreter_must_fit(program):
    (port,) = program.entry().inputs
    value = to_port(port, np.zeros(port.model_shape, np.float32))
    with pytest.raises(ConfigError, match="do not match the model's .needed x, available y"):
        interpret(program, {"y": value})
    with pytest.raises(ConfigError, match="wrong type or shape .needed int8"):
        interpret(program, {"x": value.astype(np.float32)})
    with pytest.raises(ConfigError, match="Npu steps are not interpreted"):
        run_step({}, Npu("n", "null", "go", (), ()))


def test_interpret_honours_offsets_and_strides():
    middle = replace(flat("mid", size=2), strides=(2,))
    odd = replace(middle, offset_bytes=4)
    steps = (Copy("c", flat("in", 8, 2), middle), Copy("d", flat("in", 0, 2), odd),
             relu("r", flat("mid"), flat("out")))
    program = small(*steps)
    check_program(program)
    out = interpret(program, {"in": np.float32([1, -2, 3, 4])})["out"]
    assert out.tolist() == [3, 1, 4, 0]
