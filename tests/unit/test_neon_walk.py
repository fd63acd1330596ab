"""Statements of NEON's depthwise kernels: registers, taps, the order of their lines."""

import random
from dataclasses import replace

import numpy as np
import pytest

from edgecc.kernels import depthwise_neon, fixed_point
from edgecc.kernels.depthwise_neon_plan import Plan
from edgecc.kernels.isa import in_order, neon_walk
from edgecc.kernels.isa.neon_walk import Walk
from edgecc.kernels.isa.neon_walk_lines import executed, written
from edgecc.kernels.registry import candidates
from edgecc.kernels.spec import Conv2d

FEATURES = {"fma", "neon"}


def layer(c=32, k=3, **more):
    return Conv2d("int8", 1, 9, 24, c, c, k, k, groups=c, **more)


@pytest.mark.parametrize("kh", range(1, 6))
@pytest.mark.parametrize("kw", range(1, 6))
def test_every_tap_is_multiplied_once(kh, kw):
    taps = [tap for pair in neon_walk.pairs(kh, kw) for tap in pair]
    taps += [neon_walk.single(kh, kw)] if kh * kw % 2 else []
    assert sorted(taps) == [(ky, kx) for ky in range(kh) for kx in range(kw)]


def walk(k=3, width=16, outputs=24, left=1, image=24, end="fixed"):
    return Walk(k, k, 1, outputs, left, image, width, clamp=False, end=end)


def test_weights_stay_where_there_is_room():
    assert walk().registers.kept and walk().registers.count == 32
    assert walk(end="short").registers.kept and walk(end="short").registers.products == 3
    assert not walk(5, 8).registers.kept
    assert walk(5, 16).registers is None


def test_the_loop_is_of_outputs_whose_columns_are_all_in_memory():
    assert walk().alike == range(1, 23) and walk().loops == 7
    assert walk(left=3, image=22).alike == range(3, 23)
    assert walk(outputs=6, image=6).loops == 0
    assert walk(left=0, image=2, outputs=2).alike == range(0)
    assert executed(walk()) == len(written(walk())) - 1 + 6 * (3 * 47 + 2)
    loads = [line for line in written(walk(outputs=2, image=2)) if line.startswith("ld1")
             and line.endswith(", $10")]
    assert len(loads) == 3 * 2


def test_taps_in_padding_are_left_out():
    """But the one that is paired along the row with a value of the image."""
    left, right = {(0, 0), (1, 0)}, {(0, 2), (1, 2), (2, 2)}
    found = walk()
    assert found.left_out(0) == left and found.left_out(23) == right and not found.left_out(5)
    assert found.edges == sorted([left, right], key=sorted) and found.stand_ins == {0}
    assert found.block_bytes == found.edge_bytes + 2 * 64
    assert walk(left=3, image=3, outputs=2).left_out(0) == {
        (ky, kx) for ky in range(3) for kx in range(3)}
    multiplied = [line for line in written(walk(outputs=1, image=1)) if "smull" in line
                  or "smlal" in line]
    assert len(multiplied) == 2 * 4


@pytest.mark.parametrize("pads, bands, scratch", [
    ((1, 1, 1, 1), [(0, 3, None), (1, 3, 0), (0, 2, 8)], False),
    ((0, 1, 1, 1), [(0, 3, None), (0, 2, 7)], False),
    ((2, 1, 0, 1), [(0, 3, None)], True),
    ((0, 1, 0, 1), [(0, 3, None)], False),
])
def test_edges_have_rows_of_their_own_or_padding_in_scratch(pads, bands, scratch):
    plan = Plan(layer(pads=pads))
    assert [(band.first, band.end, band.y) for band in plan.bands] == bands
    assert (plan.scratch_bytes() > 0) == scratch


def test_edges_of_one_height_share_statements():
    main, top, bottom = Plan(layer(pads=(1, 1, 1, 1))).bands
    assert Plan(layer(pads=(1, 1, 1, 1))).shared == [[main], [top, bottom]]
    uneven = replace(layer(k=5, strides=(3, 1), pads=(1, 0, 2, 0)), h=8)
    assert [len(bands) for bands in Plan(uneven).shared] == [1, 1, 1]


def test_edges_of_short_rows_are_not_worth_constants_of_their_own():
    assert [len(Plan(replace(layer(pads=(1, 1, 1, 1)), w=w)).bands) for w in (11, 12)] == [1, 3]


def test_an_edge_of_nothing_but_padding_reads_the_row_of_padding():
    plan = Plan(layer(strides=(3, 3), pads=(3, 0, 0, 0)))
    assert len(plan.bands) == 1 and plan.scratch_bytes() > 0


@pytest.mark.parametrize("kh", range(2, 9))
@pytest.mark.parametrize("kw", range(1, 6))
def test_fewer_rows_fit_where_all_do(kh, kw):
    plan = Plan(Conv2d("int8", 1, 24, 24, 16, 16, kh, kw, strides=(kh - 1, 1), groups=16,
                       pads=(1, 1, 1, 1)))
    for band in plan.bands if plan.width else ():
        assert plan.walk(plan.width, "long", band).registers


def test_a_block_is_in_fixed_point_if_all_of_its_channels_can_be():
    spec, rng = layer(40, pads=(1, 1, 1, 1)), np.random.default_rng(0)
    made = {"weights": rng.integers(-127, 128, (40, 3, 3, 1), dtype=np.int8),
            "bias": np.zeros(40, np.int32), "scale": np.full(40, 0.01234, np.float32),
            "input_zero_point": 3, "output_zero_point": -5, "lo": -128, "hi": 127}
    made["scale"][20] = 2**-6
    words = Plan(spec).pack(made).view(np.int32)[16:]
    assert fixed_point.fitted(made, False).holds.tolist() == [i != 20 for i in range(40)]
    assert words[:4].tolist() == [1, 0, 1, 0]
    assert len(words) * 4 == 16 + sum(Plan(spec).walk(width, band=band).block_bytes
                                      for band in Plan(spec).bands for width in (16, 16, 8))


@pytest.mark.parametrize("line, reads, writes", [
    ("ld1 {v13.16b}, [$0], $10", {"$0"}, {"13", "$0"}),
    ("ldp q4, q5, [$9, #32]", set(), {"4", "5"}),
    ("ld1 {v0.16b, v1.16b}, [$8]", {"$8"}, {"0", "1"}),
    ("ld1 {v0.16b, v1.16b}, [$5], #32", {"$5"}, {"0", "1", "$5"}),
    ("add $5, $8, #64", {"$8"}, {"$5"}),
    ("sqrshrn2 v1.16b, v2.8h, #1", {"1", "2"}, {"1"}),
    ("st1 {v1.8b}, [$3], $10", {"1", "$3"}, {"$3"}),
    ("smull2 v1.8h, v2.16b, v3.16b", {"2", "3"}, {"1"}),
    ("smlal v1.8h, v2.8b, v3.8b", {"1", "2", "3"}, {"1"}),
    ("saddw v0.4s, v4.4s, v1.4h", {"4", "1"}, {"0"}),
    ("sqxtn2 v1.16b, v2.8h", {"1", "2"}, {"1"}),
    ("dup v8.4s, ${11:w}", set(), {"8"}),
])
def test_what_lines_read_and_write(line, reads, writes):
    assert in_order.effects(line) == (reads, writes)


def test_values_meet_the_readers_that_they_met():
    """Every line of a shuffled program reads the values that it read before."""
    generator = random.Random(0)
    lines = []
    for number in range(300):
        to, a, b = (generator.randrange(12) for _ in range(3))
        kind = generator.choice(["ld1", "smlal", "fadd"])
        lines.append(f"ld1 {{v{to}.16b}}, [${number % 2}], $9" if kind == "ld1"
                     else f"{kind} v{to}.4s, v{a}.4s, v{b}.4s")
    moved = in_order.ordered(lines)
    assert moved != lines and _values(moved) == _values(lines)


def _values(lines):
    """Every value as what it was made from."""
    held, made = {}, []
    for line in lines:
        reads, writes = in_order.effects(line)
        value = hash((line, *(held.get(name, name) for name in sorted(reads))))
        held |= dict.fromkeys(writes, value)
        made.append(value)
    return sorted(made)


@pytest.mark.parametrize("spec, reason", [
    (Conv2d("int8", 1, 9, 9, 16, 16, 3, 3), "not a depthwise"),
    (layer(residual=True), "sums do not leave"),
    (layer(wide_weights=True), "-128"),
    (layer(dilations=(1, 2)), "apart"),
    (layer(k=2, strides=(3, 3)), "apart"),
    (layer(c=6), "fewer than 8"),
    (layer(k=7), "does not fit"),
    (layer(k=9), "does not fit"),
])
def test_what_is_not_taken_says_why(spec, reason):
    assert reason in depthwise_neon.KERNELS[0].accepts(spec)


def test_it_is_the_choice_without_dot_products():
    assert candidates(layer(), FEATURES)[0].name == "int8_depthwise_walk__neon"
    [dotprod, *_] = candidates(layer(), FEATURES | {"dotprod"})
    assert dotprod.name.endswith("__dotprod")
    assert candidates(layer(c=4), FEATURES)[0].name == "int8_depthwise_2x16__neon"
