"""The throw-away SSH server and the emulated boards, with the runner that ships."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgecc.context import Context
from edgecc.errors import BoardError
from edgecc.rpc import loopback
from edgecc.rpc.bench import bench, run_once
from edgecc.rpc.board import Board
from edgecc.rpc.boards import get_board
from edgecc.rpc.probe import probe
from edgecc.rpc.transport import open_transport

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "edgecc" / "lower" / "runtime"
TOOLS = loopback.missing_tools()
pytestmark = [pytest.mark.emulated,
              pytest.mark.skipif(bool(TOOLS), reason=f"needs {' '.join(TOOLS)}")]
PORT = {"name": "x", "shape": [16], "dtype": "int8", "bytes": 16}
STEPS = [("invert", "k_invert"), ("add", "k_add"), ("copy", "memcpy"), ("add_2", "k_add")]
MANIFEST = {
    "name": "tiny", "target": "raspberry-pi-5", "arena_bytes": 32, "inputs": [PORT],
    "outputs": [PORT], "target_info": {"architecture": "aarch64", "features": ["neon", "dotprod"]},
    "steps": [{"name": n, "op": "x", "kernel": s, "symbol": s, "macs": 0} for n, s in STEPS],
}
X = bytes(range(16))
Y = bytes((256 - b) % 256 for b in X)
EMULATED = get_board("emulated-raspberry-pi-5")


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return Context(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    runner = tmp_path_factory.mktemp("runner") / "runner"
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl",
         "-mcpu=cortex_a76", "-static", "-O2", f"-I{RUNTIME}", *map(str, RUNTIME.glob("*.c")),
         str(ROOT / "tests" / "rpc_tiny_model.c"), "-o", str(runner)], check=True)
    return {"runner/runner": runner.read_bytes(), "weights.bin": b"abcd",
            "vectors/0/input_0.bin": X, "vectors/0/output_0.bin": Y}


def test_an_emulated_board_counts_and_claims_no_latency(files, context):
    report = bench(files, MANIFEST, EMULATED, context=context)
    value = report.to_json()
    assert (value["golden"], value["timing"]) == ("pass", "emulated")
    assert value["p50_us"] is value["p90_us"] is value["p99_us"] is value["peak_rss_bytes"] is None
    assert "no latency is claimed" in report.to_text()
    steps = [step["instructions"] for step in value["steps"]]
    assert value["instructions_reason"] is None
    assert all(steps) and sum(steps) < value["instructions"] < sum(steps) + 60
    assert steps[3] > 9 * steps[1]  # one kernel, ten times the work: told apart
    assert bench(files, MANIFEST, EMULATED, context=context).instructions == value["instructions"]


def test_ssh_and_emulator_together_give_the_same_figures(files, context):
    alone = bench(files, MANIFEST, EMULATED, context=context)
    with loopback.start("raspberry-pi-5") as server:
        report = bench(files, MANIFEST, server.board, context=context)
    assert report.architecture == "aarch64" and report.timing == "emulated"
    assert (report.instructions, report.steps) == (alone.instructions, alone.steps)


def test_one_inference(files, context):
    assert run_once(files, MANIFEST, EMULATED, [X], context=context) == [Y]


def test_a_runner_without_symbols_has_no_figures(files, context):
    stripped = dict(files)
    stripped["runner/runner"] = without_symbols(files["runner/runner"])
    report = bench(stripped, MANIFEST, EMULATED, context=context)
    assert report.instructions is None
    assert {step.instructions for step in report.steps} == {None}
    assert "no symbol of the run function" in report.instructions_reason


def without_symbols(elf):
    """The ELF with its section table forgotten, which is how symbols are found."""
    return elf[:0x28] + bytes(8) + elf[0x30:0x3C] + bytes(4) + elf[0x40:]


def test_a_qemu_without_plug_ins_is_no_failure(files, context, tmp_path):
    wrapper = tmp_path / "qemu-aarch64"
    wrapper.write_text('#!/bin/sh\n[ "$1" = -plugin ] && { echo "unknown option" >&2; exit 1; }\n'
                       'exec /usr/bin/env PATH=/usr/bin:/usr/local/bin qemu-aarch64 "$@"\n')
    wrapper.chmod(0o755)
    board = dataclasses.replace(EMULATED, emulator=(str(wrapper),))
    report = bench(files, MANIFEST, board, context=context)
    assert (report.golden, report.instructions) == ("pass", None)
    assert report.instructions_reason == "counting failed: unknown option"
    assert "counting failed" in report.to_text()


def test_a_plug_in_that_leaves_no_figures_is_no_failure(files, context, tmp_path):
    wrapper = tmp_path / "qemu-aarch64"
    wrapper.write_text('#!/bin/sh\n[ "$1" = -plugin ] && shift 2\n'
                       'exec /usr/bin/env PATH=/usr/bin:/usr/local/bin qemu-aarch64 "$@"\n')
    wrapper.chmod(0o755)
    board = dataclasses.replace(EMULATED, emulator=(str(wrapper),))
    assert "takes no counter" in bench(files, MANIFEST, board, context=context).instructions_reason
    board = dataclasses.replace(EMULATED, workdir=str(tmp_path / "a,b"))
    assert "with a comma" in bench(files, MANIFEST, board, context=context).instructions_reason


def test_a_core_without_dotprod_is_refused(files, context):
    board = dataclasses.replace(EMULATED, emulator=("qemu-aarch64", "-cpu", "cortex-a53"))
    with pytest.raises(BoardError, match="the board lacks dotprod, which bundle 'tiny' uses"):
        bench(files, MANIFEST, board, context=context)


def test_a_wrong_answer_is_refused(files, context):
    wrong = files | {"vectors/0/output_0.bin": Y[:5] + b"\0" + Y[6:]}
    with pytest.raises(BoardError, match="first at byte 5: expected 0, got 251"):
        bench(wrong, MANIFEST, EMULATED, context=context)


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64", "riscv64"])
def test_the_probe_runs_everywhere(architecture, context):
    board = Board(f"any-{architecture}", "emulator", "null", emulator=(f"qemu-{architecture}",))
    with open_transport(board, context.cache_dir) as transport:
        info = probe(transport, architecture, context.cache_dir)
    assert info.architecture == architecture and info.features and info.cores >= 1


def test_the_probe_sees_the_cpu_model(context):
    seen = {}
    for cpu in ("cortex-a53", "cortex-a76", "max"):
        board = dataclasses.replace(EMULATED, emulator=("qemu-aarch64", "-cpu", cpu))
        with open_transport(board, context.cache_dir) as transport:
            seen[cpu] = probe(transport, "aarch64", context.cache_dir).features
    assert seen["cortex-a53"] == {"neon", "fma"}
    assert seen["cortex-a76"] == {"neon", "fma", "fp16", "dotprod"}
    assert "i8mm" in seen["max"]


def test_the_server_leaves_nothing_behind():
    with loopback.start("raspberry-pi-5") as server:
        transport = open_transport(server.board, Path())
        transport.run(["sleep", "3600"])
        below = loopback.descendants(server.pid)
        assert len(below) >= 2
    assert not server.folder.exists()
    assert not [pid for pid in [server.pid, *below] if alive(pid)]
    transport.close()


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_server_that_does_not_start_is_quoted():
    with (pytest.raises(BoardError, match="sshd does not start: .*Bad configuration"),
          loopback.start("host", config="Nonsense yes\n")):
        raise AssertionError("it started")


def test_missing_programs_are_named(monkeypatch):
    monkeypatch.setattr(loopback, "find_server", lambda: None)
    with (pytest.raises(BoardError, match="sshd is not installed; install the openssh-server"),
          loopback.start("host")):
        raise AssertionError("it started")


def test_tools_are_installed_or_named(monkeypatch):
    said, ran = [], []
    assert loopback.ensure_emulation_tools(said.append) and said == []
    monkeypatch.setattr(loopback, "find_server", lambda: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not loopback.ensure_emulation_tools(said.append, "qemu-none")
    assert said == ["qemu-user and openssh-server not installed (as root: apt-get install "
                    "qemu-user openssh-server)"]
    said.clear()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(loopback.shutil, "which", lambda name, **o: "/bin/false")
    real = subprocess.run
    monkeypatch.setattr(loopback.subprocess, "run",
                        lambda argv, **o: ran.append(argv) or real(argv, **o))
    assert not loopback.ensure_emulation_tools(said.append)
    assert ran[1][1:] == ["-q", "install", "-y", "--no-install-recommends", "openssh-server"]
    assert said[0] == "installing openssh-server with apt-get"
    assert said[-1] == "openssh-server could not be installed" and "failed" in said[1]
