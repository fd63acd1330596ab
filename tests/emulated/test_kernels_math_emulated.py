"""Kernels of math_spec.py under QEMU: same bytes for int8, same tolerance for float32."""

import math_problems as problems
import numpy as np
import pytest
from kernel_checks import EMULATED, cases, check, named
from kernel_harness import run_cases

from edgecc.kernels import broadcast, compare, matmul, matmul_int8, normalize, reduce, unary
from edgecc.kernels.reference import reference

pytestmark = pytest.mark.emulated


@pytest.mark.parametrize("target", EMULATED)
def test_math_kernels_equal_reference(target):
    found = list(problems.every())
    found = found[::2] if target == "raspberry-pi-5" else found[::5]
    modules = [broadcast, compare, reduce, normalize, matmul, matmul_int8]
    check(found, target, modules, tolerance=2e-5)


@pytest.mark.parametrize("target", [*EMULATED, "riscv64-generic-v", "generic-aarch64-i8mm"])
def test_int8_products_of_every_tile_equal_reference(target):
    """A third of them on each."""
    check(list(problems.matmul_int8())[len(target) % 3::3], target, [matmul, matmul_int8])


@pytest.mark.parametrize("target", EMULATED)
def test_functions_are_as_accurate_as_on_the_host(target):
    """A quarter of them on each."""
    made = cases(list(problems.functions())[EMULATED.index(target)::4], target, [unary])
    for case, (got,) in zip(made, run_cases(made, named(target)), strict=True):
        expected = reference(case.spec, case.inputs, case.constants)[0].astype(np.float64)
        finite = np.isfinite(expected)
        size = np.maximum(np.abs(expected[finite]), 1.0)
        error = (np.abs(got[finite] - expected[finite]) / size).max()
        assert error < 2e-6, f"{case.spec.text()}: {error}"
