"""Strided copies move exactly the elements of their windows, and nothing around them."""

import numpy as np
import pytest
from kernel_harness import Case, run_cases

from edgecc.kernels.copy import KERNELS, spec_of

pytestmark = pytest.mark.host

WINDOWS = [  # item bytes, shape, source strides, target strides
    (1, (4, 5, 8), (40, 8, 1), (96, 17, 1)),
    (4, (3, 7), (7, 1), (9, 1)),
    (4, (3, 7), (1, 3), (7, 1)),
    (1, (6, 1, 33), (50, 50, 1), (33, 33, 1)),
    (1, (2, 3, 4), (12, 4, 1), (12, 4, 1)),
    (2, (5, 2), (4, 2), (2, 1)),
    (8, (2, 3), (3, 1), (4, 1)),
]


def moved(source, shape, strides, target_strides, reach):
    out = np.frombuffer(b"\x5a" * reach * source.itemsize, source.dtype).copy()
    for index in np.ndindex(*shape):
        at, to = np.dot(index, strides), np.dot(index, target_strides)
        out[to] = source[at]
    return out


def test_strided_copies_equal_numpy():
    cases, expected = [], []
    for item, shape, a, b in WINDOWS:
        spec = spec_of(item, shape, a, b)
        record = next(k for k in KERNELS if k.dtype == spec.dtype)
        source = np.arange(1 + np.dot(np.array(shape) - 1, a)).astype(spec.dtype)
        reach = 1 + int(np.dot(np.array(shape) - 1, b))
        cases.append(Case(record, spec, [source], {}, [((reach,), spec.dtype)]))
        expected.append(moved(source, shape, a, b, reach))
    for case, (out,), want in zip(cases, run_cases(cases, "host"), expected, strict=True):
        assert (out == want).all(), case.spec.text()


def test_axes_that_lie_behind_each_other_are_one():
    assert spec_of(1, (2, 3, 4), (12, 4, 1), (12, 4, 1)).shape == (24,)
    assert spec_of(1, (2, 3, 4), (12, 4, 1), (24, 4, 1)).shape == (2, 12)
