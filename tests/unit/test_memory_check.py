"""The judge: random programs pass, broken plans are caught, and each rule has its own case."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from memory_programs import chain, kernel, network, port, program, vector

from edgecc.errors import CheckFailed
from edgecc.memory import MemoryPlan, Placement, check_plan, plan
from edgecc.memory.lifetimes import timeline
from edgecc.schedule.program import Branch, Copy, InPlace, Loop, Npu, View
from edgecc.targets import get_target

NULL = get_target("null")


@st.composite
def programs(draw, name="p"):
    """Chains, diamonds, residuals, partial views, two outputs, scratch, in place at will."""
    size = st.integers(1, 80)
    sizes = {"x0": draw(size), "x1": draw(size)}
    inputs, ready, steps = list(sizes), list(sizes), []
    for n in range(draw(st.integers(0, 9))):
        reads = draw(st.lists(st.sampled_from(ready), min_size=1, max_size=3))
        views = tuple(draw(windows(b, sizes[b])) for b in reads)
        made = f"b{n}"
        sizes[made] = draw(st.one_of(size, st.sampled_from([v.size_bytes for v in views])))
        outputs = [vector(made, sizes[made])]
        if draw(st.booleans()):  # the other half of the buffer is written by the next step
            head = draw(st.integers(1, sizes[made]))
            outputs = [vector(made, head)]
            if head < sizes[made]:
                outputs.append(vector(made, sizes[made] - head, head))
        distance = st.sampled_from([0, 0, 0, 1, 16, 40])
        pairs = [InPlace(i, o, draw(distance)) for i in range(len(views))
                 for o in range(len(outputs)) if draw(st.booleans())]
        scratch = draw(st.sampled_from([0, 0, 16, 40]))
        steps.append(kernel(f"s{n}", views, outputs, scratch, pairs))
        ready.append(made)
    outputs = draw(st.lists(st.sampled_from(ready), min_size=1, max_size=2, unique=True))
    states = ("x1",) if draw(st.booleans()) and len(ready) > 2 else ()
    inputs = [i for i in inputs if i not in states]
    return program(name, sizes, steps, inputs, outputs, states)


@st.composite
def windows(draw, buffer, size):
    """The whole buffer, a part of it, or every other byte."""
    kind = draw(st.sampled_from(["whole", "whole", "part", "strided"]))
    if kind == "whole":
        return vector(buffer, size)
    first = draw(st.integers(0, size - 1))
    count = draw(st.integers(1, size - first))
    if kind == "part":
        return vector(buffer, count, first)
    return View(buffer, "int8", ((count + 1) // 2,), "N", first, (2,))


@settings(max_examples=200)
@given(programs())
def test_every_plan_of_a_random_program_passes(made):
    result = plan([made], NULL)
    check_plan([made], result)
    assert result.arena_bytes >= timeline([made]).problem().aligned_bound_bytes
    assert result.arena_bytes >= result.lower_bound_bytes


@settings(max_examples=60)
@given(programs("p"), programs("q"))
def test_programs_that_share_an_arena_pass(one, two):
    result = plan([one, two], NULL)
    check_plan([one, two], result)
    alone = [plan([p], NULL).lower_bound_bytes for p in (one, two)]
    assert result.lower_bound_bytes >= max(alone)


@settings(max_examples=100)
@given(programs())
def test_in_place_never_costs_memory_at_the_bound(made):
    without = replace(made, entries=tuple(
        replace(e, steps=tuple(replace(s, in_place=()) for s in e.steps)) for e in made.entries))
    assert plan([made], NULL).lower_bound_bytes <= plan([without], NULL).lower_bound_bytes


@settings(max_examples=100)
@given(programs(), st.data())
def test_two_buffers_alive_at_once_at_one_place_are_caught(made, data):
    made = replace(made, entries=tuple(
        replace(e, steps=tuple(replace(s, in_place=()) for s in e.steps)) for e in made.entries))
    result = plan([made], NULL)
    pairs = [(a, b) for a in result.placements for b in result.placements
             if a.name != b.name and used_together(made, a.name, b.name)]
    assume(pairs)
    moved, onto = data.draw(st.sampled_from(pairs))
    with pytest.raises(CheckFailed):
        check_plan([made], moved_to(result, moved.name, onto.offset_bytes))


def used_together(made, *names):
    """Byte 0 of both is read or written by one step, and by different views."""
    return any(set(names) <= {v.buffer for v in (*s.inputs, *s.outputs) if v.offset_bytes == 0}
               for s in made.entry().steps)


def moved_to(result: MemoryPlan, name: str, offset: int) -> MemoryPlan:
    placements = tuple(replace(p, offset_bytes=offset) if p.name == name else p
                       for p in result.placements)
    end = max(p.end_bytes for p in placements)
    return replace(result, placements=placements, arena_bytes=end, lower_bound_bytes=0,
                   activation_bytes=0)


def rejected(made, result, words):
    with pytest.raises(CheckFailed, match=words):
        check_plan([made], result)


CHAIN = chain("c", [32, 32, 32, 32])


def good() -> MemoryPlan:
    result = plan([CHAIN], NULL)
    check_plan([CHAIN], result)
    return result


def test_overwritten_value_is_named():
    made = network("n", dict.fromkeys("xabc", 32), [("a", "x"), ("b", "a"), ("c", "b", "a")])
    result = plan([made], NULL)
    broken = moved_to(result, "b", result.offset("a"))
    rejected(made, broken, "make_b writes b over its own input a")


def test_stale_read_names_reader_writer_and_culprit():
    wiring = [("a", "x"), ("b", "x"), ("c", "b"), ("d", "c", "a")]
    made = network("n", dict.fromkeys("xabcd", 32), wiring)
    result = plan([made], NULL)
    at = {p.name: p.offset_bytes for p in result.placements}
    broken = moved_to(moved_to(result, "b", at["a"]), "c", 96)
    rejected(made, broken, "reads a, written by make_a, but .* overwritten by make_b")


def test_arena_must_be_exact():
    result = good()
    rejected(CHAIN, replace(result, arena_bytes=result.arena_bytes + 1), "last placement ends")
    rejected(CHAIN, replace(result, arena_bytes=result.arena_bytes - 1), "leaves the arena")
    rejected(CHAIN, moved_to(result, "t1", -16), "leaves the arena")


def test_figures_must_agree():
    result = good()
    rejected(CHAIN, replace(result, lower_bound_bytes=result.arena_bytes + 1), "out of order")
    rejected(CHAIN, replace(result, activation_bytes=result.arena_bytes + 1), "out of order")
    rejected(CHAIN, replace(result, scratch_bytes=1), "scratch_bytes is 1")


def test_alignment():
    rejected(CHAIN, moved_to(good(), "t3", 40), "not aligned to 16")
    rejected(CHAIN, replace(good(), align_bytes=8), "not aligned")


def test_placements_must_match_the_program():
    result = good()
    first, *rest = result.placements
    stranger = Placement("other", "ram", 0, 32, 0, 1, "c")
    rejected(CHAIN, replace(result, placements=(*result.placements, stranger)), "not in the prog")
    smaller = replace(first, size_bytes=16)
    rejected(CHAIN, replace(result, placements=(smaller, *rest)), "not in the program")
    twice = replace(first, offset_bytes=first.offset_bytes ^ 32)
    rejected(CHAIN, replace(result, placements=(*result.placements, twice)), "more than one")


def test_missing_or_dead_placement():
    result = good()
    missing = tuple(p for p in result.placements if p.name != "t2")
    rejected(CHAIN, replace(result, placements=missing), "no placement at time 1")
    dead = tuple(replace(p, last=2) if p.name == "t2" else p for p in result.placements)
    rejected(CHAIN, replace(result, placements=dead), "no placement at time 2")


def planned(steps, sizes, inputs=("x",), outputs=("y",), **more):
    made = program("p", sizes, steps, inputs, outputs, **more)
    return made, plan([made], NULL)


def test_reads_of_bytes_that_nothing_wrote():
    steps = [kernel("s", [vector("x", 32)], [vector("a", 16)]),
             kernel("t", [vector("a", 32)], [vector("y", 16)])]
    made, result = planned(steps, {"x": 32, "a": 32, "y": 16})
    rejected(made, result, "reads bytes of a that nothing wrote")


def test_views_beyond_their_buffer():
    step = kernel("s", [vector("x", 33)], [vector("y", 16)])
    made = program("p", {"x": 32, "y": 16}, [step], [vector("x", 32)], ["y"])
    rejected(made, plan([made], NULL), "goes beyond the 32 B of x")


def test_a_buffer_of_no_program():
    result = good()
    step = kernel("make_t1", [vector("t0", 32)], [vector("ghost", 32)])
    entry = replace(CHAIN.entry(), steps=(step, *CHAIN.entry().steps[1:]))
    ghost = Placement("ghost", "ram", 0, 32, 0, 1, "c")
    made = replace(CHAIN, entries=(entry,))
    rejected(made, replace(result, placements=(*result.placements, ghost)), "not in the program")
    rejected(made, result, "make_t1 uses ghost, which has no placement")
    entry = replace(CHAIN.entry(), inputs=(port(vector("ghost", 32)),))
    rejected(replace(CHAIN, entries=(entry,)), result, "ghost, which is no buffer of c")


def test_two_outputs_on_the_same_bytes():
    step = kernel("s", [vector("x", 16)], [vector("y", 16), vector("y", 16, 8)])
    rejected(*planned([step], {"x": 16, "y": 32}, outputs=(vector("y", 24),)), "two outputs")


def test_scratch_apart_from_inputs_and_outputs():
    step = kernel("s", [vector("x", 16)], [vector("y", 16)], scratch=16)
    made, result = planned([step], {"x": 16, "y": 16})
    check_plan([made], result)
    rejected(made, moved_to(result, "s.scratch", result.offset("x")), "s.scratch shares bytes")


def test_scratch_over_a_waiting_value_is_caught():
    steps = [kernel("s", [vector("x", 16)], [vector("y", 16)], scratch=16),
             kernel("t", [vector("y", 16), vector("w", 16)], [vector("z", 16)])]
    made, result = planned(steps, dict.fromkeys("xwyz", 16), ("x", "w"), ("z",))
    broken = moved_to(result, "s.scratch", result.offset("w"))
    rejected(made, broken, "t reads w, written by input w, .* overwritten by s.scratch")


@pytest.mark.parametrize(("distance", "gap", "legal"), [
    (0, 0, True), (0, -16, False), (16, -16, True), (16, -32, True), (32, -16, False),
    (16, 0, False), (16, 16, False),
])
def test_declared_distances(distance, gap, legal):
    step = kernel("s", [vector("x", 64)], [vector("y", 64)], in_place=[InPlace(0, 0, distance)])
    made, result = planned([step], {"x": 64, "y": 64})
    moved = moved_to(moved_to(result, "x", 64), "y", 64 + gap)
    if legal:
        check_plan([made], moved)
    else:
        rejected(made, moved, "over its own input")


def test_in_place_needs_matching_elements():
    wide = View("x", "int8", (8,), "N", 0, (2,))
    step = kernel("s", [wide], [vector("y", 8)], in_place=[InPlace(0, 0)])
    made, result = planned([step], {"x": 16, "y": 8}, (vector("x", 16),))
    rejected(made, moved_to(moved_to(result, "x", 0), "y", 0), "over its own input")
    narrow = View("x", "int8", (4, 2), "NC", 0, (2, 1))
    step = kernel("s", [narrow], [vector("y", 8)], in_place=[InPlace(0, 0)])
    made, result = planned([step], {"x": 16, "y": 8}, (vector("x", 16),))
    check_plan([made], moved_to(moved_to(result, "x", 0), "y", 0))


def test_narrowing_in_place_is_allowed_and_widening_is_not():
    for source, target, legal in (("float32", "int8", True), ("int8", "float32", False)):
        views = vector("x", 8, dtype=source), vector("y", 8, dtype=target)
        step = kernel("s", [views[0]], [views[1]], in_place=[InPlace(0, 0)])
        sizes = {"x": views[0].size_bytes, "y": views[1].size_bytes}
        made, result = planned([step], sizes, views[:1], views[1:])
        check_plan([made], result)
        assert (result.arena_bytes == 32) == legal
        moved = moved_to(moved_to(result, "x", 0), "y", 0)
        if not legal:
            rejected(made, moved, "over its own input")


@pytest.mark.parametrize("step", [
    Copy("s", vector("x", 16), vector("y", 16)),
    Npu("s", "null", "run", (vector("x", 16),), (vector("y", 16),)),
])
def test_copies_and_npus_never_work_in_place(step):
    made, result = planned([step], {"x": 16, "y": 16})
    rejected(made, moved_to(result, "y", result.offset("x")), "over its own input")


def test_state_overwritten_between_runs():
    step = kernel("s", [vector("x", 16)], [vector("y", 16)])
    made, result = planned([step], dict.fromkeys("xhy", 16), states=("h",))
    check_plan([made], result)
    rejected(made, moved_to(result, "h", result.offset("y")), "next run reads h")
    lost = replace(result, placements=tuple(p for p in result.placements if p.name != "h"),
                   arena_bytes=32, lower_bound_bytes=0, activation_bytes=0)
    rejected(made, lost, "h, which has no placement")


def test_inputs_must_not_share_bytes_even_if_one_is_never_read():
    step = kernel("s", [vector("x", 16)], [vector("y", 16)])
    made, result = planned([step], dict.fromkeys("xuy", 16), ("x", "u"))
    rejected(made, moved_to(result, "u", result.offset("x")), "input x reads x")


def test_loop_turns_see_what_the_turn_before_left():
    body = (kernel("use", [vector("a", 16)], [vector("b", 16)]),
            kernel("mix", [vector("b", 16)], [vector("c", 16)]))
    steps = [kernel("s", [vector("x", 16)], [vector("a", 16)]),
             Loop("loop", 5, body, outputs=(vector("c", 16),)),
             kernel("t", [vector("c", 16)], [vector("y", 16)])]
    made, result = planned(steps, dict.fromkeys("xabcy", 16))
    check_plan([made], result)
    rejected(made, moved_to(result, "c", result.offset("a")), "use reads a, .* overwritten by mix")


def test_both_ways_of_a_branch_are_judged():
    branch = Branch("if", vector("x", 1, dtype="bool"),
                    (kernel("then", [vector("x", 16)], [vector("y", 16)]),),
                    (kernel("half", [vector("x", 16)], [vector("b", 16)]),
                     kernel("else", [vector("b", 16), vector("a", 16)], [vector("y", 16)])))
    steps = [kernel("s", [vector("x", 16)], [vector("a", 16)]), branch]
    made, result = planned(steps, dict.fromkeys("xaby", 16))
    check_plan([made], result)
    rejected(made, moved_to(result, "b", result.offset("a")), "else reads a")
