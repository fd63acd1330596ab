"""The wheel holds everything and works from another directory, without this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.host, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
HOMES = {"edgecc": "edgecc", "targets": "edgecc/targets", "rpc": "edgecc/rpc"}
PROGRAM = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "ditable" not in repr(finder)]
import numpy as np, onnx
from onnx import TensorProto, helper
import edgecc
from edgecc.targets import all_targets
from edgecc.rpc.boards import built_in_boards
assert edgecc.__file__.startswith(sys.argv[1]), edgecc.__file__
assert "host" in all_targets() and "emulated-raspberry-pi-5" in built_in_boards()
info = helper.make_tensor_value_info
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "tiny",
                          [info("x", TensorProto.FLOAT, [1, 4])],
                          [info("y", TensorProto.FLOAT, [1, 4])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
bundle = edgecc.compile(model, target="host")
print(bundle.run({"x": np.array([[-1, 0, 2, -3]], np.float32)}, board="host")["y"].tolist())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy of what git knows, so that nothing left lying about gets in."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in tracked():
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "source" / name)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
                    "--disable-pip-version-check", "--wheel-dir", str(folder),
                    str(folder / "source")], check=True)
    (found,) = folder.glob("*.whl")
    return found


def tracked() -> list[str]:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone of the repository")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True,
                          text=True)
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


def test_wheel_holds_every_file_of_the_package_and_no_other(wheel):
    wanted = set()
    for name in tracked():
        top, _, rest = name.partition("/")
        if rest and top in HOMES and not name.endswith(".md"):
            wanted.add(f"{HOMES[top]}/{rest}")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == wanted


def test_wheel_compiles_and_runs_from_another_directory(wheel, tmp_path):
    site = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                    "--disable-pip-version-check", "--target", str(site), str(wheel)], check=True)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(site)], cwd=tmp_path, text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(site)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[[0.0, 0.0, 2.0, 0.0]]"


def test_wheel_says_what_it_needs(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
        (points,) = [n for n in archive.namelist() if n.endswith("entry_points.txt")]
        assert "edgecc = edgecc.cli.main:main" in archive.read(points).decode()
    assert "License: Apache-2.0" in metadata or "License-Expression: Apache-2.0" in metadata
    for package in ("apache-tvm", "ziglang", "onnx_ir", "onnxruntime", "paramiko"):
        assert f"Requires-Dist: {package}" in metadata
