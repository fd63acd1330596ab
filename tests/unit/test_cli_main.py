"""The command line: one-line errors, stable exit codes, quick start, nothing half-written."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pipeline_models
import pytest
from bundle_maker import bundle

import edgecc
from edgecc import pipeline
from edgecc.cli import arguments, main, matrix
from edgecc.cli.console import Console
from edgecc.errors import CheckFailed, ConfigError, DoesNotFit


def cli(*words):
    return main.main([str(word) for word in words])


@pytest.fixture
def ecb(tmp_path):
    return bundle().save(tmp_path / "b.ecb")


@pytest.fixture
def compiled(monkeypatch):
    """Stands in for the line: a bundle at once, and what it was asked for."""
    asked = {}

    def fake(model, *, config, calibration, context, board):
        asked.update(model=model, config=config, calibration=calibration, context=context,
                     board=board)
        context.progress("load", "tiny.onnx          1 operators")
        context.progress("link", "runner 6 B")
        return bundle()

    monkeypatch.setattr(pipeline, "compile", fake)
    return asked


def failing(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(pipeline, "compile", fail)


def test_compile_writes_a_bundle_and_says_so(compiled, tmp_path, capsys):
    out = tmp_path / "o.ecb"
    code = cli("compile", "m.onnx", "--target", "raspberry-pi-5", "--quantize", "int8",
               "--calibrate", "c.npz", "--shape", "x=1,3,8,8", "--no-fusion", "-O2",
               "--observer", "mse", "--toolchain", "gcc -O1", "--io", "float32",
               "--check", "full", "--name", "net", "--dump", tmp_path / "d", "-o", out)
    assert code == 0 and edgecc.load_bundle(out).sha256 == bundle().sha256
    config = compiled["config"]
    assert (config.target, config.quantization, config.fusion) == ("raspberry-pi-5", "int8", False)
    assert config.shapes == {"x": (1, 3, 8, 8)} and config.toolchain == ("gcc", "-O1")
    assert (config.observer, config.io, config.check, config.name) == (
        "mse", "float32", "full", "net")
    assert compiled["calibration"] == "c.npz" and compiled["context"].dump_dir == tmp_path / "d"
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("load      tiny.onnx") and lines[-1].startswith(f"wrote {out}   RAM")


def test_json_is_one_object_on_standard_output(compiled, tmp_path, capsys):
    assert cli("compile", "m.onnx", "--target", "host", "-o", tmp_path / "o.ecb", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["arena_bytes"] == 64 and printed["sha256"] == bundle().sha256


@pytest.mark.parametrize("words", [[], ["fly"], ["compile"], ["compile", "m", "--target"],
                                   ["verify", "a", "--no-such"]])
def test_wrong_arguments_are_one_line_and_code_2(words, capsys):
    assert cli(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ConfigError: ") and len(error.splitlines()) == 1


@pytest.mark.parametrize(("option", "message"), [
    (["-O1"], "O1 would compile no faster than O2, and O0 does"),
    (["-O4"], "optimization='O4' is not implemented"),
    (["--quantize", "int3"], "quantization='int3'"),
    (["--io", "int16"], "io='int16'"),
    (["--threads", "17"], "threads=17 is out of range"),
    (["--fusion-max-operators", "0"], "fusion_max_operators=0 is out of range"),
    (["--contraction", "fast"], "contraction='fast' is not implemented"),
    (["--fusion-min-score", "1.5"], "fusion_min_score=1.5 is out of range"),
    (["--fusion-min-intensity", "nan"], "fusion_min_intensity=nan is out of range"),
    (["--parallel-chunk", "-1"], "parallel_chunk=-1 is out of range"),
    (["--unroll", "10001"], "unroll=10001 is out of range"),
    (["--tile", "conv"], "is not a new STEP=TILE"),
    (["--tile", "a=1x4", "--tile", "a=2x4"], "is not a new STEP=TILE"),
    (["--tiles", "none.json"], "cannot be read"),
    (["--layout", "CHWN"], "layout='CHWN'"),
    (["--observer", "x"], "observer='x'"),
    (["--check", "x"], "check='x'"),
    (["--shape", "x"], "has no NAME=VALUE"),
    (["--shape", "x=1,a"], "positive whole numbers"),
    (["--shape", "x=0"], "positive whole numbers"),
    (["--shape", "x=1", "--shape", "x=2"], "positive whole numbers"),
    (["--toolchain", "'"], "No closing quotation"),
    (["--toolchain", " "], "--toolchain is empty"),
])
def test_values_that_are_wrong_are_refused_by_name(option, message, tmp_path, capsys):
    out = tmp_path / "o.ecb"
    assert cli("compile", "m.onnx", "--target", "host", "-o", out, *option) == 2
    assert message in capsys.readouterr().err and not out.exists()


@pytest.mark.parametrize(("out", "message"), [("none/o.ecb", "does not exist"), (".", "a folder")])
def test_output_is_checked_before_any_work(out, message, compiled, tmp_path, capsys):
    assert cli("compile", "m.onnx", "--target", "host", "-o", tmp_path / out) == 2
    assert message in capsys.readouterr().err and not compiled


def test_errors_carry_their_facts_as_json(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, DoesNotFit("too large", where="ram", needed="2 B", available="1 B"))
    assert cli("compile", "m", "--target", "host", "-o", tmp_path / "o", "--json") == 5
    out, err = capsys.readouterr()
    assert err == "error: DoesNotFit: ram: too large (needed 2 B, available 1 B)\n"
    assert json.loads(out)["error"] == {
        "class": "DoesNotFit", "exit_code": 5, "what": "too large", "where": "ram",
        "needed": "2 B", "available": "1 B", "advice": None,
        "message": "ram: too large (needed 2 B, available 1 B)"}


def test_debug_shows_the_traceback(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, ConfigError("no"))
    assert cli("compile", "m", "--target", "host", "-o", tmp_path / "o", "--debug") == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [CheckFailed("views overlap"), ZeroDivisionError("x")])
def test_bugs_show_their_traceback_and_code_70(error, monkeypatch, tmp_path, capsys):
    failing(monkeypatch, error)
    assert cli("compile", "m", "--target", "host", "-o", tmp_path / "o") == 70
    shown = capsys.readouterr().err
    assert "Traceback" in shown and "this is a bug in edgecc" in shown


def test_an_interrupt_is_130_and_leaves_nothing(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert cli("compile", "m", "--target", "host", "-o", tmp_path / "o") == 130
    assert capsys.readouterr().err == "error: interrupted\n" and not list(tmp_path.iterdir())


def test_a_closed_pipe_is_no_bug():
    shell = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m edgecc.cli.main targets --json | true; "
         "echo ${PIPESTATUS[0]}"], capture_output=True, text=True, check=True)
    assert shell.stdout.strip() in ("0", "141") and shell.stderr == ""


def test_verify(ecb, capsys):
    assert cli("verify", ecb, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "ok": True, "files": 4, "bytes": 30, "sha256": bundle().sha256,
        "format_version": "1.0", "target": "host"}
    assert cli("verify", ecb) == 0
    assert capsys.readouterr().out.startswith("ok        4 files · 30 B · format 1.0 · host")


def test_verify_names_what_is_wrong(ecb, capsys):
    ecb.write_bytes(ecb.read_bytes()[:-30])
    assert cli("verify", ecb) == 9
    assert capsys.readouterr().err.startswith(f"error: BundleError: {ecb}: damaged or cut off")


def test_inspect_json_is_the_manifest(ecb, capsys):
    assert cli("inspect", ecb, "--json") == 0
    assert json.loads(capsys.readouterr().out) == bundle().manifest


def test_inspect_shows_ports_memory_and_steps(ecb, capsys):
    assert cli("inspect", ecb) == 0
    shown = capsys.readouterr().out
    for part in ("tiny.onnx · 48 MAC · 1 step", "x int8 1x2x2x3 NHWC · scale 0.5, zero point 3",
                 "RAM 64 B · flash 108 B", "int8_fc__generic"):
        assert part in shown


def test_targets(capsys):
    assert cli("targets", "--json") == 0
    names = {t["name"] for t in json.loads(capsys.readouterr().out)["targets"]}
    assert {"host", "raspberry-pi-5", "null"} <= names
    assert cli("targets") == 0
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["raspberry-pi-5", "cortex-a76", "dotprod"] in [row[:3] for row in words]


def test_boards(tmp_path, capsys):
    file = tmp_path / "boards.toml"
    file.write_text('[pi]\ntransport = "ssh"\ntarget = "raspberry-pi-5"\nhost = "10.0.0.2"\n'
                    'user = "me"\n')
    assert cli("boards", "--boards-file", file) == 0
    shown = capsys.readouterr().out
    assert "me@10.0.0.2:22" in shown and "emulated-raspberry-pi-5" in shown
    assert cli("boards", "--boards-file", file, "--json") == 0
    boards = {b["name"]: b for b in json.loads(capsys.readouterr().out)["boards"]}
    assert boards["pi"]["user"] == "me" and boards["host"]["emulated"] is False


def test_a_boards_file_that_is_not_there(tmp_path, capsys):
    assert cli("boards", "--boards-file", tmp_path / "none.toml") == 2
    assert "no such file" in capsys.readouterr().err


def test_boards_files_are_the_projects_then_the_users(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    args = type("Args", (), {"boards_file": None})
    assert [str(path) for path in arguments.board_files(args)] == [
        "boards.toml", "/c/edgecc/boards.toml"]


def test_input_files(tmp_path):
    from edgecc.cli.run import read_inputs

    np.save(tmp_path / "x.npy", np.arange(3))
    assert read_inputs([f"x={tmp_path}/x.npy"])["x"].tolist() == [0, 1, 2]


def bad_input(tmp_path, kind):
    path = tmp_path / "x.npy"
    if kind == "text":
        path.write_text("hello")
    elif kind == "empty":
        path.touch()
    elif kind == "pickle":
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    elif kind == "npz":
        path = tmp_path / "x.npz"
        np.savez(path, x=np.zeros(1))
    return path


@pytest.mark.parametrize("kind", ["missing", "text", "empty", "pickle", "npz"])
def test_input_files_that_hold_no_array(kind, tmp_path, ecb, capsys):
    path = bad_input(tmp_path, kind)
    assert cli("run", ecb, "--input", f"x={path}") == 2
    assert str(path) in capsys.readouterr().err


def test_inputs_need_names(ecb, capsys):
    assert cli("run", ecb, "--input", "x.npy") == 2
    assert "--input 'x.npy' has no NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "message"), [
    (["--count", "0"], "runs cannot be counted"),
    (["--warmup", "-1"], "runs cannot be counted"),
    (["--trace", "t.json"], "add --profile"),
    (["--html", "none/x.html"], "does not exist"),
    (["--board", "emulated-raspbery-pi-5"], "unknown board"),
])
def test_bench_refuses_what_cannot_work(words, message, ecb, capsys):
    code = cli("bench", ecb, *words)
    assert code in (2, 8) and message in capsys.readouterr().err


def test_matrix_needs_its_folder(tmp_path, capsys):
    assert cli("matrix", "m.onnx", "--calibrate-dir", tmp_path / "none") == 2
    assert "no such folder" in capsys.readouterr().err


def test_matrix_goes_on_after_an_error(capsys):
    assert cli("matrix", "none.onnx", "--targets", "host", "--quantize", "none,int3") == 1
    lines = capsys.readouterr().out.splitlines()
    assert "UnsupportedModel" in lines[1] and "ConfigError" in lines[2]
    assert lines[3].startswith("none none host library: UnsupportedModel: none.onnx: no such file")


def test_the_matrix_gives_shapes_to_models_that_have_the_input(tmp_path, capsys):
    model, _ = pipeline_models.files(tmp_path)
    args = main.parser().parse_args(["matrix", str(model), "--shape", "x=1,3,12,12",
                                     "--shape", "y=2"])
    assert matrix.configured(str(model), "none", "host", args).shapes == {"x": (1, 3, 12, 12)}
    assert cli("matrix", model, "--shape", "y=2") == 2
    assert "no model has an input 'y'" in capsys.readouterr().err


def test_the_matrix_sees_targets_that_differ():
    def row(target, digest, **changes):
        return {"model": "m", "quantization": "int8", "target": target, "error": None,
                "absent": None, "outputs_sha256": digest, "same_everywhere": True, **changes}

    assert matrix.differing([row("a", "1"), row("b", "1")]) == []
    assert matrix.differing([row("a", "1"), row("b", "2")]) == ["m int8"]
    assert matrix.differing([row("a", "1"), row("b", "2", same_everywhere=False)]) == []
    assert matrix.differing([row("a", "1"), {**row("b", "2"), "error": "x"}]) == []


@pytest.mark.parametrize("quantization, dtype, contraction, kernel, same", [
    ("int8", "int8", True, None, True), ("int8", "float32", True, None, False),
    ("none", "float32", True, "float32_conv2d_4x16__neon", False),
    ("none", "float32", False, "float32_conv2d_4x16__neon", True),
    ("float16", "float16", False, "float16_conv2d_4x16__neon", True),
    ("float16", "float16", False, "float16_conv2d_8x16__neon_fp16", False),
])
def test_the_matrix_knows_what_is_the_same_everywhere(quantization, dtype, contraction, kernel,
                                                      same):
    manifest = {"config": {"quantization": quantization}, "knobs": {"contraction": contraction},
                "steps": [{"dtype": dtype, "kernel": kernel}]}
    assert matrix.same_everywhere(manifest) is same


def test_progress_lines_are_plain_where_no_terminal_is(capsys):
    console = Console()
    console.working("load")
    console.progress("load", "a line")
    console.close()
    out, err = capsys.readouterr()
    assert out.rstrip() == "load      a line" and err == ""


def test_a_spinner_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    console, quiet = Console(), Console(as_json=True)
    console.working("load")
    quiet.working("load")
    assert console._spinner is not None and quiet._spinner is None
    console.close()
    assert console._spinner is None


def test_table_aligns_numbers_to_the_right(capsys):
    Console().table(("name", "n"), [("a", 5), ("long", 1000)])
    assert capsys.readouterr().out == "name     n\na        5\nlong  1000\n"


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli("--version")
    assert stopped.value.code == 0 and capsys.readouterr().out.startswith("edgecc 0.")


@pytest.mark.parametrize("to, smaller", [("float16", 1.5), ("int4", 2.0)])
def test_quantize_writes_a_standard_model_with_smaller_weights(to, smaller, tmp_path, capsys):
    """In the form that ONNX Runtime reads, with values near the float model's."""
    onnxruntime = pytest.importorskip("onnxruntime")
    source, made = tmp_path / "m.onnx", tmp_path / "made.onnx"
    source.write_bytes(dense_model().SerializeToString())
    assert cli("quantize", source, "--to", to, "-o", made) == 0
    assert f"wrote {made}" in capsys.readouterr().out
    assert made.stat().st_size * smaller < source.stat().st_size
    given = {"x": np.random.default_rng(0).standard_normal((1, 128)).astype(np.float32)}
    whole, small = (onnxruntime.InferenceSession(path).run(None, given)[0]
                    for path in (source, made))
    assert np.abs(whole - small).max() < 0.2 * np.abs(whole).max()


def dense_model():
    weights = np.random.default_rng(1).standard_normal((128, 64)).astype(np.float32)
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size])
            for name, size in (("x", 128), ("y", 64))]
    graph = onnx.helper.make_graph([node], "dense", ends[:1], ends[1:],
                                   [onnx.numpy_helper.from_array(weights, "w")])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
                                  ir_version=8)
