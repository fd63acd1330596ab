"""Transpose kernels on the host, and how axes are merged."""

import kernel_problems as problems
import pytest
from kernel_checks import check, check_split

from edgecc.kernels import transpose

pytestmark = pytest.mark.host


def test_transpose_equals_reference():
    check(problems.transpose(), "host", [transpose])


@pytest.mark.parametrize("shape, permutation, merged", [
    ((2, 3, 4), (0, 1, 2), [(24, 1, 1)]),
    ((1, 3, 20, 20), (0, 2, 3, 1), [(400, 1, 3), (3, 400, 1)]),
    ((2, 3, 4, 5), (1, 0, 2, 3), [(3, 20, 40), (2, 60, 20), (20, 1, 1)]),
    ((1, 1), (1, 0), []),
])
def test_axes_that_stay_together_are_merged(shape, permutation, merged):
    assert transpose.axes(shape, permutation) == merged


def test_ranges_write_their_own_part():
    batched = [p for p in problems.transpose() if transpose.extent(p[0]) > 1]
    assert batched
    check_split(batched, "host", [transpose])
