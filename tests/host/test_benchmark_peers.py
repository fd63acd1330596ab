"""The comparison with other engines runs as its user would run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from pipeline_models import network

pytestmark = pytest.mark.host
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "x86_peers.py"


def test_a_table_of_ratios(tmp_path):
    onnx.save(network(), str(tmp_path / "network.onnx"))
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "network.onnx", "--quantize", "int8", "--rounds", "2",
         "--json", tmp_path / "rows.json"], capture_output=True, text=True, check=True)
    [row] = json.loads((tmp_path / "rows.json").read_text())
    assert row["model"] == "network" and row["threads"] == 1 and row["edgecc_us"] > 0
    assert row["ratios"]["ONNX Runtime"] > 0
    assert "geometric mean" in done.stdout
