"""Kernels call nothing but memcpy and memset, on every target that TVM compiles for."""

import kernel_problems as problems
import pytest
from kernel_checks import undefined_symbols

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

MODULES = [binary, conv2d_float, depthwise_float, fully_connected_float, pool2d, quantize, softmax,
           table, transpose, unary]

pytestmark = pytest.mark.host


def some_of_each():
    """A few problems of every operator."""
    convs = problems.convolution([*problems.conv_specs(), *problems.depthwise_specs()])
    for made in (problems.unary(), problems.binary(), problems.table(), problems.quantize(),
                 problems.softmax(), problems.transpose(), problems.pool2d(), convs,
                 problems.fully_connected()):
        yield from list(made)[::20]


@pytest.mark.parametrize("target", ["host", "null", "raspberry-pi-5", "riscv64-generic",
                                    "spacemit-k1", "armv7-neon"])
def test_kernels_call_only_memory_functions(target):
    allowed = {"memcpy", "memset"}
    if target == "armv7-neon":
        allowed |= {"__aeabi_memcpy", "__aeabi_memset", "__aeabi_memcpy4", "__aeabi_memset4"}
    assert undefined_symbols(some_of_each(), target, MODULES) <= allowed
