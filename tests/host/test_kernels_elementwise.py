"""Elementwise kernels on the host: unary, binary, table, quantize, dequantize."""

import kernel_problems as problems
import numpy as np
import pytest
from kernel_checks import cases, check, check_split
from kernel_harness import run_cases

from edgecc.kernels import binary, quantize, recentre, table, unary
from edgecc.kernels.reference import reference
from edgecc.kernels.spec import Binary, Unary

pytestmark = pytest.mark.host


def test_unary_equals_reference():
    check(problems.unary(), "host", [unary], in_place=True)


@pytest.mark.parametrize("kind, lowest, highest", [
    ("exp", -87.0, 88.7), ("sigmoid", -87.0, 100.0), ("tanh", -20.0, 20.0)])
def test_transcendentals_are_accurate_everywhere(kind, lowest, highest):
    tiny = np.geomspace(1e-30, 1.0, 200)
    x = np.concatenate([np.linspace(lowest, highest, 20000), tiny, -tiny]).astype(np.float32)
    spec = Unary("float32", kind, x.size)
    case, = cases([(spec, [x], {})], "host", [unary])
    (got,), = run_cases([case], "host")
    expected = reference(spec, [x], {})[0].astype(np.float64)
    error = np.abs(got - expected) / np.maximum(np.abs(expected), 1e-37)
    assert error.max() < 5e-7, (x[error.argmax()], error.max())


def test_exp_overflows_to_infinity_and_vanishes():
    x = np.array([88.8, 200.0, 1e30, np.inf, -110.0, -1e30, -np.inf, 0.0], np.float32)
    case, = cases([(Unary("float32", "exp", 8), [x], {})], "host", [unary])
    (got,), = run_cases([case], "host")
    assert got.tolist() == [np.inf] * 4 + [0.0] * 3 + [1.0]


def test_table_equals_reference():
    check(problems.table(), "host", [table], in_place=True)


def test_recentre_equals_reference():
    check(problems.recentre(), "host", [recentre], in_place=True)


def test_binary_equals_reference():
    check(problems.binary(), "host", [binary], in_place=True)


def test_quantize_and_dequantize_equal_reference():
    check(problems.quantize(), "host", [quantize], tolerance=1e-7)


def test_ranges_write_their_own_part():
    rng = np.random.default_rng(1)
    found = [p for p in (*problems.unary(), *problems.table(), *problems.quantize())
             if p[0].size == 257]
    zero = {"a_zero_point": 1, "b_zero_point": 2, "output_zero_point": 3, "ratio": np.float32(1),
            "residual_ratio": np.float32(1)}
    by_channel = Binary("int8", "add", 99, "channel", 33)
    for spec, width in ((Binary("int8", "add", 130), 130), (by_channel, 33)):
        found.append((spec, [problems.int8(rng, spec.size), problems.int8(rng, width)], zero))
    check_split(found, "host", [unary, table, quantize, binary])
