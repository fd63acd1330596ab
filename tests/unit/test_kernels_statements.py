"""Which depthwise tiles can be woven in registers, and how activations of a run are brought."""

import pytest

from edgecc.kernels import depthwise_plan
from edgecc.kernels.isa import assembled, woven
from edgecc.kernels.isa.dotprod import DotProd
from edgecc.kernels.spec import Conv2d


def plan(mr, **changes):
    shape = {"h": 20, "w": 20, "c": 16, "kh": 3, "kw": 3} | changes
    spec = Conv2d("int8", 1, k=shape["c"], groups=shape["c"], **shape)
    return depthwise_plan.Plan(spec, DotProd(), mr)


@pytest.mark.parametrize(("made", "reason"), [
    (plan(4), None),
    (plan(4, kh=17), "more pointers"),
    (plan(4, c=8192), "out of a load's reach"),
    (plan(4, c=12), "not a multiple of 8"),
    (plan(7), "does not fit the registers"),
])
def test_depthwise_statements_say_what_they_cannot_do(made, reason):
    said = made.accepts()
    assert said is None if reason is None else reason in said


def test_a_tile_that_fills_the_registers_is_refused():
    taps = ((0, 0), (0, 1), (0, 2), (0, 3))
    with pytest.raises(woven.Full):
        woven.lines(woven.Work(8, 16, 16, 1, ((taps, 0, 0),)))


def code(accumulators, mr, values, pitch, taps=1):
    return assembled.Code(assembled.Shape(accumulators, mr, 16, values, pitch, taps, 1))


def test_activations_come_in_pairs_where_registers_allow():
    assert code(16, 4, 64, 64).paired
    assert not code(20, 5, 64, 64).paired  # ten activations and four weights beside twenty
    assert not code(16, 4, 16, 64).paired


def test_positions_out_of_reach_have_pointers_of_their_own():
    assert code(16, 4, 64, 64).pointers == 1
    assert code(16, 4, 64, 24).pointers == 4  # LDR cannot name 24
    assert code(16, 4, 64, 2048).pointers == 4  # LDP reaches 1008


def test_neighbouring_positions_come_four_at_a_time():
    made = code(20, 5, 16, 16, taps=3)
    made.positions(16)
    assert [line.split()[0] for line in made.lines] == ["ld1", "ld1"]
