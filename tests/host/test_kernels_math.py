"""Broadcasts, rows, reductions, norms, computed products and polynomials on the host."""

import math_problems as problems
import numpy as np
import pytest
from kernel_checks import cases, check, check_split, fitting, undefined_symbols
from kernel_harness import run_cases

from edgecc.kernels import (
    broadcast,
    compare,
    matmul,
    matmul_int8,
    normalize,
    reduce,
    softmax,
    unary,
)
from edgecc.kernels.math_spec import Normalize, Reduce, Rowwise
from edgecc.kernels.reference import reference

pytestmark = pytest.mark.host
MODULES = [broadcast, compare, reduce, normalize, matmul, matmul_int8]


@pytest.mark.parametrize("target", ["host", "host-avx2", "host-sse2"])
def test_math_kernels_equal_reference(target):
    found = list(problems.every())
    check(found[::3 if target == "host" else 6], target, MODULES, tolerance=2e-5)


@pytest.mark.parametrize("target, share", [("host", 2), ("host-avx2", 4), ("host-sse2", 4)])
def test_int8_products_of_every_tile_equal_reference(target, share):
    check(list(problems.matmul_int8())[::share], target, [matmul, matmul_int8])


def test_math_kernels_work_in_place():
    whole = [p for p in (*problems.rowwise(), *problems.normalize())]
    whole += [p for p in problems.broadcast() if p[0].sizes[0] == p[0].size]
    check(whole, "host", MODULES, in_place=True, tolerance=2e-5)


def test_ranges_write_their_own_part():
    found = [p for p in problems.every() if splits(p[0])]
    check_split(found[::2], "host", MODULES)


def splits(spec):
    return all(record.extent(spec) > 1 for record in fitting(spec, "host", MODULES))


def test_functions_are_accurate_over_their_range():
    made = cases(problems.functions(), "host", [unary])
    for case, (got,) in zip(made, run_cases(made, "host"), strict=True):
        expected = reference(case.spec, case.inputs, case.constants)[0].astype(np.float64)
        finite = np.isfinite(expected)
        assert np.array_equal(got[~finite], expected[~finite].astype(np.float32), equal_nan=True)
        size = np.maximum(np.abs(expected[finite]), 1.0)
        error = (np.abs(got[finite] - expected[finite]) / size).max()
        assert error < 2e-6, f"{case.spec.text()}: {error}"


def test_log_softmax_equals_reference():
    check(problems.log_softmax(), "host", [softmax], in_place=True)


def test_nothing_is_called():
    rounding = ("floor", "ceil", "round", "log", "sin", "erf", "pow")
    found = [p for p in problems.functions() if p[0].kind in rounding]
    assert undefined_symbols(found[:7], "host-sse2", [unary]) <= {"memcpy", "memset"}
    assert undefined_symbols(list(problems.every())[::13], "host-sse2", MODULES) <= {
        "memcpy", "memset"}


def test_what_int8_kernels_decline():
    too_many = Normalize("int8", 1, 33026, 1, 1)
    assert "do not fit int32" in normalize.accepts_int8(too_many)
    assert normalize.accepts_int8(Normalize("int8", 1, 33025, 1, 1)) is None
    assert "int8 prod is not defined" in reduce.accepts_int8(Reduce("int8", "prod", 1, 2, 1))
    assert "is not defined" in broadcast.accepts_rows_int8(Rowwise("int8", "rdiv", 1, 2, 1))
