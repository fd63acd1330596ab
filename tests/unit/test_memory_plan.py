"""The planner against known figures, the edges of lifetimes, and targets that are too small."""

from dataclasses import replace

import pytest
from memory_programs import (
    anomaly_detection,
    chain,
    image_classification,
    kernel,
    keyword_spotting,
    network,
    program,
    vector,
    visual_wake_words,
)

from edgecc.context import Context
from edgecc.errors import CheckFailed, DoesNotFit
from edgecc.memory import check_plan, plan, to_text
from edgecc.schedule.program import Branch, Buffer, Copy, InPlace, Loop
from edgecc.targets import Region, get_target

NULL = get_target("null")


def planned(*programs, target=NULL):
    result = plan(programs, target)
    check_plan(programs, result)
    return result


def with_memories(*regions):
    return replace(NULL, name="tiny", memories=regions)


@pytest.mark.parametrize(("make", "arena_bytes"), [
    (anomaly_detection, 768),
    (keyword_spotting, 16_000),
    (image_classification, 49_152),
    (visual_wake_words, 55_296),
])
def test_mlperf_tiny_models_take_their_liveness_bound(make, arena_bytes):
    result = planned(make())
    assert result.arena_bytes == result.lower_bound_bytes == arena_bytes
    assert result.activation_bytes == arena_bytes and result.scratch_bytes == 0


def test_residual_in_place_saves_a_tensor():
    assert planned(image_classification(in_place=True)).arena_bytes == 32_768


def test_four_models_share_the_arena_of_the_largest():
    programs = (anomaly_detection(), keyword_spotting(), image_classification(),
                visual_wake_words())
    result = planned(*programs)
    assert result.arena_bytes == 55_296
    assert result.offset("t0", "ad") is not None
    with pytest.raises(KeyError):
        result.offset("t0")  # both ad and kws have a t0
    with pytest.raises(KeyError):
        result.offset("nothing")


def test_programs_of_one_name_are_a_bug():
    with pytest.raises(CheckFailed, match="different names"):
        plan([chain("a", [4, 4]), chain("a", [4, 4])], NULL)


def test_arena_is_exact_and_starts_are_aligned():
    result = planned(chain("odd", [5, 7, 3]))
    assert result.arena_bytes in (16 + 5, 16 + 7)
    assert all(p.offset_bytes % 16 == 0 for p in result.placements)


def test_scratch_lives_for_its_step_and_counts():
    steps = [kernel("one", [vector("x", 100)], [vector("y", 50)], scratch=32),
             kernel("two", [vector("y", 50)], [vector("z", 100)], scratch=64)]
    result = planned(program("p", {"x": 100, "y": 50, "z": 100}, steps, ["x"], ["z"]))
    assert (result.activation_bytes, result.lower_bound_bytes) == (150, 214)
    assert result.scratch_bytes == 64 and result.peak_step == "two"
    lives = {p.name: (p.first, p.last) for p in result.placements}
    assert lives["one.scratch"] == (0, 1) and lives["two.scratch"] == (1, 2)


def test_in_place_halves_a_chain():
    assert planned(chain("c", [64] * 5)).arena_bytes == 128
    result = planned(chain("c", [64] * 5, in_place=True))
    assert result.arena_bytes == result.lower_bound_bytes == 64 and "in place" in result.method


def test_no_in_place_while_the_input_has_a_later_reader():
    wiring = [("a", "x"), ("b", "a"), ("c", "b", "a")]
    sizes = dict.fromkeys("xabc", 64)
    result = planned(network("n", sizes, wiring, {("b", "a"), ("c", "b")}))
    assert result.arena_bytes == result.lower_bound_bytes == 128


def test_no_in_place_over_a_model_output():
    step_a = kernel("a", [vector("x", 64)], [vector("y", 64)])
    step_b = kernel("b", [vector("y", 64)], [vector("z", 64)], in_place=[InPlace(0, 0)])
    sizes = dict.fromkeys("xyz", 64)
    result = planned(program("p", sizes, [step_a, step_b], ["x"], ["y", "z"]))
    assert result.arena_bytes == 128


def test_no_in_place_where_the_output_is_larger():
    assert planned(chain("grow", [32, 64], in_place=True)).arena_bytes == 96


def test_a_distance_lets_a_growing_output_overlap():
    step = kernel("widen", [vector("x", 64)], [vector("y", 256)], in_place=[InPlace(0, 0, 192)])
    result = planned(program("p", {"x": 64, "y": 256}, [step], ["x"], ["y"]))
    assert result.arena_bytes == result.lower_bound_bytes == 256
    assert (result.offset("y"), result.offset("x")) == (0, 192)


def test_in_place_through_views_at_offsets():
    step = kernel("s", [vector("x", 32, offset=32)], [vector("y", 32)], in_place=[InPlace(0, 0)])
    result = planned(program("p", {"x": 64, "y": 32}, [step], [vector("x", 64)], ["y"]))
    assert result.offset("y") == result.offset("x") + 32 and result.arena_bytes == 64


def test_a_misaligned_view_cannot_be_taken_in_place():
    step = kernel("s", [vector("x", 32, offset=8)], [vector("y", 32)], in_place=[InPlace(0, 0)])
    result = planned(program("p", {"x": 40, "y": 32}, [step], [vector("x", 40)], ["y"]))
    assert result.arena_bytes == 32 + 40


def test_both_operands_of_one_buffer_in_place():
    x, pairs = vector("x", 64), [InPlace(0, 0), InPlace(1, 0)]
    both = kernel("double", [x, x], [vector("y", 64)], in_place=pairs)
    sizes = {"x": 64, "y": 64}
    assert planned(program("p", sizes, [both], ["x"], ["y"])).arena_bytes == 64
    one = kernel("double", [x, x], [vector("y", 64)], in_place=pairs[:1])
    assert planned(program("p", sizes, [one], ["x"], ["y"])).arena_bytes == 128


def test_concatenation_is_one_buffer_with_views():
    steps = [kernel("left", [vector("x", 64)], [vector("z", 32)]),
             kernel("right", [vector("x", 64)], [vector("z", 32, offset=32)]),
             kernel("use", [vector("z", 64)], [vector("y", 16)])]
    result = planned(program("p", {"x": 64, "z": 64, "y": 16}, steps, ["x"], ["y"]))
    assert result.arena_bytes == 128


def test_states_keep_their_bytes_between_runs_and_programs():
    steps = [kernel("s", [vector("x", 64), vector("h", 16)], [vector("y", 64)])]
    one = program("p", {"x": 64, "h": 16, "y": 64}, steps, ["x"], ["y"], states=("h",))
    result = planned(one, chain("q", [64, 64]))
    assert result.arena_bytes == 144


def test_two_entries_use_one_offset_per_buffer():
    first = chain("p", [64, 32, 64])
    second = replace(first.entry(), name="again", steps=first.entry().steps)
    result = planned(replace(first, entries=(first.entry(), second)))
    assert result.arena_bytes == 96
    assert len([p for p in result.placements if p.name == "t1"]) == 2


def test_identity_and_unused_input():
    result = planned(program("p", {"x": 16}, [], ["x"], ["x"]))
    assert (result.arena_bytes, result.peak_step) == (16, "run")
    step = kernel("s", [vector("x", 16)], [vector("y", 16)])
    assert planned(program("p", dict.fromkeys("xuy", 16), [step], ["x", "u"],
                           ["y"])).arena_bytes == 48


def test_nothing_to_place():
    assert plan([], NULL).arena_bytes == 0


def test_loops_and_branches_keep_all_they_use_alive():
    turn = kernel("turn", [vector("a", 32)], [vector("b", 32)], scratch=16)
    back = Copy("back", vector("b", 32), vector("a", 32))
    steps = [kernel("s", [vector("x", 32)], [vector("a", 32)]),
             Loop("loop", 3, (turn, back)),
             Branch("if", vector("a", 1, dtype="bool"),
                    (kernel("then", [vector("a", 32)], [vector("y", 32)]),),
                    (kernel("else", [vector("b", 32)], [vector("y", 32)]),))]
    result = planned(program("p", dict.fromkeys("xaby", 32), steps, ["x"], ["y"]))
    assert result.arena_bytes == 96 and result.scratch_bytes == 16


def test_the_first_region_that_is_large_enough_is_taken():
    flash = Region("flash", 1 << 20, may_hold=("weights",))
    target = with_memories(flash, Region("dtcm", 64), Region("sram", 200))
    large, small = chain("c", [64, 64]), chain("c", [32, 32])
    assert {p.region for p in planned(large, target=target).placements} == {"sram"}
    assert {p.region for p in planned(small, target=target).placements} == {"dtcm"}


def test_does_not_fit_names_everything():
    small = with_memories(Region("sram", 50_000), Region("flash", 1 << 20, may_hold=("weights",)))
    with pytest.raises(DoesNotFit) as caught:
        plan([visual_wake_words()], small)
    error, text = caught.value, str(caught.value)
    assert (error.region, error.shortfall_bytes, error.peak_step) == ("sram", 5_296, "make_t3")
    assert error.live_bytes == {"t2": 18_432, "t3": 36_864}
    for fact in ("tiny", "5,296 B", "55,296 B", "50,000 B of sram", "make_t3", "t3 36,864 B",
                 "int8 instead of float32", "54 KB"):
        assert fact in text


def test_no_region_may_hold_the_arena():
    with pytest.raises(DoesNotFit, match="region none"):
        plan([chain("c", [16, 16])], with_memories(Region("flash", 99, may_hold=("weights",))))


def test_larger_alignments_are_kept():
    base = chain("c", [24, 24, 24])
    buffers = tuple(Buffer(b.name, b.size_bytes, b.kind, 64) for b in base.buffers)
    result = planned(replace(base, buffers=buffers))
    assert result.align_bytes == 64 and result.arena_bytes == 88


def test_same_seed_same_plan():
    first, again = (plan([visual_wake_words()], NULL, context=Context(seed=7)) for _ in range(2))
    assert first == again


def test_text_is_stable():
    assert to_text(planned(chain("c", [32, 16, 8]))) == TEXT
    both = to_text(planned(chain("c", [32, 16]), chain("d", [32, 16])))
    assert "c:t0" in both and "d:t0" in both


TEXT = """\
arena_bytes        48
lower_bound_bytes  48
activation_bytes   48
scratch_bytes      0
align_bytes        16
peak_step          make_t1 (0)
method             greedy by size

    offset        end       size  steps       region   kind       name
         0         32         32  [0, 1)      ram      input      t0
        32         48         16  [0, 2)      ram      activation t1
         0          8          8  [1, 2)      ram      output     t2
"""
