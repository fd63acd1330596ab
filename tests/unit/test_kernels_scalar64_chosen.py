"""Two sums in one register of 64 bits: exact up to a length, and taken where that suits."""

from dataclasses import replace

from edgecc.kernels import registry
from edgecc.kernels.isa.scalar64 import MOST_PRODUCTS
from edgecc.kernels.spec import Conv2d
from edgecc.targets import get_target

SPEC = Conv2d("int8", 1, 8, 8, 16, 24, 3, 3, pads=(1, 1, 1, 1))


def chosen(target, spec):
    return registry.select(spec, get_target(target).features, "here")[0].name


def test_cores_of_64_bits_without_vectors_take_it():
    assert chosen("riscv64-generic", SPEC).endswith("__scalar64")
    assert chosen("visionfive-2", replace(SPEC, kh=1, kw=1, pads=(0, 0, 0, 0))).endswith(
        "__scalar64")
    for other in ("rv32imc", "spacemit-k1", "cortex-m3", "host"):
        assert not chosen(other, SPEC).endswith("__scalar64")


def test_sums_that_could_reach_the_upper_half_take_another_kernel():
    longest = replace(SPEC, kh=1, kw=1, pads=(0, 0, 0, 0), c=MOST_PRODUCTS)
    too_long = replace(longest, c=MOST_PRODUCTS + 1)
    assert chosen("riscv64-generic", longest).endswith("__scalar64")
    assert not chosen("riscv64-generic", too_long).endswith("__scalar64")
    reasons = [record.accepts(too_long) for record in registry.all_kernels()
               if record.name.endswith("4x8__scalar64") and record.op == "conv2d"]
    assert reasons == ["the sum of so many products could overflow half of an accumulator"]
