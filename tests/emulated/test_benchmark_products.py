"""Products of two computed matrices take a fraction of what plain code takes."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.emulated, pytest.mark.slow]
PATH = Path(__file__).parents[2] / "benchmarks" / "products.py"
MOST = {"dotprod": 0.3, "dsp": 0.4}  # of plain code's instructions, 64x64x64


def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_products", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    sys.path.insert(0, str(PATH.parent))  # for what it imports beside itself
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(PATH.parent))
    return module


@pytest.mark.parametrize("isa", MOST)
def test_tiles_are_worth_packing_the_right_operand(isa):
    products = benchmark()
    rows = products.measured(isa, products.COMPUTED[:2])
    assert all(row["ratio"] <= MOST[isa] for row in rows), products.table(rows)


def test_4_bit_weights_take_less_than_a_sixth_of_the_flash():
    products = benchmark()
    rows = products.in_four_bits("dotprod", products.WEIGHTED[1:])
    assert all(6 * row["int4_bytes"] < row["float_bytes"] for row in rows), products.table(rows)
