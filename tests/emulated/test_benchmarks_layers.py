"""Whole layers keep what the benchmark of layers asks of their tiles, on Arm and RVV."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.emulated, pytest.mark.slow]
PATH = Path(__file__).parents[2] / "benchmarks" / "layers.py"


def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_layers", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("isa", ["dotprod", "i8mm", "neon", "rvv256", "rvv128", "dsp", "mve"])
def test_layers_keep_their_share(isa):
    layers = benchmark()
    rows = layers.measured(isa)
    assert len(rows) == len(layers.LAYERS)
    below = [row for row in rows if not row["reached"]]
    assert not below, layers.table(below)


def test_a_layer_below_its_limit_is_marked():
    layers = benchmark()
    step = {"kernel": "int8_conv2d_4x16__dotprod", "macs": 1000}
    slow = layers.row("dotprod", layers.LAYERS[0], step, 100)
    assert not slow["reached"] and layers.table([slow]).endswith("below")
    assert layers.row("dotprod", layers.LAYERS[0], step, 80)["reached"]
