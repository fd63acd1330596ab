"""Python and firmware of the README, run as they stand beside the files that they name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgecc.rpc.loopback import missing_tools

pytestmark = pytest.mark.emulated
pytest.importorskip("sklearn", reason="the sample model is trained with scikit-learn")
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def labels(tmp_path, monkeypatch):
    """Labels of the images that lie in `tmp_path` with the model, as the first sample leaves it."""
    monkeypatch.syspath_prepend(str(ROOT / "samples"))
    import digits

    train, _, labels, _ = digits.load()
    onnx.save(digits.train(train, labels), tmp_path / "digits.onnx")
    np.savez(tmp_path / "calibration.npz", image=train[:50])
    return labels


def test_python_of_the_readme_runs(tmp_path, labels):
    if "qemu-user" in missing_tools():
        pytest.skip("needs qemu-user")
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    assert "bytes of RAM" in done.stdout and "instructions per inference" in done.stdout
    assert f"\n{labels[0]} board " in done.stdout
    assert (tmp_path / "digits.ecb").stat().st_size > 10_000


def test_firmware_of_the_readme_runs(tmp_path, labels):
    for tool in ("cmake", "arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(tool):
            pytest.skip(f"needs {tool}")
    section = README.partition("## Firmware\n")[2].partition("\n## ")[0]
    (commands,) = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-ec", commands], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]
    assert "`digits: self-test passed`" in section
    assert "digits: self-test passed" in done.stdout + done.stderr
    figures = re.search(r"RAM [\d,]+ B \+ stack [\d,]+ B · flash [\d,]+ B", done.stdout)
    assert figures and re.search(r"`RAM [\d,]+ B \+ stack [\d,]+ B · flash [\d,]+ B`", section)
