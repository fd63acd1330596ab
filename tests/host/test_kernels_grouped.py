"""Matrix products with 4-bit weights on the host."""

import grouped_problems as problems
import numpy as np
import pytest
from kernel_checks import check, check_split, undefined_symbols

from edgecc.kernels import grouped_product, grouped_rounded, registry
from edgecc.kernels.grouped_plan import words_of

pytestmark = pytest.mark.host


@pytest.mark.parametrize("target, share", [("host", 1), ("host-avx2", 3), ("host-sse2", 3)])
def test_kernels_equal_reference(target, share):
    check(list(problems.products())[::share], target, [grouped_product], in_place=True)


@pytest.mark.parametrize("target, share", [("host", 2), ("host-avx2", 5), ("host-sse2", 5)])
def test_kernels_that_round_activations_give_the_bytes_of_the_reference(target, share):
    found = list(problems.rounded())[::share]
    check(found, target, [grouped_rounded], in_place=True, tolerance=0.0)


def test_ranges_write_their_own_part():
    found = [p for p in problems.products()
             if all(r.extent(p[0]) > 1 for r in grouped_product.KERNELS)]
    assert found
    check_split(found, "host", [grouped_product])


def test_nothing_is_called():
    found = [*list(problems.products())[::5], *list(problems.rounded())[::5]]
    modules = [grouped_product, grouped_rounded]
    assert undefined_symbols(found, "host-sse2", modules) <= {"memcpy", "memset"}


def test_weights_stay_two_to_a_byte():
    spec, _, constants = next(p for p in problems.products() if p[0].n == 64 and not p[0].affine)
    for record in grouped_product.KERNELS:
        size = record.pack(spec, constants).size
        codes, scales, bias = spec.n * spec.k // 2, 4 * spec.n * spec.groups, 4 * spec.n
        scales //= 2 if spec.short_scales else 1
        assert size == 16 + codes + scales + bias, record.name


def test_words_hold_eight_neighbours():
    codes = np.arange(10, dtype=np.uint8)[None]
    assert list(words_of(codes, range(0, 32, 4)).view(np.uint32)) == [0x76543210, 0x98]


def test_every_kernel_is_in_the_catalogue():
    names = {record.name for record in registry.all_kernels()}
    made = (*grouped_product.KERNELS, *grouped_rounded.KERNELS)
    assert {record.name for record in made} <= names
