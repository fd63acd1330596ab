"""Levels on boards: the same bytes from all of them, and a search that can be repeated."""

import json
import shutil

import onnx
import pytest
from pipeline_models import network, samples

import edgecc
from edgecc.cli.main import main
from edgecc.rpc.boards import get_board
from edgecc.tune import search, tiles_file

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64"),
]
SAMPLES = samples()
GIVEN = [{"x": x[None]} for x in SAMPLES[:3]]
CODE = ("lib/libnet.a", "weights.bin")


@pytest.fixture(autouse=True)
def narrow_search(monkeypatch):
    """Enough to see that it works."""
    monkeypatch.setattr(search, "MOST_CANDIDATES", 3)
    monkeypatch.setattr(search, "TURNS", 2)


def compiled(target, **knobs):
    return edgecc.compile(network(), target=target, name="net", quantization="int8",
                          calibration={"x": SAMPLES}, **knobs)


def answers(bundle):
    return [found["y"].tobytes() for found in bundle.run_many(GIVEN, native=True)]


@pytest.mark.parametrize("target", ["host", "raspberry-pi-5", "cortex-m4f"])
def test_every_level_gives_the_same_bytes(target):
    if target == "cortex-m4f" and not shutil.which("qemu-system-arm"):
        pytest.skip("needs qemu-system-arm")
    levels = ("O0", "O2", "Os") if target == "host" else ("O0", "O2", "O3", "Os")
    made = {level: compiled(target, optimization=level) for level in levels}
    assert len({tuple(answers(bundle)) for bundle in made.values()}) == 1
    if "O3" in made:
        counts = {level: made[level].bench().instructions for level in ("O0", "O2", "O3")}
        assert counts["O3"] <= counts["O2"] < counts["O0"]


def test_a_search_is_repeated_from_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "net.onnx")
    words = ["compile", "net.onnx", "--target", "raspberry-pi-5", "--name", "net"]
    assert main([*words, "-O3", "-o", "a.ecb", "--save-tiles", "tiles.json"]) == 0
    said = capsys.readouterr().out
    assert "search    " in said and "on emulated-raspberry-pi-5" in said and " tiles\n" in said
    assert main([*words, "--tiles", "tiles.json", "-o", "b.ecb"]) == 0
    searched, repeated = (edgecc.load_bundle(f"{name}.ecb") for name in "ab")
    assert all(searched.files[path] == repeated.files[path] for path in CODE)
    assert searched.manifest["steps"] == repeated.manifest["steps"]
    kept = json.loads((tmp_path / "tiles.json").read_text())["tiles"]
    assert kept == tiles_file.tiles_of(repeated.manifest)


def test_this_machine_searches_by_time():
    said = []
    context = edgecc.Context(progress=lambda verb, line: said.append(line))
    compiled("host", optimization="O3", board=get_board("host"), context=context)
    assert any("on host" in line and line.endswith(" µs") for line in said)


def test_the_manifest_says_what_the_knobs_stood_at():
    knobs = [compiled("raspberry-pi-5", **given).manifest["knobs"] for given in (
        {}, {"optimization": "O0"}, {"threads": 2, "unroll": 300, "parallel_chunk": 7,
                                     "fusion_max_operators": 2})]
    named = [(k["optimization"], k["fusion"], k["fusion_max_operators"], k["parallel_chunk"],
              k["unroll"], k["llvm_level"]) for k in knobs]
    assert named == [("O2", True, None, None, 0, 3), ("O0", False, None, None, None, 0),
                     ("O2", True, 2, 7, 300, 3)]


def test_unrolling_changes_code_and_no_results():
    usual, unrolled = compiled("host"), compiled("host", unroll=300)
    assert usual.files["lib/libnet.a"] != unrolled.files["lib/libnet.a"]
    assert answers(usual) == answers(unrolled)
