"""bench and run_once on this machine, with a runner in Python; and what they refuse."""

import json
import struct
from dataclasses import replace
from types import SimpleNamespace

import pytest
import rpc_fake_runner as fake

from edgecc.context import Context
from edgecc.errors import BoardError, BundleError, ToolchainError
from edgecc.rpc import golden
from edgecc.rpc import probe as probe_module
from edgecc.rpc.bench import bench, run_once, time_runs
from edgecc.rpc.boards import get_board
from edgecc.rpc.probe import build_probe, compile_cached, parse_answer
from edgecc.rpc.runner_client import RunnerClient
from edgecc.targets import host_cpu

HOST = get_board("host")
MANIFEST = fake.manifest(host_cpu.architecture())
GOOD = {"architecture": "aarch64", "features": ["neon"], "cores": 4}


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return Context(cache_dir=tmp_path_factory.mktemp("cache"))


def run(context, manners=None, manifest=MANIFEST, board=HOST, files=None, **options):
    files = files or fake.files(**(manners or {}))
    return bench(files, manifest, board, context=context, count=20, warmup=3, **options)


def test_a_report_has_the_names_others_rely_on(context):
    report = run(context, profile=True)
    value = json.loads(json.dumps(report.to_json()))
    assert value["golden"] == "pass" and value["timing"] == "measured"
    assert value["p50_us"] == value["p90_us"] == value["p99_us"] == 1.0
    assert value["peak_rss_bytes"] == 4096
    assert value["instructions"] is None and "emulated" in value["instructions_reason"]
    assert [(s["name"], s["us"]) for s in value["steps"]] == [("first", 0.6), ("second", 0.4)]
    assert {"board", "features", "uploaded_bytes", "reused_bytes", "spread", "count",
            "verdict"} <= set(value)
    text = report.to_text()
    assert "golden    2 of 2 vectors identical" in text
    assert any("int8_table" in line and "60.0%" in line for line in text.splitlines())


def test_the_second_upload_sends_nothing(context):
    run(context)
    again = run(context)
    assert again.uploaded_bytes == 0 and again.reused_bytes > 3000


def test_a_board_pins_as_many_threads_as_the_bundle_has(context, monkeypatch):
    pinned = []
    monkeypatch.setattr(RunnerClient, "pin", lambda self, cpus: pinned.append(cpus))
    board = replace(HOST, cpus=(3, 4, 5))
    for manifest in (MANIFEST, MANIFEST | {"threads": {"count": 2}}):
        run(context, board=board, manifest=manifest)
    assert pinned == [(3,), (3, 4)]


def test_one_inference(context):
    assert run_once(fake.files(), MANIFEST, HOST, [bytes(16)], context=context) == [b"\xff" * 16]


def test_wrong_answers_are_never_timed(context):
    with pytest.raises(BoardError) as caught:
        run(context, {"GET_OUTPUT": "wrong", "RUN": "crash"})  # RUN would be noticed
    assert str(caught.value).startswith(
        "host: golden vector 0: output 0 differs in 1 of 16 bytes, first at byte 3: "
        "expected 234, got 235; nothing was timed")


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


@pytest.mark.parametrize(
    ("want", "got", "right"),
    [
        ((1000.0, 1.0), (1000.09, 1.0), True),
        ((1000.0, 1.0), (1000.0, 1.09), True),
        ((1000.0, 1.0), (1000.0, 1.11), False),
        ((1.0, float("nan")), (1.00001, float("nan")), True),
        ((1.0, float("nan")), (1.0, 2.0), False),
        ((1.0, 2.0), (1.0, float("nan")), False),
        ((1.0, float("inf")), (1.0, float("-inf")), False),
        ((1.0, 2.0), (1.0, float("inf")), False),
        ((0.0, 0.0), (0.0, 1e-30), False),
    ],
)
def test_floats_may_differ_by_a_part_of_the_largest(want, got, right):
    assert golden.agrees("float32", floats(*want), floats(*got)) == right
    assert not golden.agrees("int32", floats(*want), floats(*got))


def test_float_answers_tell_how_far_they_are(context):
    files, manifest = fake.files(), fake.manifest(host_cpu.architecture())
    manifest["outputs"][0]["dtype"] = "float32"
    files["vectors/0/output_0.bin"] = floats(1, 2, 3, 4)
    with pytest.raises(BoardError, match="largest difference .*allowed 0.0001 of the largest"):
        run(context, manifest=manifest, files=files)


@pytest.mark.parametrize(
    ("hello", "message"),
    [
        ({"weights_crc32": 1}, "another weights than .*available CRC 00000001"),
        ({"arena_bytes": 65}, "another arena than .*needed 64 B, available 65 B"),
        ({"inputs": [{}, {}]}, "another number of inputs"),
        ({"outputs": []}, "another number of outputs"),
        ({"steps": ["first"]}, "another number of steps"),
    ],
)
def test_the_runner_must_belong_to_the_bundle(context, hello, message):
    with pytest.raises(BoardError, match=message):
        run(context, {"hello": hello})


def test_missing_features_are_named(context, monkeypatch):
    monkeypatch.setitem(probe_module.FEATURES, host_cpu.architecture(),
                        frozenset({"warp", "neon"}))
    manifest = fake.manifest(host_cpu.architecture(), ["warp", "unprobed"])
    with pytest.raises(BoardError, match="the board lacks warp, which bundle 'fake' uses"):
        run(context, manifest=manifest)


def test_another_architecture_is_told(context):
    other = "riscv64" if host_cpu.architecture() != "riscv64" else "aarch64"
    with pytest.raises(BoardError, match=f"the board is .*, the bundle is for {other}"):
        run(context, manifest=fake.manifest(other))


def test_an_unknown_architecture_is_told(context):
    with pytest.raises(BoardError, match="cannot probe boards of architecture vax"):
        build_probe("vax", context.cache_dir)


@pytest.mark.parametrize("path", ["runner/runner", "weights.bin"])
def test_a_bundle_without_a_part_is_refused(context, path):
    files = fake.files()
    del files[path]
    with pytest.raises(BundleError, match=f"has no {path}"):
        run(context, files=files)


def test_vectors_must_be_there_and_whole(context):
    with pytest.raises(BundleError, match="no golden vectors"):
        run(context, files=fake.files(vectors=0))
    files = fake.files()
    files["vectors/1/output_0.bin"] = b"short"
    with pytest.raises(BundleError, match="vectors/1/output_0.bin: .*needed 16 B, available 5 B"):
        run(context, files=files)
    del files["vectors/1/output_0.bin"]
    with pytest.raises(BundleError, match="available nothing"):
        run(context, files=files)


def test_no_process_stays_after_an_error(context, tmp_path):
    with pytest.raises(BoardError):
        run(context, {"RUN": "crash"})
    assert not processes_of(context)


def processes_of(context):
    """Command lines of processes that run files of this test's cache."""
    from pathlib import Path

    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(entry.read_bytes())
        except OSError:
            continue
    return [line for line in lines if str(context.cache_dir).encode() in line]


def test_long_runs_are_asked_for_in_portions():
    class Slow:
        asked = []

        def run(self, count):
            self.asked.append(count)
            return [900_000_000] * count

    assert len(time_runs(Slow(), 5, 4)) == 5
    assert Slow.asked == [1, 2, 1, 2, 2, 1]


@pytest.mark.parametrize(("machine", "architecture", "runs"), [
    ("aarch64", "armv7l", True), ("armv8l", "armv7l", True), ("armv8l", "aarch64", False),
    ("armv7l", "aarch64", False), ("arm64", "aarch64", True), ("x86_64", "armv7l", False)])
def test_what_a_machine_calls_itself(machine, architecture, runs, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: machine)
    transport = SimpleNamespace(board=HOST)
    if runs:
        probe_module._check_uname(transport, architecture)
    else:
        with pytest.raises(BoardError, match=f"the board is {machine}, the bundle is for"):
            probe_module._check_uname(transport, architecture)


def test_the_probe_says_what_this_machine_is(context):
    from edgecc.rpc.transport import open_transport

    with open_transport(HOST, context.cache_dir) as transport:
        info = probe_module.probe(transport, host_cpu.architecture(), context.cache_dir)
    testable = probe_module.FEATURES[info.architecture]
    assert info.features & host_cpu.features() == host_cpu.features() & testable
    assert info.cores == host_cpu.cores()


@pytest.mark.parametrize(
    "answer",
    [b"", b"hello", b"[]", b"[" * 5000, json.dumps(GOOD | {"cores": "4"}).encode(),
     json.dumps(GOOD | {"features": [1]}).encode(), json.dumps(GOOD | {"kernel": 6}).encode(),
     json.dumps(GOOD | {"loader": 1}).encode(), json.dumps(GOOD | {"glibc": 2.36}).encode()],
)
def test_nonsense_from_the_probe_is_refused(answer):
    with pytest.raises(BoardError, match="the probe answered"):
        parse_answer(answer, "desk")


def test_the_probe_may_tell_more():
    info = parse_answer(json.dumps(GOOD | {"governor": "performance", "clock_khz": 5}).encode(), "")
    assert (info.governor, info.clock_khz, info.max_clock_khz) == ("performance", 5, None)


def test_a_failing_compiler_is_quoted(tmp_path):
    source = tmp_path / "x.c"
    source.write_text("nonsense")
    with pytest.raises(ToolchainError, match="x.c: false failed"):
        compile_cached(["false"], source, tmp_path)
    with pytest.raises(ToolchainError, match="cannot compile"):
        compile_cached(["/no/such/compiler"], source, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["x.c"]
