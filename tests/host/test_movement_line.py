"""Operators that move elements through the whole line, on this machine."""

import movement_models
import numpy as np
import onnxruntime as ort
import pytest

import edgecc
from edgecc.bundle import oracle

pytestmark = pytest.mark.host


def test_integers_and_flags_of_every_width():
    model, feeds = movement_models.typed()
    bundle = edgecc.compile(model, target="host", quantization="none", name="typed")
    assert bundle.bench(count=1).to_json()["golden"] == "pass"
    found = bundle.run(feeds)
    session = ort.InferenceSession(model.SerializeToString())
    for port, expected in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        assert found[port.name].dtype == expected.dtype
        assert np.array_equal(found[port.name], expected)


@pytest.mark.parametrize("quantization", ["int8", "none"])
def test_a_neck_of_a_detector(quantization):
    model, samples = movement_models.images()
    calibration = {"x": samples} if quantization == "int8" else None
    bundle = edgecc.compile(model, target="host", quantization=quantization, name="neck",
                            calibration=calibration)
    assert bundle.bench(count=1).to_json()["golden"] == "pass"
    assert bundle.manifest["layout_conversions"] == 0
    assert all(agreement.holds for agreement in oracle.compare(bundle, [
        (inputs, bundle.run(inputs, native=True)) for inputs, _ in bundle.vectors()]))
