"""The samples for a Raspberry Pi 5: real SSH on 127.0.0.1, programs through QEMU."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from edgecc.rpc.loopback import missing_tools

pytestmark = pytest.mark.emulated
pytest.importorskip("sklearn", reason="the samples train with scikit-learn")
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(autouse=True)
def tools():
    missing = missing_tools()
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")


def run(name: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(SAMPLES / name), "--out", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_first_sample_runs_over_ssh(tmp_path):
    said = run("01_digits_on_a_raspberry_pi.py", tmp_path, "--images", "450")
    assert "loopback: ssh, programs run through qemu-aarch64" in said
    assert re.search(r"latency, median +not claimed: emulated", said)
    assert re.search(r"instructions per inference +[\d,]{5,}\n", said)
    assert re.search(r"board against workstation +identical", said)
    accuracies = [float(value) for value in re.findall(r"accuracy, .* ([\d.]+)% of 450", said)]
    assert len(accuracies) == 3 and min(accuracies) >= 96 and max(accuracies) < 100
    with zipfile.ZipFile(tmp_path / "digits.ecb") as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
    assert manifest["target"] == "raspberry-pi-5"
    assert f"{manifest['arena_bytes']:,} B" in said
    assert "<html" in (tmp_path / "digits.report.html").read_text("utf-8")


def test_second_sample_links_for_the_raspberry_pi(tmp_path):
    said = run("02_link_into_a_c_program.py", tmp_path, "--target", "raspberry-pi-5")
    assert " of 20 right" in said
    assert (tmp_path / "classify").read_bytes()[18:20] == b"\xb7\x00"  # ELF: AArch64


def test_third_sample_compiles_a_torch_module(tmp_path):
    pytest.importorskip("torch", reason="needs torch (pip install 'edgecc[torch]')")
    said = run("03_torch_digits.py", tmp_path, "--images", "150")
    assert "load      DigitsNet · " in said and "golden    6 of 6 vectors identical" in said
    agreement = float(re.search(r"same answer as torch +([\d.]+)%", said)[1])
    accuracies = [float(value) for value in re.findall(r"accuracy, .* ([\d.]+)%", said)]
    assert agreement >= 98 and len(accuracies) == 2 and min(accuracies) >= 94
    with zipfile.ZipFile(tmp_path / "digits_net.ecb") as bundle:
        assert json.loads(bundle.read("manifest.json"))["target"] == "raspberry-pi-5"
