"""64-bit Arm executes so many fewer instructions than LiteRT."""

import sys
from pathlib import Path

import pytest
from shared_data import shared

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import mlperf_tiny  # noqa: E402

pytestmark = [pytest.mark.emulated, pytest.mark.slow]


@pytest.mark.parametrize("isa, model", [
    ("dotprod", "kws"), ("dotprod", "ic"), ("i8mm", "kws"), ("neon", "kws")])
def test_models_stay_within_the_limits(isa, model):
    found = mlperf_tiny.measured(isa, model, shared("models/onnx_fp32"))
    assert found["golden"] == "pass"
    assert found["ratio"] <= found["limit"], mlperf_tiny.line(found)
