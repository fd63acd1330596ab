"""Which steps threads share, and what their scratch takes."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from edgecc.errors import CheckFailed
from edgecc.kernels.registry import find
from edgecc.kernels.spec import Conv2d
from edgecc.memory import check_plan, plan
from edgecc.memory.plan import MemoryPlan, Placement
from edgecc.schedule import check_program, to_text
from edgecc.schedule.program import Buffer, Entry, InPlace, Kernel, Port, Program, View
from edgecc.schedule.threads import scratch_stride, shared_scratch, spread
from edgecc.targets import get_target

TARGET = get_target("raspberry-pi-5")
EACH = 1000


def program(size=24, **changes) -> Program:
    """One convolution with a ring of rows in scratch."""
    spec = Conv2d("int8", 1, size, size, 8, 8, 3, 3, pads=(1, 1, 1, 1))
    constants = {"weights": np.ones((8, 3, 3, 8), np.int8), "bias": np.zeros(8, np.int32),
                 "scale": np.ones(8, np.float32), "input_zero_point": 0, "output_zero_point": 0,
                 "lo": -128, "hi": 127}
    views = {n: View(n, "int8", (1, size, size, 8), "NHWC") for n in "xy"}
    step = Kernel("conv", spec, "int8_conv2d_2x8__generic", (views["x"],), (views["y"],),
                  constants, EACH, macs=spec.macs)
    ports = [(Port(n, views[n], (1, 8, size, size), permutation=(0, 2, 3, 1)),) for n in "xy"]
    buffers = (Buffer("x", size * size * 8, "input"), Buffer("y", size * size * 8, "output"))
    return Program("p", buffers, (Entry("run", *ports, (replace(step, **changes),)),))


def step_of(made: Program) -> Kernel:
    return made.entries[0].steps[0]


def test_one_thread_changes_nothing():
    made = program()
    assert spread(made, 1, TARGET) is made


def test_large_steps_are_shared_and_have_scratch_for_each_thread():
    made = spread(program(), 4, TARGET)
    assert step_of(made).threads == 4
    assert step_of(made).scratch_bytes == 3 * 1024 + EACH == shared_scratch(EACH, 4)
    assert "scratch 4072 B, 4 threads" in to_text(made)


def test_small_steps_and_indivisible_ones_are_not():
    assert step_of(spread(program(4), 4, TARGET)).threads == 1
    flat = Conv2d("int8", 1, 1, 999, 8, 8, 999, 3)  # one output row
    assert step_of(spread(program(spec=flat), 4, TARGET)).threads == 1


def test_every_thread_gets_its_chunk_of_instructions():
    cost = find("int8_conv2d_2x8__generic").cost(step_of(program()).spec)
    for chunk, threads in ((0, 4), (int(cost / 4), 4), (int(cost / 4) + 1, 1)):
        made = spread(program(), 4, replace(TARGET, parallel_chunk=chunk))
        assert step_of(made).threads == threads, chunk


def test_threads_do_not_share_what_a_window_slides_over():
    """Its output may overwrite its input only if one thread computes all rows in order."""
    pairs = (InPlace(0, 0, 64), InPlace(1, 0))
    made = step_of(spread(program(in_place=pairs), 4, TARGET))
    assert made.threads == 4 and made.in_place == (InPlace(1, 0),)
    assert step_of(spread(program(in_place=pairs), 1, TARGET)).in_place == pairs


@pytest.mark.parametrize(("changes", "said"), [
    ({"threads": 0}, "conv: is for 0 threads"),
    ({"threads": 2, "in_place": (InPlace(0, 0, 64),)}, "which threads would break"),
])
def test_the_judge_of_programs_looks(changes, said):
    check_program(program())
    with pytest.raises(CheckFailed, match=said):
        check_program(program(**changes))


def test_no_two_threads_write_to_one_cache_line():
    made = spread(program(), 3, TARGET)
    found = plan((made,), TARGET)
    check_plan((made,), found)
    assert found.align_bytes == 64 and found.offset("conv.scratch") % 64 == 0
    assert found.scratch_bytes == 2 * 1024 + EACH and scratch_stride(EACH) == 1024


def test_the_judge_of_plans_looks_for_cache_lines():
    made = spread(program(), 2, TARGET)
    found = plan((made,), TARGET)
    moved = tuple(replace(p, offset_bytes=p.offset_bytes + 16) if p.kind == "scratch" else p
                  for p in found.placements)
    with pytest.raises(CheckFailed, match="is not aligned to 64"):
        check_plan((made,), replace(found, placements=moved,
                                    arena_bytes=max(p.end_bytes for p in moved)))


def test_scratch_that_was_planned_for_fewer_threads_is_found():
    step = replace(step_of(program()), threads=2)
    made = MemoryPlan((Placement("conv.scratch", "ram", 0, EACH, 0, 1),), 0, 0, 0, 0, "", "")
    with pytest.raises(CheckFailed, match="planned 1000 B of scratch for 2 threads"):
        import_module("edgecc.lower.lower")._scratch(step, EACH, made)
