"""The line for a Raspberry Pi 5 under QEMU: the same bytes as on this machine, counted exactly."""

import shutil

import numpy as np
import pipeline_models
import pytest

import edgecc

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64"),
]
TARGETS = ("host", "raspberry-pi-5")
SAMPLES = pipeline_models.samples()


@pytest.fixture(scope="module")
def bundles():
    return {target: edgecc.compile(pipeline_models.network(), target=target, name="net",
                                   quantization="int8", calibration={"x": SAMPLES})
            for target in TARGETS}


def test_both_targets_give_the_same_bytes(bundles):
    given = [{"x": x[None]} for x in SAMPLES]
    answers = [bundle.run_many(given, native=True) for bundle in bundles.values()]
    for here, there in zip(*answers, strict=True):
        assert here["y"].tobytes() == there["y"].tobytes()


def test_golden_vectors_do_not_depend_on_the_target(bundles):
    here, there = ({path: data for path, data in bundle.files.items() if "vectors/" in path}
                   for bundle in bundles.values())
    assert here == there


def test_an_emulated_bench_counts_and_claims_no_time(bundles):
    report = bundles["raspberry-pi-5"].bench().to_json()
    assert report["board"] == "emulated-raspberry-pi-5" and report["golden"] == "pass"
    assert report["timing"] == "emulated" and report["p50_us"] is None
    assert report["peak_rss_bytes"] is None and report["instructions"] > 1000
    again = bundles["raspberry-pi-5"].bench().to_json()
    assert again["instructions"] == report["instructions"]


def test_a_changed_golden_answer_stops_the_bench(bundles):
    bundle = bundles["raspberry-pi-5"]
    wrong = bytes(np.frombuffer(bundle.files["vectors/0/output_0.bin"], np.uint8) ^ 1)
    files = {path: data for path, data in bundle.files.items() if path != "manifest.json"}
    changed = edgecc.Bundle.of(bundle.manifest, {**files, "vectors/0/output_0.bin": wrong})
    with pytest.raises(edgecc.EdgeccError, match="golden vector 0: output 0 differs in 5 of 5"):
        changed.bench()
