"""Arithmetic of instruction counts: steady state, steps, and what does not repeat."""

import dataclasses

import pytest

from edgecc.errors import BoardError
from edgecc.rpc.icount import Tally, match_steps, parse_tally, steady_state

TEXT = """total 1000
runs 1
own 20
call 0 300 conv
call 1 17 ?
call 2 400 conv
symbol 700 conv
symbol 20 m_run
"""
ONE = parse_tally(TEXT)
THREE = Tally(3000, 3, 60, (("conv", 900), ("?", 51), ("conv", 1200)),
              {"conv": 2100, "m_run": 60})
STEPS = ["conv", "memcpy", "conv"]


def test_the_plug_ins_file_is_read():
    assert ONE.calls == (("conv", 300), ("?", 17), ("conv", 400))
    assert (ONE.total, ONE.runs, ONE.own) == (1000, 1, 20)
    assert ONE.symbols == {"conv": 700, "m_run": 20}


@pytest.mark.parametrize("text", ["", "total 1", "total x\nruns 1\nown 1", TEXT + "call 9 1 x",
                                  TEXT + "what 1"])
def test_nonsense_is_refused(text):
    with pytest.raises(BoardError, match="instruction counter wrote nonsense"):
        parse_tally(text)


def test_a_figure_is_what_one_run_executed():
    counts = steady_state(ONE, THREE, STEPS)
    assert (counts.total, counts.steps, counts.reason) == (737, (300, 17, 400), None)
    assert counts.symbols == {"conv": 700, "m_run": 20}


def test_what_happens_outside_the_run_function_does_not_count():
    assert steady_state(dataclasses.replace(ONE, total=999), THREE, STEPS).total == 737


def test_an_inlined_copy_has_no_figure_of_its_own():
    few = dataclasses.replace(ONE, calls=(ONE.calls[0], ONE.calls[2]))
    many = dataclasses.replace(THREE, calls=(THREE.calls[0], THREE.calls[2]))
    assert match_steps(few, many, STEPS) == ((300, None, 400), None)


def test_runs_that_differ_have_no_figure():
    odd = dataclasses.replace(THREE, own=61)
    counts = steady_state(ONE, odd, STEPS)
    assert (counts.total, counts.steps) == (None, (None,) * 3) and "do not repeat" in counts.reason
    moved = dataclasses.replace(THREE, calls=(("conv", 901), ("?", 50), ("conv", 1200)))
    counts = steady_state(ONE, moved, STEPS)
    assert (counts.total, counts.steps) == (737, (None, None, 400))


@pytest.mark.parametrize("name", ["memcpy", "__memcpy_generic", "rt.memcpy.memcpyFast"])
def test_a_copy_has_many_names(name):
    few, many = (dataclasses.replace(t, calls=(t.calls[0], (name, t.calls[1][1]), t.calls[2]))
                 for t in (ONE, THREE))
    assert match_steps(few, many, STEPS) == ((300, 17, 400), None)


def test_steps_that_do_not_match_have_no_figures():
    steps, reason = match_steps(ONE, THREE, ["conv", "softmax", "conv"])
    assert steps == (300, 17, 400)  # a call without a symbol may be any
    steps, reason = match_steps(ONE, THREE, ["softmax", "conv"])
    assert steps == (None, None) and "call 1 went to ?" in reason
    steps, reason = match_steps(ONE, dataclasses.replace(THREE, calls=THREE.calls[:2]), STEPS)
    assert steps == (None,) * 3 and "different functions" in reason


def test_without_the_run_functions_symbol_there_is_no_figure():
    counts = steady_state(dataclasses.replace(ONE, runs=0), THREE, STEPS)
    assert (counts.total, counts.steps) == (None, (None,) * 3) and "no symbol" in counts.reason
