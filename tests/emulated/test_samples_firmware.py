"""The firmware sample: labelled samples on a bare Cortex-M55 in QEMU, built in two ways."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shared_data import shared

pytestmark = pytest.mark.emulated
SAMPLE = Path(__file__).parents[2] / "samples" / "04_firmware_for_a_cortex_m55.py"
GNU = ("cmake", "arm-none-eabi-gcc")


def said(folder, *arguments):
    """The sample's last lines, once it has compared all answers with this workstation's."""
    for tool in ("qemu-system-arm", *(() if "--zig" in arguments else GNU)):
        if not shutil.which(tool):
            pytest.skip(f"needs {tool}")
    command = [sys.executable, str(SAMPLE), "--out", str(folder / "out"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "the same answers" in done.stdout and "warning" not in done.stderr
    assert ("arm-none-eabi-gcc" in (folder / "out/model/toolchain.cmake").read_text())
    assert ("cmake --build" in done.stdout) != ("--zig" in arguments)
    return done.stdout


def right(text):
    """How many samples the chip got right, and how many the workstation."""
    return [int(n) for n in re.findall(r": +(\d+) of 45 right", text)]


def test_digits_with_ziglang_alone(tmp_path):
    pytest.importorskip("sklearn", reason="the sample trains with scikit-learn")
    text = said(tmp_path, "--zig")
    assert text.count("classified as") == 45 and right(text) in ([n, n] for n in range(42, 46))


@pytest.mark.parametrize("how", [(), pytest.param(("--zig",), marks=pytest.mark.slow)],
                         ids=["cmake", "zig"])
def test_wake_words(tmp_path, how):
    model = shared("models/onnx_fp32/mlperf_tiny_strww_fp32.onnx")
    data = shared("models/data/strww_calibration45_nchw.npz")
    text = said(tmp_path, *how, "--model", str(model), "--data", str(data))
    assert right(text) == [41, 41]  # as in float32


def test_a_model_needs_data(tmp_path):
    command = [sys.executable, str(SAMPLE), "--model", "m.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2 and "--model and --data go together" in done.stderr
