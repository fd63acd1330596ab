"""Benching a chip at a serial port: its own clock, and bundles that do not fit it."""

import json
import struct

import pytest
import rpc_fake_runner
from serial_fake import NAME, chip

from edgecc.context import Context
from edgecc.errors import BoardError, BundleError
from edgecc.rpc import bench
from edgecc.rpc.board import Board
from edgecc.rpc.protocol import HEADER, MAGIC, Type
from edgecc.targets import get_target

pytest.importorskip("serial", reason="needs pyserial")


def board(path):
    return Board("desk", "serial", "stm32f407", line=path, baud=115_200, timeout_s=5.0)


def runner(files, clock):
    """A program that answers as a runner does, with runs of 2 and steps of 1 microseconds."""
    answers = {
        Type.HELLO: lambda _: json.dumps(rpc_fake_runner.hello(files["weights.bin"], {})).encode(),
        Type.RUN: lambda body: struct.pack("<Q", 2000) * struct.unpack("<I", body)[0],
        Type.PROFILE: lambda body: struct.pack("<2Q", *[1000 * struct.unpack("<I", body)[0]] * 2),
        Type.STATUS: lambda _: json.dumps({"stack_bytes": 9, **clock}).encode(),
    }

    def program(came):
        out, data, at, code = b"", b"", 0, None
        while len(came) - at >= HEADER.size:
            _, kind, _, _, length = HEADER.unpack_from(came, at)
            body = came[at + HEADER.size : at + HEADER.size + length]
            at += HEADER.size + length
            data = body[4:] if kind == Type.SET_INPUT else data
            code = 0 if kind == Type.QUIT else None
            said = (bytes(255 - b for b in data) if kind == Type.GET_OUTPUT
                    else answers.get(kind, lambda _: b"")(body))
            out += HEADER.pack(MAGIC, kind, 0, 0, len(said)) + said
        return out, b"", code

    return program


def chips_bundle(target="stm32f407"):
    chip_of = get_target(target)
    address = chip_of.memories[0].base
    head = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, 40, 1, address, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    elf = head + struct.pack("<8I", 1, 0, address, address, 0, 4096, 5, 4) + NAME
    files = {**rpc_fake_runner.files(), "runner/serial": elf}
    manifest = rpc_fake_runner.manifest(chip_of.architecture, sorted(chip_of.features))
    manifest["target"] = target
    manifest["target_info"] |= {"runner": chip_of.runner, "clock_hz": 168_000_000}
    manifest["steps"][0] |= {"macs": 32}
    return files, manifest


@pytest.mark.parametrize("clock, timing, verdict", [
    ({"clock_hz": 16_000_000}, "measured", "stable, core at 16 MHz"),
    ({}, "not measured", "not measured: the chip has no cycle counter that runs"),
    ({"clock_hz": "fast"}, "not measured", "not measured: the chip has no cycle counter that"),
])
def test_a_chip_is_timed_by_its_own_clock(tmp_path, clock, timing, verdict):
    files, manifest = chips_bundle()
    with chip(runner(files, clock)) as (_, path):
        report = bench.bench(files, manifest, board(path), context=Context(cache_dir=tmp_path),
                             count=20, warmup=2, profile=True)
    assert (report.golden, report.timing) == ("pass", timing) and verdict in report.verdict
    if timing == "measured":
        assert (report.p50_us, report.steps[0].us) == (2.0, 1.0)
        assert report.steps[0].macs_per_cycle == pytest.approx(2.0)  # in 16 cycles
        assert report.target_info["clock_hz"] == 16_000_000
    else:
        assert report.p50_us is None and report.steps[0].us is None


@pytest.mark.parametrize("target, words", [
    ("host", "stm32f407 is a microcontroller; bundle 'fake' is for host"),
    ("nrf52840", "programs of nrf52840 speak over another UART than stm32f407 has; compile for"),
])
def test_bundles_that_a_serial_board_cannot_run(tmp_path, monkeypatch, target, words):
    files, manifest = chips_bundle(target if target != "host" else "stm32f407")
    if target == "host":
        manifest["target"], manifest["target_info"]["runner"] = "host", "linux"
        files["runner/runner"] = b""
    monkeypatch.setattr("edgecc.rpc.microcontroller._check_memory", lambda *_: None)
    with pytest.raises(BoardError, match=words):
        bench.bench(files, manifest, board("x"), context=Context(cache_dir=tmp_path))


def test_a_bundle_without_a_program_for_the_line(tmp_path):
    files, manifest = chips_bundle()
    del files["runner/serial"]
    with pytest.raises(BundleError, match="has no runner/serial, so it cannot be run"):
        bench.bench(files, manifest, board("x"), context=Context(cache_dir=tmp_path))
