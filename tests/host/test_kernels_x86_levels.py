"""Every operator's kernels compiled for AVX2 and for plain SSE2, run natively."""

import kernel_problems as problems
import pytest
from kernel_checks import LEVELS, check, named

from edgecc.kernels import (
    binary,
    conv2d_float,
    depthwise_float,
    fully_connected_float,
    pool2d,
    quantize,
    softmax,
    table,
    transpose,
    unary,
)
from edgecc.targets import get_target

pytestmark = pytest.mark.host
MODULES = [unary, table, binary, softmax, quantize, pool2d, transpose, conv2d_float,
           depthwise_float, fully_connected_float]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("part", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_kernels_equal_reference(level, part):
    host = get_target("host")
    if host.architecture != "x86_64" or not named(level).features <= host.features:
        pytest.skip(f"this {host.architecture} machine cannot run code for {LEVELS[level]}")
    convs = problems.convolution([*problems.conv_specs(), *problems.depthwise_specs()])
    found = [*problems.unary(), *problems.table(), *problems.binary(), *problems.softmax(),
             *problems.quantize(), *problems.transpose(), *problems.pool2d(), *convs,
             *problems.fully_connected()]
    check(found[::part], level, MODULES)
