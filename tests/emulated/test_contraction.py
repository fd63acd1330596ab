"""Floats without contraction: the same bytes from every kernel on every target."""

from collections import defaultdict

import kernel_problems as problems
import math_problems
import pytest
from kernel_checks import cases, named
from kernel_harness import run_cases

from edgecc.kernels import (
    binary,
    broadcast,
    compare,
    contraction,
    conv2d_float,
    depthwise_float,
    fully_connected_float,
    matmul,
    normalize,
    pool2d,
    quantize,
    reduce,
    softmax,
    unary,
)

pytestmark = pytest.mark.emulated
TARGETS = ("host", "host-sse2", "raspberry-pi-5", "spacemit-k1", "riscv64-generic", "armv7-neon")
MODULES = (binary, broadcast, compare, conv2d_float, depthwise_float, fully_connected_float, matmul,
           normalize, pool2d, quantize, reduce, softmax, unary)


def every_problem():
    convs = problems.convolution([*problems.conv_specs(), *problems.depthwise_specs()])
    found = [*problems.unary(), *problems.binary(), *problems.softmax(), *problems.pool2d(),
             *problems.fully_connected(), *convs, *math_problems.every()]
    return [problem for problem in found if problem[0].dtype == "float32"]


def answers(some, target):
    """What every kernel writes, by problem."""
    made = cases(some, target, MODULES)
    numbers = {id(inputs): f"{i} {spec.text()}" for i, (spec, inputs, _) in enumerate(some)}
    for case, (got,) in zip(made, run_cases(made, named(target)), strict=True):
        yield numbers[id(case.inputs)], got.tobytes(), case.record.name


@pytest.mark.parametrize("part", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_kernels_of_every_target_write_the_same_bytes(part):
    some, known = every_problem()[::part], defaultdict(dict)
    for target in TARGETS:
        with contraction.off():
            for problem, found, kernel in answers(some, target):
                known[problem].setdefault(found, f"{kernel} on {target}")
    assert len(known) == len(some)
    assert not {problem: [*each.values()] for problem, each in known.items() if len(each) > 1}


def test_contraction_depends_on_the_core():
    some = [p for p in every_problem() if p[0].op == "fully_connected"][:3]
    fused, apart = ([found for _, found, _ in answers(some, target)]
                    for target in ("raspberry-pi-5", "host-sse2"))
    assert not set(fused) & set(apart)
