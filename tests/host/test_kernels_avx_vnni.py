"""AVX-VNNI: the tiles' bytes, run in the encoding of AVX512VL, and the encoding that ships."""

import re
from dataclasses import replace

import kernel_problems as problems
import pytest
from kernel_checks import compare
from kernel_harness import Case, run_cases

from edgecc.kernels import conv2d_int8, depthwise_vnni, fully_connected_int8
from edgecc.kernels.reference import reference
from edgecc.lower.compile import assembly
from edgecc.targets import get_target, host, host_cpu

pytestmark = pytest.mark.host
TARGET = get_target("x86-64-v3-vnni")
EVEX = replace(get_target("x86-64-v4-vnni"), name="host")  # chooses the shorter vectors' kernels


def kernels():
    return [record for module in (conv2d_int8, depthwise_vnni, fully_connected_int8)
            for record in module.KERNELS if record.name.endswith("__avxvnni")]


def found():
    for spec, inputs, constants in problems.int8_product():
        for record in kernels():
            if record.op == spec.op and record.accepts(spec) is None:
                expected = reference(spec, inputs, constants)[0]
                yield Case(record, spec, inputs, constants,
                           [(expected.shape, expected.dtype.name)]), expected


def test_tiles_equal_the_reference_in_the_encoding_of_avx512():
    if not host_cpu.features() >= host.VNNI:
        pytest.skip("this machine has no AVX512-VNNI")
    cases, expected = zip(*found(), strict=True)
    assert len({case.record.name for case in cases}) == len(kernels())
    for case, (got,), right in zip(cases, run_cases(list(cases), EVEX), expected, strict=True):
        compare(got, right, 0.0, f"{case.record.name}: {case.spec.text()}")


@pytest.mark.parametrize("record", kernels(), ids=lambda record: record.name)
def test_code_has_no_encoding_of_avx512(record):
    spec = next(spec for spec, _, _ in problems.int8_product()
                if record.op == spec.op and record.accepts(spec) is None)
    text = assembly(record.build(spec, "kernel", TARGET), TARGET)
    products = [line for line in text.splitlines() if "vpdpbusd" in line]
    assert products and all("{vex}" in line for line in products)
    assert not re.search(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])|%k[0-7]|\{evex\}", text)
