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


def share(found, target):
    """Everything on the Raspberry Pi, a third elsewhere."""
    found = list(found)
    return found if target == "raspberry-pi-5" else found[::3]


@pytest.mark.parametrize("target", EMULATED)
def test_elementwise_kernels_equal_reference(target):
    found = [*problems.unary(), *problems.table(), *problems.binary(), *problems.softmax()]
    check(share(found, target), target, [unary, table, binary, softmax], in_place=True)


@pytest.mark.parametrize("target", EMULATED)
def test_other_kernels_equal_reference(target):
    found = [*problems.quantize(), *problems.recentre(), *problems.transpose(),
             *problems.pool2d()]
    check(share(found, target), target, [quantize, recentre, transpose, pool2d])


@pytest.mark.parametrize("target", EMULATED)
def test_float_convolutions_equal_reference(target):
    specs = [*problems.conv_specs(), *problems.depthwise_specs()]
    found = [*problems.convolution(specs), *problems.fully_connected()]
    check(share(found, target), target, [conv2d_float, depthwise_float, fully_connected_float])
