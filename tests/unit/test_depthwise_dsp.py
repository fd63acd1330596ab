"""How depthwise kernels of Cortex-M's DSP instructions pair taps, and what they do not take."""

import pytest

from edgecc.kernels import depthwise_dsp
from edgecc.kernels.isa import dsp_pairs
from edgecc.kernels.isa.dsp_pairs import by_pair, starts, words
from edgecc.kernels.registry import candidates
from edgecc.kernels.spec import Conv2d
from edgecc.schedule.numbers import asks_for_short_sums

FEATURES = frozenset({"dsp", "fpu32", "thumb2"})


def layer(w=9, c=8, k=3, **more):
    return Conv2d("int8", 1, 9, w, c, c, k, k, groups=c, **more)


def test_three_taps_take_two_words():
    assert words(3, 1, 1) == [(0, 1), (1, 2)]
    assert words(3, 1, 2) == [(0, 1), (2, None)]
    assert words(5, 1, 1) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert words(3, 2, 1) == [(0, 1), (2, None)]


@pytest.mark.parametrize("taps", range(1, 8))
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_every_tap_of_every_output_is_multiplied_once(taps, dilation, stride):
    sums = dsp_pairs.Sums(6, 1, taps, stride, dilation, 64, 64, 8, short=False, clamp=False)
    found = {}
    for p in sums.products:
        word = sums.words[2 * p.group + p.word]
        halves = [(0, 0), (1, 1)] if p.half is None else [(p.half, p.other)]
        for half, other in halves:
            column = 2 * p.pair + half
            assert (p.output, column) not in found
            found[p.output, column] = word[other]
    assert found == {(i, i * stride + tap * dilation): tap for i in range(6)
                     for tap in range(taps)}
    assert all(by_pair(taps, dilation, start) for start in starts(stride))


@pytest.mark.parametrize("spec, reason", [
    (layer(c=3), "fewer than 4 channels"),
    (layer(residual=True), "sums do not leave"),
    (layer(k=9, pads=(4, 4, 4, 4)), "9 kernel rows"),
    (layer(w=1200), "too far apart"),
    (layer(c=2048), "too far apart"),
    (Conv2d("int8", 1, 9, 9, 8, 8, 3, 3), "not a depthwise"),
])
def test_what_is_not_taken_says_why(spec, reason):
    assert reason in depthwise_dsp.KERNELS[0].accepts(spec)


def test_tiles_begin_on_even_columns():
    assert "odd columns" in depthwise_dsp.record(3).accepts(layer())
    assert depthwise_dsp.record(3).accepts(layer(strides=(2, 2))) is None


def test_it_is_the_choice_where_it_can_be():
    assert candidates(layer(w=16), FEATURES)[0].name == "int8_depthwise_8x1__dsp"
    assert candidates(layer(w=14), FEATURES)[0].name == "int8_depthwise_6x1__dsp"


def test_short_sums_are_for_the_kernels_that_use_them():
    dense = Conv2d("int8", 1, 9, 9, 8, 8, 3, 3)
    assert asks_for_short_sums(layer(), FEATURES)
    assert not asks_for_short_sums(layer(), FEATURES | {"mve"})
    assert not asks_for_short_sums(dense, FEATURES)
    assert asks_for_short_sums(dense, frozenset({"neon"}))
