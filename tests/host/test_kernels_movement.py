"""Kernels that move elements, on every level of the host's instruction set."""

import movement_problems as problems
import numpy as np
import pytest
from kernel_checks import LEVELS, check, check_split, undefined_symbols

from edgecc.kernels import fixed, interpolate, take
from edgecc.kernels.movement_spec import FILL
from edgecc.kernels.taking import MOST_LEAVES, leaves, segments_of, take_of

HOSTS = ("host", *LEVELS)
pytestmark = pytest.mark.host


@pytest.mark.parametrize("target", HOSTS)
def test_kernels_equal_reference(target):
    check([*problems.takes(), *problems.fixed()], target, [take, fixed], tolerance=0.0)
    check([*problems.interpolations(), *problems.ties()], target, [interpolate])


def test_parts_of_the_outer_axis_make_the_whole():
    split = [p for p in problems.takes() if take.extent(p[0]) > 1]
    check_split(split[:12], "host", [take])
    check_split([next(problems.interpolations())], "host", [interpolate])


def test_kernels_call_nothing_but_memory_functions():
    found = [*problems.takes(), *problems.fixed(), *problems.interpolations()][::3]
    assert undefined_symbols(found, "host", [take, fixed, interpolate]) <= {"memcpy", "memset"}


@pytest.mark.parametrize("table", [
    [0, 1, 2, 3], [3, 2, 1, 0], [0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2], [0, 0, 1, 2, 2, 3],
    [FILL, FILL, 0, 1, FILL], [2, 1, 0, 1, 2, 1, 0], [5], [4, 4, 4], [0, 1, 1, 2, 4, 7, 3, 0],
    [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5],
])
def test_segments_spell_the_table(table):
    found = segments_of(np.array(table))
    assert np.concatenate([s.indices() for s in found]).tolist() == table


def test_patterns_are_one_segment_and_noise_becomes_a_table():
    for table in (np.repeat(np.arange(40), 3), np.tile(np.arange(9), 7), np.arange(50, 3, -2)):
        assert len(segments_of(table)) == 1
    noise = np.random.default_rng(0).permutation(200)
    spec, constants = take_of("int8", (4, 200), [None, noise], 0)
    assert spec.axes[-1] == 200 and constants["tables"].tolist() == noise.tolist()


def test_code_stays_small():
    ragged = np.array([2, 1, 0, 1, 2, 3, 2, 1, FILL])
    spec, constants = take_of("int8", (4, 4, 4), [ragged] * 3, 0)
    assert leaves(spec.axes) <= MOST_LEAVES and len(constants["tables"])
