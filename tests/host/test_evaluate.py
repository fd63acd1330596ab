"""`edgecc evaluate` and `edgecc run PICTURE` on one small bundle, compiled from pictures."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import onnx
import pytest
from picture_files import classes, pixels, save
from pipeline_models import network, samples

import edgecc
from edgecc.bundle import evaluate as module
from edgecc.cli.main import main
from edgecc.data import Preprocessing, pictures
from edgecc.errors import BundleError, ConfigError

pytestmark = pytest.mark.host
HOW = Preprocessing(scale=1, mean=(0.5, 0.4, 0.3), std=(0.2,), resize=14, crop=12)
NAMES = ("ant", "bee", "cat", "dog", "eel")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    classes(folder / "pictures", NAMES, 2, (20, 15))
    (folder / "names.txt").write_text("\n".join(NAMES))
    onnx.save(network(), folder / "net.onnx")
    return folder


@pytest.fixture(scope="module")
def bundle(folder):
    return edgecc.compile(folder / "net.onnx", quantization="int8", preprocessing=HOW,
                          calibration=folder / "pictures", keep_float=True)


@pytest.fixture(scope="module")
def packed(bundle, folder):
    return str(bundle.save(folder / "net.ecb"))


def test_the_declaration_is_everywhere(bundle, tmp_path):
    record = bundle.manifest["inputs"][0]["preprocessing"]
    assert Preprocessing.from_json(record) == HOW
    header = bundle.files["include/net.h"].decode()
    assert "#define NET_INPUT_0_PIXEL_DIVISOR 255.0f\n" in header
    assert "#define NET_INPUT_0_MEAN {0.5f, 0.400000006f, 0.300000012f}\n" in header
    (tmp_path / "net.py").write_bytes(bundle.files["python/net.py"])
    spec = importlib.util.spec_from_file_location("net_wrapper", tmp_path / "net.py")
    wrapper = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(wrapper)
    assert {"x": record} == wrapper.PREPROCESSING


def test_golden_vectors_are_calibration_pictures(bundle, folder):
    found = [inputs["x"] for inputs, _ in bundle.vectors()]
    first = pictures.interleaved(pictures.find(folder / "pictures"))[0].path
    port = bundle.manifest["inputs"][0]
    from edgecc.bundle import ports

    expected = ports.to_native(port, pictures.feed(first, HOW, (1, 3, 12, 12), "float32"))
    assert np.array_equal(found[0], expected)


def test_evaluation_of_pictures(bundle, folder):
    found = bundle.evaluate(folder / "pictures", folder / "names.txt", boards=["host"])
    exact, engine, host = found.rows
    assert [row.where for row in found.rows] == [module.FLOAT, module.OWN, "host"]
    assert exact.samples == engine.samples == host.samples == 10
    assert host.different == 0 and host.values == 50 and host.score == engine.score
    order = pictures.interleaved(pictures.find(folder / "pictures"))
    feeds = [{"x": pictures.feed(p.path, HOW, (1, 3, 12, 12), "float32")} for p in order]
    answers = [bundle.run(feed)["y"].argmax() for feed in feeds]
    wanted = [NAMES.index(p.folder) for p in order]
    assert host.score == pytest.approx(np.mean(np.equal(answers, wanted)))
    assert "host" in found.to_text() and "identical" in found.to_text()


def test_a_wrong_program_is_seen(bundle, monkeypatch, folder):
    """The columns are measured, not assumed: other outputs change all of them."""
    right = module.measure.run_many

    def wrong(*args, **kwargs):
        return [{"y": -1 - outputs["y"]} for outputs in right(*args, **kwargs)]

    monkeypatch.setattr(module.measure, "run_many", wrong)
    host = bundle.evaluate(folder / "pictures", folder / "names.txt").rows[-1]
    assert host.different == host.values and host.float_agreement == 0 and host.largest > 1
    assert "of 50, off by" in host.engine_text


def test_agreement_without_labels_and_with_a_float_file(bundle, folder):
    data = {"x": samples(5)}
    found = bundle.evaluate(data, metric="cosine", float_model=folder / "net.onnx")
    exact, engine, host = found.rows
    assert exact.score == 1.0 and 0.99 < host.score == engine.score == host.float_agreement
    assert found.agreement == "cosine" and bundle.evaluate(data).row("host").score is None


def test_functions_as_metrics(bundle):
    seen = []

    def metric(outputs, labels):
        seen.append((len(outputs), outputs[0]["y"].shape, list(labels)))
        return float(len(seen))

    found = bundle.evaluate(samples(2), [7, 8], metric=metric)
    assert [row.score for row in found.rows] == [1, 2, 3]
    assert seen[2] == (2, (1, 5), [7, 8])


def test_command_line(packed, folder, capsys):
    data = ["--data", str(folder / "pictures"), "--labels", str(folder / "names.txt")]
    assert main(["evaluate", packed, *data, "--limit", "5", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["samples"] for row in shown["rows"]] == [5, 5, 5]
    assert shown["rows"][2]["identical"] is True
    np.savez(folder / "d.npz", images=samples(4), y=np.arange(4))
    assert main(["evaluate", packed, "--data", str(folder / "d.npz"), "--inputs", "images",
                 "--labels", "y", "--metric", "top5", "--board", "host"]) == 0
    assert "100.00 %" in capsys.readouterr().out


def test_metric_of_the_users_own_folder(packed, folder, capsys, monkeypatch):
    (folder / "my_metric.py").write_text("def count(outputs, labels):\n    return len(outputs)\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    assert main(["evaluate", packed, "--data", "pictures", "--labels", "names.txt", "--metric",
                 "my_metric:count", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][-1]["score"] == 10


def test_run_a_picture(packed, bundle, folder, capsys):
    picture = save(folder / "one.png", pixels((20, 15), 3))
    assert main(["run", packed, str(picture), "--labels", str(folder / "names.txt"),
                 "--top", "2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    expected = bundle.run({"x": pictures.feed(picture, HOW, (1, 3, 12, 12), "float32")})["y"][0]
    assert [t["index"] for t in shown["top"]] == np.argsort(-expected, kind="stable")[:2].tolist()
    assert shown["top"][0]["label"] == NAMES[expected.argmax()]
    assert main(["run", packed, str(picture), "--top", "1"]) == 0
    assert f"top 1     {expected.max():<10.6g} {expected.argmax()}" in capsys.readouterr().out


@pytest.mark.parametrize("options, message", [
    (["run", "--top", "0"], "--top 0 shows nothing"),
    (["run", "no.png"], "no such picture"),
    (["evaluate", "--data", "pictures"], "which class has which number"),
    (["evaluate", "--data", "d", "--float", "no.onnx"], "no.onnx: no such file"),
    (["evaluate", "--data", "pictures", "--metric", "topp1"], "did you mean top1"),
    (["run", "p.png", "--labels", "two.txt"], "do not name the first output's values")])
def test_refusals(packed, folder, capsys, monkeypatch, options, message):
    save(folder / "p.png", pixels((20, 15)))
    (folder / "two.txt").write_text("a\nb\n")
    monkeypatch.chdir(folder)
    command, *rest = options
    assert main([command, packed, *rest]) == 2
    assert message in capsys.readouterr().err


def test_models_that_do_not_go_together(bundle, folder):
    other = network()
    other.graph.input[0].name = "z"
    for node in other.graph.node:
        node.input[:] = ["z" if name == "x" else name for name in node.input]
    renamed = bundle.evaluate(samples(2), float_model=other)  # one input: matched by its place
    assert renamed.rows[0].where == module.FLOAT
    other.graph.output.append(onnx.helper.make_tensor_value_info("g", 1, None))
    with pytest.raises(ConfigError, match="float model has other outputs than the bundle"):
        bundle.evaluate(samples(2), float_model=other)


def test_without_any_truth(bundle):
    bare = edgecc.Bundle.of({**bundle.manifest, "model": {
        k: v for k, v in bundle.manifest["model"].items() if k != "float_file"}},
        {k: v for k, v in bundle.files.items() if k not in ("manifest.json", "model/float.onnx")})
    with pytest.raises(ConfigError, match="nothing says what is right"):
        bare.evaluate(samples(2))
    found = bare.evaluate(samples(2), [0, 1])
    assert found.notes == (module.NO_FLOAT,) and found.rows[0].where == module.OWN
    assert found.rows[1].float_agreement is None


def test_records_that_were_changed_are_refused(bundle):
    manifest = bundle.manifest
    manifest["inputs"][0]["preprocessing"]["mean"] = [0, 0]
    with pytest.raises(BundleError, match="preprocessing of 'x'.*mean"):
        module.ports.preprocessing(manifest["inputs"])


def test_float_model_of_a_quantized_one_cannot_be_kept(bundle, folder):
    (folder / "q.onnx").write_bytes(bundle.files["model/quantized.onnx"])
    with pytest.raises(ConfigError, match="came quantized, so there is no float model to keep"):
        edgecc.compile(folder / "q.onnx", keep_float=True)
