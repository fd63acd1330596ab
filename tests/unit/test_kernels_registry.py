"""Which kernel a core gets: vectors and float arithmetic only where it has them."""

import pytest

from edgecc.kernels.math_spec import MatMul
from edgecc.kernels.registry import candidates, select, strengths
from edgecc.kernels.spec import Conv2d
from edgecc.targets import get_target

CONV = Conv2d("int8", 1, 8, 8, 16, 16, 3, 3, pads=(1, 1, 1, 1))
DEPTHWISE = Conv2d("int8", 1, 8, 8, 16, 16, 3, 3, pads=(1, 1, 1, 1), groups=16)
FLOAT = Conv2d("float32", 1, 8, 8, 16, 16, 3, 3, pads=(1, 1, 1, 1))


@pytest.mark.parametrize("target, strong, isas", [
    ("riscv64-generic", {"fpu"}, ("scalar64", "scalar", "scalar")),
    ("rv32imc", set(), ("scalar_soft", "scalar_soft", "scalar")),
    ("null", {"fpu"}, ("scalar", "scalar", "scalar")),
    ("armv7-neon", {"fpu", "vectors"}, ("neon32", "generic", "generic")),
    ("spacemit-k1", {"fpu", "vectors"}, ("rvv256", "rvv256", "rvv256")),
])
def test_a_core_gets_kernels_that_suit_it(target, strong, isas):
    features = get_target(target).features
    assert strengths(features) == strong
    first = [candidates(spec, features)[0].name for spec in (CONV, DEPTHWISE, FLOAT)]
    assert [name.split("__")[1] for name in first] == list(isas)


def test_a_kernel_that_does_not_suit_is_still_there():
    names = [k.name for k in candidates(CONV, get_target("riscv64-generic").features)]
    assert "int8_conv2d_2x8__generic" in names[1:]


@pytest.mark.parametrize("target, many, few", [
    ("raspberry-pi-5", "int8_matmul_5x16__dotprod", "int8_matmul_4x8__generic"),
    ("cortex-m55", "int8_matmul_1x4__mve", "int8_matmul_4x8__generic"),
    ("cortex-m4f", "int8_matmul_widened_3x2__dsp", "int8_matmul_unpacked_4x2__scalar"),
    ("cortex-m3", "int8_matmul_2x2__scalar_soft", "int8_matmul_4x8__generic"),
])
def test_few_rows_are_not_worth_packing_the_right_operand(target, many, few):
    features = get_target(target).features
    for m, name in ((64, many), (1, few)):
        spec = MatMul("int8", (), m, 64, 64, (64, 1), (64, 1))
        assert select(spec, features, "here")[0].name == name
