"""Products of two computed matrices take a fraction of what plain code takes."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import products  # noqa: E402

pytestmark = [pytest.mark.emulated, pytest.mark.slow]
MOST = {"dotprod": 0.3, "dsp": 0.4}  # of plain code's instructions, 64x64x64


@pytest.mark.parametrize("isa", MOST)
def test_tiles_are_worth_packing_the_right_operand(isa):
    rows = products.measured(isa, products.COMPUTED[:2])
    assert all(row["ratio"] <= MOST[isa] for row in rows), products.table(rows)


def test_4_bit_weights_take_less_than_a_sixth_of_the_flash():
    rows = products.in_four_bits("dotprod", products.WEIGHTED[1:])
    assert all(6 * row["int4_bytes"] < row["float_bytes"] for row in rows), products.table(rows)
