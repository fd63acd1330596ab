"""Models that take uint8 pixels, through the whole line and the C API."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from pipeline_models import network

import edgecc
from edgecc.bundle.evaluate import FLOAT
from edgecc.data import Preprocessing

pytestmark = pytest.mark.host
MIXED = Preprocessing(scale=1, mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.3), folded=True)
WHOLE = Preprocessing(scale=255, mean=(128,), std=(64,), folded=True)


def pictures(count, seed=0):
    draw = np.random.default_rng(seed).integers
    return [{"x": draw(0, 256, (1, 12, 12, 3), dtype=np.uint8)} for _ in range(count)]


def compiled(how, **config):
    return edgecc.compile(network(), calibration=pictures(8), preprocessing=how, **config)


@pytest.mark.parametrize("how, expected", [
    (WHOLE, ["recentre", "conv2d"]), (MIXED, ["recentre", "rowwise", "conv2d"])])
def test_int8(how, expected, tmp_path):
    bundle = compiled(how, quantization="int8")
    manifest = bundle.manifest
    port = manifest["inputs"][0]
    assert [step["op"] for step in manifest["steps"]][:len(expected)] == expected
    assert (port["dtype"], port["shape"], port["layout"], port["scale"]) == (
        "uint8", [1, 12, 12, 3], "NHWC", None)
    assert "/* Input 0: rgb pixels as they are. */" in bundle.files["include/network.h"].decode()
    found = bundle.evaluate(pictures(40, 1), float_model=network())
    exact, _, host = found.rows
    assert exact.where == FLOAT and host.float_agreement >= 0.95
    assert host.different <= 10 and host.largest <= 1  # rows of constants round otherwise
    in_process(bundle, tmp_path)


def in_process(bundle, folder):
    """The ctypes wrapper takes the pixels as they are."""
    bundle_files = ("lib/libnetwork.so", "weights.bin", "python/network.py")
    for path in bundle_files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(bundle.files[path])
    spec = importlib.util.spec_from_file_location("network", folder / "python" / "network.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model, picture = module.Model(), pictures(1, 5)[0]
    assert model.inputs[0].dtype == "uint8" and module.PREPROCESSING["x"]["folded"] is True
    [answer] = model.run([picture["x"]])
    assert np.array_equal(answer, bundle.run(picture, native=True)["y"])


def test_golden_vectors_cover_all_bytes():
    drawn = [inputs["x"] for inputs, _ in compiled(WHOLE, quantization="int8").vectors()]
    assert drawn[-1].dtype == np.uint8 and drawn[-1].min() < 5 and drawn[-1].max() > 250


def test_float32():
    bundle = compiled(MIXED)
    assert bundle.manifest["inputs"][0]["dtype"] == "uint8"
    exact, engine, host = bundle.evaluate(pictures(10, 1), float_model=network(),
                                          metric="cosine").rows
    assert engine.where == "ONNX Runtime" and host.largest < 1e-4
    assert host.score == pytest.approx(1, abs=1e-6) == exact.score
