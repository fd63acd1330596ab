"""What the C API cannot say is refused, and inconsistent values are our own bug."""

import dataclasses

import pytest

from edgecc.errors import CheckFailed, UnsupportedModel
from edgecc.lower.api_facts import facts_of, tensor_facts
from edgecc.lower.objects import Argument, Call, Objects
from edgecc.lower.run_function import generate
from edgecc.memory.plan import MemoryPlan, Placement
from edgecc.schedule.program import Buffer, Entry, Port, Program, View

PLAN = MemoryPlan((Placement("x", "ram", 0, 64, 0, 1),), 64, 64, 64, 0, "s", "given")
CALL = Call("s", "p_k", (Argument("arena", 0), Argument("arena", 32)), 1)


def program(view=None, **changes) -> Program:
    port = Port("in", view or View("x", "int8", (2, 2), "NC"), (2, 2))
    made = Program("p", (Buffer("x", 64, "input"),), (Entry("run", (port,), (port,), ()),))
    return dataclasses.replace(made, **changes)


def made(program_, *calls, prefix="p"):
    return generate(program_, PLAN, Objects({}, calls, b""), prefix=prefix, version="1")


def test_one_entry_only():
    entry = program().entries[0]
    with pytest.raises(UnsupportedModel, match="needed 1 entry, 0 states, available 2 entries"):
        made(program(entries=(entry, entry)))


def test_no_states_yet():
    with pytest.raises(UnsupportedModel, match="1 states"):
        made(program(buffers=(Buffer("x", 64, "state"),)))


def test_shapes_of_more_than_eight_dimensions():
    view = View("x", "int8", (1,) * 9, "N")
    with pytest.raises(UnsupportedModel, match="in: .*needed 9 dimensions, available 8"):
        made(program(view))


def test_ports_are_contiguous():
    with pytest.raises(CheckFailed, match="'in' is not contiguous"):
        made(program(View("x", "int8", (2, 2), "NC", strides=(4, 1))))
    made(program(View("x", "int8", (2, 2), "NC", strides=(2, 1))))


@pytest.mark.parametrize("prefix", ["../x", "a b", ""])
def test_prefixes_are_identifiers(prefix):
    with pytest.raises(CheckFailed, match="not a C identifier"):
        made(program(), prefix=prefix)


def test_symbols_are_identifiers():
    with pytest.raises(CheckFailed, match="not a C identifier"):
        made(program(), dataclasses.replace(CALL, symbol="system(0);x"))


def test_calls_of_one_kernel_agree():
    with pytest.raises(CheckFailed, match="calls of p_k disagree"):
        made(program(), CALL, dataclasses.replace(CALL, arguments=CALL.arguments[:1]))


def test_a_constant_may_stand_where_another_call_has_an_activation():
    weights = dataclasses.replace(CALL, arguments=(Argument("weights", 8), CALL.arguments[1]))
    text = made(program(), CALL, weights)["src/p.c"]
    assert "void p_k(const void *, void *, const int32_t *, int32_t, int32_t);" in text


def test_calls_in_a_row_of_one_step_are_one_step():
    facts = facts_of(program(), PLAN, Objects({}, (CALL, CALL), b""), prefix="p", version="1")
    assert [(name, len(calls)) for name, calls in facts.steps] == [("s", 2)]


def test_unquantized_tensors_have_no_scale():
    described = tensor_facts(program().entries[0].inputs[0])
    assert described == {"name": "in", "shape": [2, 2], "dtype": "int8", "layout": "NC",
                         "bytes": 4, "scale": None, "zero_point": None}
