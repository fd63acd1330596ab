"""Local, emulator and fake transports, and uploads by content."""

import dataclasses
import os

import pytest

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.rpc.boards import get_board
from edgecc.rpc.deploy import deploy, put_blob
from edgecc.rpc.transport import open_transport
from edgecc.rpc.transport.base import Tail, read_all
from edgecc.rpc.transport.fake import FakeTransport

HOST = get_board("host")


@pytest.fixture
def local(tmp_path):
    with open_transport(HOST, tmp_path) as transport:
        yield transport


def test_files_come_back_and_are_private(local):
    path = f"{local.workdir}/a/b"
    assert local.size(path) is None
    local.put(b"one", path)
    local.put(b"two", path, executable=True)
    assert (local.get(path, 3), local.size(path)) == (b"two", 3)
    assert os.stat(path).st_mode & 0o777 == 0o700
    assert os.listdir(f"{local.workdir}/a") == ["b"]
    local.remove(path)
    local.remove(path)
    assert local.size(path) is None


def test_reading_is_bounded(local):
    local.put(b"x" * 100, f"{local.workdir}/big")
    with pytest.raises(BoardError, match="too large .needed .*available 99 B"):
        local.get(f"{local.workdir}/big", 99)
    with pytest.raises(BoardError, match="host: cannot read .*No such file"):
        local.get(f"{local.workdir}/none", 1)


def test_programs_get_no_environment_and_no_shell(local, monkeypatch):
    monkeypatch.setenv("EDGECC_SECRET", "1")
    process = local.run(["env"])
    assert read_all(process, 1000) == b""
    process = local.run(["printf", "%s", "$(id); `id` *"])
    assert read_all(process, 1000) == b"$(id); `id` *"
    assert process.wait() == 0


def test_input_may_be_a_file(local):
    local.put(b"from a file", f"{local.workdir}/in")
    process = local.run(["cat"], stdin_path=f"{local.workdir}/in")
    assert read_all(process, 4) == b"from"


def test_stderr_is_kept_within_bounds(local):
    process = local.run(["sh", "-c", "head -c 300000 /dev/zero >&2; echo end >&2; echo out"])
    assert read_all(process, 100) == b"out\n"
    assert process.stderr().endswith(b"end\n") and len(process.stderr()) == 1 << 16
    tail = Tail(3)
    tail.add(b"abcde")
    assert tail.bytes() == b"cde"


def test_writing_to_an_ended_program_is_told(local):
    process = local.run(["true"])
    process.wait()
    with pytest.raises(BoardError, match="the program ended while it was sent data"):
        process.write(b"x" * 10)


def test_missing_programs_are_named(local, tmp_path):
    with pytest.raises(BoardError, match="qemu-nothing is not installed; install the qemu-user"):
        local.run(["qemu-nothing"])
    with pytest.raises(BoardError, match="none is not installed; install it, or correct"):
        local.run(["none"])
    local.put(b"\x7fELF", f"{local.workdir}/bad", executable=True)
    with pytest.raises(BoardError, match="cannot start .*Exec format error"):
        local.run([f"{local.workdir}/bad"])
    board = Board("b", "emulator", "raspberry-pi-5", emulator=("qemu-nothing",))
    with pytest.raises(BoardError, match="b: qemu-nothing is not installed"):
        open_transport(board, tmp_path)


def test_unwritable_folders_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    board = dataclasses.replace(HOST, workdir=str(tmp_path / "file" / "below"))
    with (open_transport(board, tmp_path) as transport,
          pytest.raises(BoardError, match="cannot write .*Not a directory; set workdir")):
        transport.put(b"", f"{transport.workdir}/x")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told_with_figures(local, monkeypatch):
    def full(self, data):
        with open("/dev/full", "wb", buffering=0) as file:
            return file.write(data)

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(BoardError, match="disk is full, .* was not written .needed 4 B, avail"):
        local.put(b"data", f"{local.workdir}/x")
    assert os.listdir(local.workdir) == []


def test_closing_a_transport_ends_its_programs(tmp_path):
    with open_transport(HOST, tmp_path) as transport:
        process = transport.run(["cat"])
    assert process.wait(0) == 0


def test_blobs_are_sent_once(local):
    first = deploy(local, b"runner", b"weights")
    again = deploy(local, b"runner", b"other weights")
    assert (first.uploaded_bytes, first.reused_bytes) == (13, 0)
    assert (again.uploaded_bytes, again.reused_bytes) == (13, 6)
    assert os.access(first.runner, os.X_OK)


def test_a_damaged_blob_is_sent_again(local):
    path, _ = put_blob(local, b"weights")
    local.put(b"w3ights", path)
    assert put_blob(local, b"weights") == (path, True)
    assert local.get(path, 7) == b"weights"


def test_a_blob_that_arrives_damaged_is_removed(monkeypatch):
    transport = FakeTransport(get_board("fake"))
    monkeypatch.setattr(transport, "sha256", lambda path: "0" * 64)
    with pytest.raises(BoardError, match="arrived damaged"):
        put_blob(transport, b"weights")
    assert transport.files == {}


def test_the_fake_board_runs_what_a_test_gives_it(tmp_path):
    def program(argv, stdin):
        return stdin.upper(), b"said", 0

    transport = FakeTransport(get_board("fake"), program)
    with transport:
        process = transport.run(["x"])
        process.write(b"abc")
        assert (read_all(process, 10), process.stderr(), process.wait()) == (b"ABC", b"said", 0)
    with pytest.raises(BoardError, match="cannot read x: no such file"):
        transport.get("x", 1)
    with pytest.raises(BoardError, match="a fake board runs nothing"):
        open_transport(get_board("fake"), tmp_path).run(["x"])
