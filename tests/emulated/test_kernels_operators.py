"""Every operator's kernels under QEMU: same bytes for int8, same tolerance for float32."""

import kernel_problems as problems
import pytest
from kernel_checks import EMULATED, check

from edgecc.kernels import (
    binary,
    conv2d_float,
    depthwise_float,
    fully_connected_float,
    pool2d,
    quantize,
    recentre,
    softmax,
    table,
    transpose,
    unary,
)

pytestmark = pytest.mark.emulated


PART = 4  # everyday tests take one problem of so many
RUNS = [*((target, PART) for target in EMULATED),
        pytest.param("raspberry-pi-5", 1, marks=pytest.mark.slow)]


@pytest.mark.parametrize("target, part", RUNS)
def test_elementwise_kernels_equal_reference(target, part):
    found = [*problems.unary(), *problems.table(), *problems.binary(), *problems.softmax()]
    check(found[::part], target, [unary, table, binary, softmax], in_place=True)


@pytest.mark.parametrize("target, part", RUNS)
def test_other_kernels_equal_reference(target, part):
    found = [*problems.quantize(), *problems.recentre(), *problems.transpose(),
             *problems.pool2d()]
    check(found[::part], target, [quantize, recentre, transpose, pool2d])


@pytest.mark.parametrize("target, part", RUNS)
def test_float_convolutions_equal_reference(target, part):
    specs = [*problems.conv_specs(), *problems.depthwise_specs()]
    found = [*problems.convolution(specs), *problems.fully_connected()]
    check(found[::part], target, [conv2d_float, depthwise_float, fully_connected_float])
