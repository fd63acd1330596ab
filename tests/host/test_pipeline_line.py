"""The whole line on a small network: compiled for this machine, run, compared, repeated."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pipeline_models
import pytest

import edgecc
from edgecc import line, pipeline, quantize, targets
from edgecc.bundle import oracle
from edgecc.bundle.oracle import Agreement
from edgecc.cli.main import main
from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import (
    CheckFailed,
    ConfigError,
    DoesNotFit,
    QuantizationError,
    TargetError,
    UnsupportedModel,
)
from edgecc.model import load

pytestmark = pytest.mark.host
NETWORK, SAMPLES = pipeline_models.network(), pipeline_models.samples()


@pytest.fixture(scope="module")
def int8():
    return edgecc.compile(NETWORK, quantization="int8", calibration={"x": SAMPLES}, name="net")


@pytest.fixture(scope="module")
def plain():
    return edgecc.compile(NETWORK, name="net")


def reference():
    session = ort.InferenceSession(NETWORK.SerializeToString())
    return np.stack([session.run(None, {"x": x[None]})[0] for x in SAMPLES])


def test_float_outputs_are_onnx_runtimes(plain):
    ours = np.stack([plain.run({"x": x[None]})["y"] for x in SAMPLES[:3]])
    np.testing.assert_allclose(ours, reference()[:3], rtol=0, atol=1e-4)
    assert all(found.holds for found in oracle.compare(plain))


def test_int8_outputs_are_near_and_answer_alike(int8):
    ours = np.stack([int8.run({"x": x[None]})["y"] for x in SAMPLES[:3]])
    assert np.abs(ours - reference()[:3]).max() < 0.05
    assert (ours.argmax(-1) == reference()[:3].argmax(-1)).all()


def test_native_outputs_are_the_golden_bytes(int8):
    for inputs, outputs in int8.vectors()[:2]:
        found = int8.run(inputs, native=True)
        assert found["y"].dtype == np.int8 and found["y"].tobytes() == outputs["y"].tobytes()


def test_golden_vectors_agree_with_onnx_runtime(int8):
    agreement, = oracle.compare(int8)
    assert agreement.holds and agreement.values == 30


def test_a_bench_verifies_and_measures(int8):
    report = int8.bench("host", count=20, warmup=2, profile=True).to_json()
    assert report["golden"] == "pass" and report["timing"] == "measured"
    assert report["p50_us"] > 0 and len(report["steps"]) == len(int8.manifest["steps"])


def test_the_manifest_says_what_was_made(int8):
    manifest = int8.manifest
    assert manifest["name"] == "net" and manifest["target"] == "host"
    assert manifest["model"]["file"] == "model/quantized.onnx"
    assert manifest["inputs"][0]["dtype"] == "int8"
    assert manifest["vectors"] == {"count": 6, "calibration": 4, "random": 2}
    assert manifest["memory"]["placements"] and manifest["quantization"]["samples"] == 8
    assert manifest["macs"] == sum(step["macs"] for step in manifest["steps"]) > 0
    assert manifest["code_bytes"] > 0 < manifest["runner_bytes"] < 100_000
    licences = {path for path in int8.files if path.startswith("LICENSES/")}
    assert licences == {f"LICENSES/{n}.txt" for n in ("Apache-2.0", "compiler-rt", "musl")}


def test_nothing_of_this_machine_is_in_the_bundle(int8):
    for path, data in int8.files.items():
        assert str(Path.cwd()).encode() not in data, path
        assert str(Path.home() / ".cache").encode() not in data, path


def test_two_compiles_give_the_same_bytes(int8):
    again = edgecc.compile(NETWORK, quantization="int8", calibration=iter(SAMPLES), name="net")
    assert again.sha256 == int8.sha256


def test_quantized_models_enter_without_calibration(int8):
    proto = onnx.load_model_from_string(int8.files["model/quantized.onnx"])
    again = edgecc.compile(ir.from_proto(proto), quantization="int8", name="net")
    first, second = int8.manifest, again.manifest
    assert first["steps"] == second["steps"] and first["arena_bytes"] == second["arena_bytes"]
    assert int8.files["weights.bin"] == again.files["weights.bin"]


def test_float_ports_on_request():
    made = edgecc.compile(NETWORK, quantization="int8", calibration={"x": SAMPLES}, io="float32")
    assert made.manifest["inputs"][0]["dtype"] == "float32"
    assert made.manifest["name"] == "network"


def test_without_fusion_there_are_more_steps(int8):
    config = CompileConfig(target="null", quantization="int8", fusion=False)
    made = pipeline.compile(NETWORK, config=config, calibration={"x": SAMPLES}, context=Context())
    assert len(made.manifest["steps"]) >= len(int8.manifest["steps"])


def test_the_null_target_links_nothing():
    made = edgecc.compile(NETWORK, target="null")
    assert "runner/runner" not in made.files and made.manifest["code_bytes"] == 0
    assert made.manifest["vectors"]["count"] == 4


def test_the_full_check_asks_onnx_runtime():
    said = []
    context = Context(progress=lambda verb, text: said.append((verb, text)))
    pipeline.compile(NETWORK, config=CompileConfig(target="null", check="full"), context=context)
    verbs = [verb for verb, _ in said]
    assert verbs[0] == "load" and verbs[-1] == "check" and len(set(verbs)) == len(verbs)
    assert "ONNX Runtime" in said[-1][1]


def test_the_full_check_fails_on_a_difference(monkeypatch, plain):
    monkeypatch.setattr(oracle, "compare", lambda _: [Agreement("y", True, 10, 3, 9.0)])
    with pytest.raises(CheckFailed, match="'y' against ONNX Runtime: 3 of 10 differ, by 9"):
        oracle.check_against_onnxruntime(plain)


def test_every_value_is_dumped(tmp_path):
    context = Context(dump_dir=tmp_path / "dump")
    pipeline.compile(NETWORK, config=CompileConfig(target="null"), context=context)
    found = {path.name: path.read_text() for path in context.dump_dir.iterdir()}
    assert set(found) == set(line.DUMPED.values()) and all(found.values())
    assert json.loads(found["6_manifest.json"])["target"] == "null"


def test_a_dump_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot dump"):
        pipeline.compile(NETWORK, config=CompileConfig(target="null"),
                         context=Context(dump_dir=tmp_path / "file"))


def test_what_is_no_model():
    with pytest.raises(ConfigError, match="int is no model"):
        edgecc.compile(5)


def test_errors_of_the_verbs_pass_through(tmp_path, monkeypatch):
    with pytest.raises(UnsupportedModel, match="no such file"):
        edgecc.compile(tmp_path / "none.onnx")
    with pytest.raises(TargetError, match="raspberry-pi-5"):
        edgecc.compile(NETWORK, target="raspberry-pi-6")
    with pytest.raises(QuantizationError, match="needs calibration"):
        edgecc.compile(NETWORK, quantization="int8")
    small = replace(targets.get_target("host"), name="host",
                    memories=(targets.Region("ram", 500),))
    monkeypatch.setattr(targets, "get_target", lambda _: small)
    with pytest.raises(DoesNotFit, match="available 500 B"):
        edgecc.compile(NETWORK)


def test_the_command_line_end_to_end(tmp_path, capsys):
    model, data = pipeline_models.files(tmp_path)
    out, page, result = (tmp_path / name for name in ("net.ecb", "net.html", "out.npz"))
    np.save(tmp_path / "x.npy", SAMPLES[:1])
    assert main(["compile", str(model), "--target", "host", "--quantize", "int8", "--calibrate",
                 str(data), "-o", str(out)]) == 0
    assert main(["verify", str(out)]) == main(["inspect", str(out)]) == 0
    assert main(["bench", str(out), "--profile", "--count", "5", "--html", str(page)]) == 0
    assert "<html" in page.read_text()
    capsys.readouterr()
    assert main(["run", str(out), "--input", f"x={tmp_path}/x.npy", "-o", str(result),
                 "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    np.testing.assert_array_equal(np.load(result)["y"], shown["outputs"]["y"]["values"])


def test_quantize_writes_a_model_that_onnx_runtime_runs(tmp_path, capsys):
    model, data = pipeline_models.files(tmp_path)
    out = tmp_path / "q.onnx"
    assert main(["quantize", str(model), "--calibrate", str(data), "-o", str(out)]) == 0
    assert quantize.is_qdq(load(out))
    assert ort.InferenceSession(str(out)).run(None, {"x": SAMPLES[:1]})[0].shape == (1, 5)


def test_the_matrix_compares_and_counts(tmp_path, capsys):
    model, data = pipeline_models.files(tmp_path)
    data.rename(tmp_path / "net.npz")
    assert main(["matrix", str(model), "--targets", "host", "--calibrate-dir", str(tmp_path),
                 "--count", "3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["quantization"] for row in rows] == ["int8", "none"]
    assert all(row["golden"] == "pass" and row["agrees"] for row in rows)
    assert main(["matrix", str(model), "--quantize", "none", "--count", "3"]) == 0
    assert "net    none       host    library  pass" in capsys.readouterr().out


def heeds_interrupts():
    """A shell starts what runs in its background deaf to SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_interrupt_leaves_nothing_behind(tmp_path):
    model, _ = pipeline_models.files(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-m", "edgecc.cli.main", "compile", str(model), "--target", "host",
               "--name", f"interrupted{tmp_path.name}", "-o", str(out / "net.ecb")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=heeds_interrupts)
    assert process.stdout.readline().startswith("load")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    # A shell sees 130 both ways: Python itself ends by the signal when it struck inside exec().
    assert process.returncode in (130, -signal.SIGINT)
    assert errors == "error: interrupted\n" and not list(out.iterdir())
