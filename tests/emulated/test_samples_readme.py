"""The Python of the README, run as it stands beside the files that it names."""

from __future__ import annotations

import re
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


def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    if "qemu-user" in missing_tools():
        pytest.skip("needs qemu-user")
    monkeypatch.syspath_prepend(str(ROOT / "samples"))
    import digits

    train, _, labels, _ = digits.load()
    onnx.save(digits.train(train, labels), tmp_path / "digits.onnx")
    np.savez(tmp_path / "calibration.npz", image=train[:50])
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    assert "bytes of RAM" in done.stdout and "instructions per inference" in done.stdout
    assert f"\n{labels[0]} board " in done.stdout
    assert (tmp_path / "digits.ecb").stat().st_size > 10_000
