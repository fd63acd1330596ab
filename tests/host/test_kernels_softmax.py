"""Softmax kernels on the host."""

import kernel_problems as problems
import pytest
from kernel_checks import check, check_split

from edgecc.kernels import softmax

pytestmark = pytest.mark.host


def test_softmax_equals_reference():
    check(problems.softmax(), "host", [softmax], in_place=True)


def test_ranges_write_their_own_part():
    rows = [p for p in problems.softmax() if p[0].rows == 3 and p[0].n > 2]
    check_split(rows[::4], "host", [softmax])
