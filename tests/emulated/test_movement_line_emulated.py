"""Operators that move elements through the whole line: the same bytes under QEMU."""

import shutil

import movement_models
import pytest

import edgecc

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64"),
]


@pytest.mark.parametrize("target", ["raspberry-pi-5"])
def test_golden_vectors_pass(target):
    model, samples = movement_models.images()
    bundle = edgecc.compile(model, target=target, quantization="int8", name="neck",
                            calibration={"x": samples})
    assert bundle.bench(count=1).to_json()["golden"] == "pass"
    model, _ = movement_models.typed()
    bundle = edgecc.compile(model, target=target, quantization="none", name="typed")
    assert bundle.bench(count=1).to_json()["golden"] == "pass"
