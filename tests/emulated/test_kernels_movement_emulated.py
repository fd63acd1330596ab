"""Kernels that move elements under QEMU: the same bytes on every target."""

import movement_problems as problems
import pytest
from kernel_checks import EMULATED, check

from edgecc.kernels import fixed, interpolate, take

pytestmark = pytest.mark.emulated


@pytest.mark.parametrize("target", EMULATED)
def test_kernels_equal_reference(target):
    found = [*problems.takes(), *problems.fixed()]
    check(found if target == "raspberry-pi-5" else found[::3], target, [take, fixed],
          tolerance=0.0)
    check([*problems.interpolations(), *problems.ties()], target, [interpolate])
