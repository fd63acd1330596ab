"""The samples, run on this machine as a reader would."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.host
pytest.importorskip("sklearn", reason="the samples train with scikit-learn")
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def sample_01(monkeypatch):
    monkeypatch.syspath_prepend(str(SAMPLES))
    path = SAMPLES / "01_digits_on_a_raspberry_pi.py"
    spec = importlib.util.spec_from_file_location("sample_01", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_trained_model_is_good_and_always_the_same(sample_01):
    digits = sample_01.digits
    train, held_out, train_labels, labels = digits.load()
    model = digits.train(train, train_labels)
    assert sample_01.accuracy(sample_01.float_predictions(model, held_out), labels) >= 0.96
    again = digits.train(train, train_labels)
    assert model.SerializeToString() == again.SerializeToString()


def test_first_sample_runs_here_without_qemu(sample_01, monkeypatch, tmp_path, capsys):
    def nothing_there(say):
        say("qemu-user not installed (as root: apt-get install qemu-user)")
        return False

    monkeypatch.setattr(sample_01.loopback, "ensure_emulation_tools", nothing_there)
    monkeypatch.setattr(sys, "argv", ["sample", "--out", str(tmp_path), "--images", "40"])
    sample_01.main()
    said = capsys.readouterr().out
    assert "qemu-user not installed" in said and "doing the same on this workstation" in said
    assert "µs" in said and "identical" in said and "accuracy, host (host), INT8" in said
    with zipfile.ZipFile(tmp_path / "digits.ecb") as bundle:
        assert json.loads(bundle.read("manifest.json"))["target"] == "host"
    assert (tmp_path / "digits.report.html").stat().st_size > 1000


@pytest.mark.parametrize("compiler", [None, "gcc", "clang"])
def test_second_sample_links_a_c_program(compiler, tmp_path):
    if compiler and not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    command = [sys.executable, str(SAMPLES / "02_link_into_a_c_program.py"), "--out",
               str(tmp_path), *(["--cc", compiler] if compiler else [])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " of 20 right" in done.stdout and done.stdout.count("classified as") == 20


def test_c_program_of_the_second_sample_refuses_bad_files(tmp_path):
    command = [sys.executable, str(SAMPLES / "02_link_into_a_c_program.py"), "--out",
               str(tmp_path), "--images", "12"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    (tmp_path / "short.bin").write_bytes((tmp_path / "weights.bin").read_bytes()[:-1])
    (tmp_path / "wide.pgm").write_bytes(b"P5\n9 8\n16\n" + bytes(72))
    for arguments, words in ((["short.bin", "digit_00.pgm"], "not the"),
                             (["weights.bin", "wide.pgm"], "not a readable 8x8"),
                             (["weights.bin"], "usage")):
        done = subprocess.run([str(tmp_path / "classify"), *arguments], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode != 0 and words in done.stderr
