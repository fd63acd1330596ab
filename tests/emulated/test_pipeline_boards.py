"""The line for a Raspberry Pi 5 under QEMU: the same bytes as on this machine, counted exactly."""

import json
import shutil

import numpy as np
import pipeline_models
import pytest
from shared_data import shared

import edgecc
from edgecc.cli.main import main

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64"),
]
TARGETS = ("host", "raspberry-pi-5")
SAMPLES = pipeline_models.samples()
# model file: calibration data, and the limits of its INT8 form: LiteRT's instruction count on
# the same core (XNNPACK), and the liveness bound of the activations
LIMITS = {
    "ad_autoencoder": ("ad_normal_id_01_00000000_windows.npz", 47_944, 768),
    "kws_dscnn": ("kws_mfcc_tflm4.npz", 714_551, 16_000),
    "resnet8_cifar10": (None, 1_501_651, 49_152),
    "vww_mobilenetv1": (None, 1_929_774, 55_296),
}


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


@pytest.mark.slow
def test_real_models_on_both_targets(tmp_path, capsys):
    models = [str(shared(f"models/onnx_fp32/mlperf_tiny_{name}_fp32.onnx")) for name in LIMITS]
    for name, (data, _, _) in LIMITS.items():
        if data:
            shutil.copy(shared(f"models/data/{data}"),
                        tmp_path / f"mlperf_tiny_{name}_fp32.npz")
    code = main(["matrix", *models, "--targets", ",".join(TARGETS), "--calibrate-dir",
                 str(tmp_path), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0 and not found["differing"] and len(found["rows"]) == 16
    for row in found["rows"]:
        if (row["quantization"], row["target"]) == ("int8", "raspberry-pi-5"):
            name = row["model"].removeprefix("mlperf_tiny_").removesuffix("_fp32")
            _, instructions, activations = LIMITS[name]
            assert row["instructions"] <= instructions
            assert row["arena_bytes"] <= activations + row["scratch_bytes"]
            assert row["onnxruntime"] == "identical"
