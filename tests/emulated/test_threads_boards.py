"""Threads under QEMU and on this machine: one answer, whatever their number and the chip."""

import hashlib
import shutil

import numpy as np
import onnx
import pipeline_models
import pytest
from shared_data import shared

import edgecc

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64"),
]
SAMPLES = pipeline_models.samples()
MODELS = ("ad_autoencoder", "kws_dscnn", "resnet8_cifar10", "vww_mobilenetv1")
COUNTS = (1, 2, 4)


def digest(bundle, given):
    answers = bundle.run_many(given, native=True)
    found = hashlib.sha256()
    for answer in answers:
        for name in sorted(answer):
            found.update(answer[name].tobytes())
    return found.hexdigest()


def test_a_small_network_gives_the_same_bytes():
    made = {(target, count): edgecc.compile(
        pipeline_models.network(), target=target, name="net", quantization="int8", threads=count,
        parallel_chunk=0, calibration={"x": SAMPLES}) for target, count in
        [("host", 1), ("raspberry-pi-5", 2), ("raspberry-pi-5", 4), ("spacemit-k1", 4)]}
    assert {step["threads"] for step in made["raspberry-pi-5", 4].manifest["steps"]} == {1, 4}
    assert len({digest(bundle, [{"x": x[None]} for x in SAMPLES]) for bundle in made.values()}) == 1


def test_instructions_are_those_of_one_thread():
    alone, shared_ = (edgecc.compile(pipeline_models.network(), target="raspberry-pi-5",
                                     name="net", threads=count, parallel_chunk=0).bench()
                      for count in (1, 4))
    assert 0 < shared_.instructions - alone.instructions < 100  # asks whether there is a pool
    assert [s.instructions for s in shared_.steps] == [s.instructions for s in alone.steps]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("quantization", ["int8", "none"])
def test_real_models_give_the_same_bytes(model, quantization):
    path = shared(f"models/onnx_fp32/mlperf_tiny_{model}_fp32.onnx")
    port = onnx.load(path).graph.input[0]
    shape = [dim.dim_value or 1 for dim in port.type.tensor_type.shape.dim]
    data = np.random.default_rng(0).standard_normal((8, *shape[1:])).astype(np.float32)
    given = [{port.name: sample[None]} for sample in data[:4]]
    for target in ("host", "raspberry-pi-5"):
        found = {digest(edgecc.compile(path, target=target, quantization=quantization,
                                       threads=count, calibration={port.name: data}), given)
                 for count in COUNTS}
        assert len(found) == 1, target
