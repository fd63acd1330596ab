"""The SSH transport against a real OpenSSH server on loopback: what works and what breaks."""

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rpc_fake_runner as fake

from edgecc.context import Context
from edgecc.errors import BoardError
from edgecc.rpc import loopback
from edgecc.rpc.bench import bench, run_once
from edgecc.rpc.deploy import deploy
from edgecc.rpc.transport import open_transport
from edgecc.rpc.transport.base import read_all
from edgecc.rpc.transport.ssh import SshTransport
from edgecc.rpc.transport.ssh_connect import connect
from edgecc.rpc.transport.ssh_files import SftpFiles, ShellFiles, Upload
from edgecc.targets import host_cpu

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(loopback.find_server() is None, reason="needs openssh-server"),
]
MANIFEST = fake.manifest(host_cpu.architecture())
NO_SFTP = loopback.CONFIG.replace("Subsystem sftp internal-sftp\n", "")
ONE_CHANNEL = loopback.CONFIG + "MaxSessions 1\n"
CONFIGS = {"sftp": loopback.CONFIG, "no sftp": NO_SFTP, "one channel": ONE_CHANNEL,
           "no sftp, one channel": NO_SFTP + "MaxSessions 1\n"}


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return Context(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def server():
    with loopback.start("host", ()) as running:
        yield running


@pytest.fixture(scope="module", params=CONFIGS)
def any_server(request):
    with loopback.start("host", (), config=CONFIGS[request.param]) as running:
        yield running


def command_lines(text):
    """Processes of this machine whose command line holds `text`."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and int(entry.parent.name) != os.getpid():
            found[int(entry.parent.name)] = line
    return found


def stays(text, seconds=30):
    """Waits for a process that lives on for a second (a probe does not)."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        before = command_lines(text)
        time.sleep(1)
        if before.keys() & command_lines(text).keys():
            return True
    return False


def wait_until_gone(text, seconds=5):
    deadline = time.monotonic() + seconds
    while command_lines(text) and time.monotonic() < deadline:
        time.sleep(0.05)
    return command_lines(text)


def session_servers(server):
    """The sshd processes that serve open connections."""
    return [pid for pid in loopback.descendants(server.pid) if name_of(pid).startswith("sshd")]


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return "ended"


def drop_connections(server):
    for pid in session_servers(server):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def blobs(server):
    return sorted(path.name for path in (server.folder / "board").glob("blobs/*"))


# What works


def test_bench_over_ssh_and_nothing_is_sent_twice(any_server, context):
    first = bench(fake.files(), MANIFEST, any_server.board, context=context, count=20, warmup=2)
    assert (first.golden, first.timing, first.p50_us) == ("pass", "measured", 1.0)
    assert first.uploaded_bytes > 3000 and first.reused_bytes == 0
    runner, weights = fake.files()["runner/runner"], fake.files()["weights.bin"]
    with open_transport(any_server.board, Path()) as transport:
        again = deploy(transport, runner, weights)
        third = deploy(transport, runner, b"other weights")
    assert (again.uploaded_bytes, again.reused_bytes) == (0, first.uploaded_bytes)
    assert (third.uploaded_bytes, third.reused_bytes) == (13, len(runner))


def test_files_both_ways(any_server):
    with open_transport(any_server.board, Path()) as transport:
        data = os.urandom(200_000)
        path = f"{transport.workdir}/it's a \"$(folder)\"/x;y"
        assert transport.size(path) is None
        transport.put(b"old", path)
        transport.put(data, path, executable=True)
        assert transport.get(path, len(data)) == data
        assert transport.size(path) == len(data)
        assert os.stat(path).st_mode & 0o777 == 0o700
        with pytest.raises(BoardError, match="too large"):
            transport.get(path, 10)
        transport.remove(path)
        transport.remove(path)
        assert transport.size(path) is None
        with pytest.raises(BoardError, match="cannot read .*[Nn]o such file"):
            transport.get(path, 10)


def test_the_right_way_of_access_is_chosen(any_server, request):
    with open_transport(any_server.board, Path()) as transport:
        transport.size("x")
        kind = ShellFiles if "no sftp" in request.node.name else SftpFiles
        assert isinstance(transport._files, kind)
        transport.run(["cat"])
        transport.run(["cat"])
        assert (len(transport._clients) > 1) == ("one channel" in request.node.name)


def test_a_server_that_opens_no_session():
    with (loopback.start("host", (), config=loopback.CONFIG + "MaxSessions 0\n") as none,
          open_transport(none.board, Path()) as transport,
          pytest.raises(BoardError, match="the server opens no session")):
        transport.run(["true"])


def test_arguments_reach_the_program_as_they_are(server):
    with open_transport(server.board, Path()) as transport:
        nasty = ["$(id)", "a b", "'", '"', ";", "*", "\\", "\n", "-n"]
        process = transport.run(["printf", "<%s>", *nasty])
        assert read_all(process, 1000).decode() == "".join(f"<{text}>" for text in nasty)
        assert process.wait() == 0 and process.stderr() == b""
        transport.put(b"from a file", f"{transport.workdir}/a 'file'")
        process = transport.run(["cat"], stdin_path=f"{transport.workdir}/a 'file'")
        assert read_all(process, 1000) == b"from a file"


def test_the_digest_is_computed_even_without_sha256sum(server, monkeypatch):
    with open_transport(server.board, Path()) as transport:
        transport.put(b"abc", f"{transport.workdir}/abc")
        whole = transport.sha256(f"{transport.workdir}/abc")
        monkeypatch.setattr(SshTransport, "answer", lambda *a: (127, b"", b"not found"))
        assert transport.sha256(f"{transport.workdir}/abc") == whole
        assert whole.startswith("ba7816bf")


# Getting in


def refused(board, message):
    with pytest.raises(BoardError, match=message) as caught:
        open_transport(board, Path())
    assert str(caught.value).startswith(f"{board.name}: ")


def test_unreachable(server):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        board = dataclasses.replace(server.board, port=closed.getsockname()[1])
    refused(board, "cannot be reached: .*check power, network and port")
    refused(dataclasses.replace(server.board, host="no-such-board.invalid"), "is unknown")


def test_a_server_that_says_nothing(server):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        board = dataclasses.replace(server.board, port=silent.getsockname()[1],
                                    connect_timeout_s=0.5)
        refused(board, "does not speak SSH as expected")


def test_a_host_that_never_answers(server, monkeypatch):
    def never(*args, **options):
        raise TimeoutError("timed out")

    monkeypatch.setattr("paramiko.SSHClient.connect", never)
    refused(server.board, "did not answer within 10 s; check power")


def test_unknown_host_key(server, tmp_path):
    (tmp_path / "known").write_text("")
    board = dataclasses.replace(server.board, known_hosts=str(tmp_path / "known"))
    printed = subprocess.run(["ssh-keygen", "-lf", str(server.folder / "host_key.pub")],
                             capture_output=True, text=True, check=True).stdout.split()[1]
    refused(board, f"unknown host key, ssh-ed25519 .*{printed.replace('+', '.')}.*ssh-keyscan -p")


def test_changed_host_key(server, tmp_path):
    other = (server.folder / "client_key.pub").read_text().split()[1]
    (tmp_path / "known").write_text(f"[127.0.0.1]:{server.board.port} ssh-ed25519 {other}\n")
    board = dataclasses.replace(server.board, known_hosts=str(tmp_path / "known"))
    refused(board, "another host key than before: ssh-ed25519 SHA256:.*known is ssh-ed25519 SHA256")


def test_login_refused(server, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")],
                   check=True)
    refused(dataclasses.replace(server.board, key=str(tmp_path / "key")),
            "refused to let .* log in; check user and key")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "word", "-f", str(tmp_path / "k2")],
                   check=True)
    refused(dataclasses.replace(server.board, key=str(tmp_path / "k2")), "has a passphrase")


def test_missing_files_are_named(server):
    refused(dataclasses.replace(server.board, key="/none"), "key file /none does not exist")
    refused(dataclasses.replace(server.board, known_hosts="/none"),
            "known_hosts file /none does not exist")


def test_another_architecture(server, context):
    other = "riscv64" if host_cpu.architecture() != "riscv64" else "aarch64"
    with pytest.raises(BoardError, match=f"the board is .*, the bundle is for {other}"):
        bench(fake.files(), fake.manifest(other), server.board, context=context)


def test_an_emulator_of_another_architecture(server, context):
    board = dataclasses.replace(server.board, emulator=("qemu-riscv64",))
    with pytest.raises(BoardError, match="the board runs riscv64, the bundle is for aarch64"):
        bench(fake.files(), fake.manifest("aarch64"), board, context=context)
    board = dataclasses.replace(server.board, emulator=("qemu-none",))
    with pytest.raises(BoardError, match="cannot run the probe, a program of 6 KB: .*not found"):
        bench(fake.files(), fake.manifest("aarch64"), board, context=context)


# Breaking on the way


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KB."""
    if os.geteuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "edgecc", str(tmp_path)],
            capture_output=True).returncode:
        pytest.skip("needs root, to mount a small file system")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_disk_full(any_server, small_disk):
    board = dataclasses.replace(any_server.board, workdir=str(small_disk / "edgecc"))
    with open_transport(board, Path()) as transport:
        with pytest.raises(BoardError, match="the disk is full, .*needed 1,000,000 B, available"):
            transport.put(bytes(1_000_000), f"{transport.workdir}/blobs/x")
        assert list((small_disk / "edgecc/blobs").iterdir()) == []
        transport.put(b"fits", f"{transport.workdir}/blobs/y")


def test_file_size_limit():
    """As with a quota: the disk has room, but not for this user."""
    config = NO_SFTP + "ForceCommand ulimit -f 100; eval \"$SSH_ORIGINAL_COMMAND\"\n"
    with (loopback.start("host", (), config=config) as limited,
          open_transport(limited.board, Path()) as transport):
        with pytest.raises(BoardError, match="cannot write .*check quota"):
            transport.put(bytes(1_000_000), f"{transport.workdir}/blobs/x")
        assert blobs(limited) == []


def test_a_folder_in_the_way(any_server):
    (any_server.folder / "file").write_text("")
    with (open_transport(any_server.board, Path()) as transport,
          pytest.raises(BoardError, match="cannot write .*file/below")):
        transport.put(b"x", f"{any_server.folder}/file/below")


def test_no_permission():
    upload = Upload("a/b", b"data", False)
    error = upload.explain(PermissionError(13, "Permission denied"), 1 << 30, "desk")
    assert str(error).startswith("desk: no permission to write a/b; set workdir")
    error = upload.explain(OSError("Failure"), None, "desk")
    assert str(error).startswith("desk: cannot write a/b: Failure (needed 4 B")


def test_an_upload_that_arrives_short(server, monkeypatch):
    monkeypatch.setattr(SftpFiles, "size", lambda *a: 3)
    with (open_transport(server.board, Path()) as transport,
          pytest.raises(BoardError, match="only 3 of 4 B arrived")):
        transport.put(b"data", f"{transport.workdir}/blobs/short")


def test_connection_dropped_during_an_upload(any_server, monkeypatch):
    real = Upload._sent

    def drop_at_half(self, count):
        before = self.sent_bytes
        real(self, count)
        if before < 2_000_000 <= self.sent_bytes:
            drop_connections(any_server)

    monkeypatch.setattr(Upload, "_sent", drop_at_half)
    with open_transport(any_server.board, Path()) as transport:
        names = blobs(any_server)
        with pytest.raises(BoardError, match=r"connection dropped after [\d,]+ of 8,000,000 B"):
            transport.put(bytes(8_000_000), f"{transport.workdir}/blobs/dropped")
        assert blobs(any_server) == names  # the draft is gone too
        monkeypatch.undo()
        transport.put(b"after all", f"{transport.workdir}/blobs/dropped")
        transport.remove(f"{transport.workdir}/blobs/dropped")


def test_connection_dropped_but_not_noticed_at_once(server, monkeypatch):
    real, alive, first = Upload._sent, SshTransport._alive, [True]

    def drop_at_half(self, count):
        real(self, count)
        if self.sent_bytes - count < 2_000_000 <= self.sent_bytes:
            drop_connections(server)

    monkeypatch.setattr(Upload, "_sent", drop_at_half)
    monkeypatch.setattr(SshTransport, "_alive",
                        lambda self: first.pop() if first else alive(self))
    with (open_transport(server.board, Path()) as transport,
          pytest.raises(BoardError, match=r"connection dropped after [\d,]+ of 8,000,000 B")):
        transport.put(bytes(8_000_000), f"{transport.workdir}/blobs/dropped")


def test_a_draft_is_removed_when_its_connection_only_seems_alive(server, monkeypatch):
    """paramiko may hear of the drop as late as when the draft is to be removed."""
    real, alive, seeming = Upload._sent, SshTransport._alive, [True] * 3

    def drop_at_half(self, count):
        real(self, count)
        if self.sent_bytes - count < 2_000_000 <= self.sent_bytes:
            drop_connections(server)

    with open_transport(server.board, Path()) as transport:
        names = blobs(server)
        monkeypatch.setattr(Upload, "_sent", drop_at_half)
        monkeypatch.setattr(SshTransport, "_alive",
                            lambda self: seeming.pop() if seeming else alive(self))
        with pytest.raises(BoardError):
            transport.put(bytes(8_000_000), f"{transport.workdir}/blobs/dropped")
        assert not seeming and blobs(server) == names


def test_connection_dropped_during_a_run(server, context, monkeypatch):
    real = SshTransport.run

    def run_and_drop(self, argv, **options):
        process = real(self, argv, **options)
        if "weights" in str(argv) or len(argv) == 2 and "blobs" in argv[1]:
            write = process.write

            def drop_after_run(data):
                write(data)
                if data[4] == 3:
                    drop_connections(server)

            process.write = drop_after_run
        return process

    monkeypatch.setattr(SshTransport, "run", run_and_drop)
    with pytest.raises(BoardError, match="RUN: the connection dropped while a program ran"):
        bench(fake.files(RUN="hang"), MANIFEST, server.board, context=context)
    assert not wait_until_gone(str(server.folder / "board"))


def test_connection_dropped_before_a_program_starts(server):
    with open_transport(server.board, Path()) as transport:
        drop_connections(server)
        time.sleep(0.2)
        with pytest.raises(BoardError, match="the connection dropped before a program was started"):
            transport.run(["true"])
        with pytest.raises(BoardError, match="the connection dropped"):
            transport.size("x")


@pytest.mark.parametrize(("how", "message"), [
    ("crash", "the runner ended with a signal during RUN; it said: runner starts / about to crash"),
    ("exit", "the runner ended with exit code 3 during RUN"),
    ("garbage", "no frame of the runner protocol"),
    ("oversize", "larger than its question allows"),
    ("hang", "RUN: did not answer within 1 s"),
])
def test_a_runner_that_misbehaves_leaves_nothing_behind(server, context, how, message):
    board = dataclasses.replace(server.board, timeout_s=1)
    with pytest.raises(BoardError, match=message):
        bench(fake.files(RUN=how), MANIFEST, board, context=context)
    assert not wait_until_gone(str(server.folder / "board"))


def test_ctrl_c_leaves_nothing_behind(server, context, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import rpc_fake_runner as fake\n"
        "from pathlib import Path\n"
        "from edgecc.context import Context\n"
        "from edgecc.rpc.bench import bench\n"
        "from edgecc.rpc.board import Board\n"
        f"board = {server.board!r}\n"
        f"context = Context(cache_dir=Path({str(context.cache_dir)!r}))\n"
        f"bench(fake.files(RUN='hang'), {MANIFEST!r}, board, context=context)\n")
    child = subprocess.Popen(
        [sys.executable, str(script), str(Path(fake.__file__).parent)], stderr=subprocess.PIPE,
        # A shell starts what runs in its background deaf to SIGINT, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert stays(str(server.folder / "board")), "the runner should be hanging"
    child.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in child.communicate(timeout=20)[1]
    assert not wait_until_gone(str(server.folder / "board"))


def test_wrong_answers_are_refused(server, context):
    with pytest.raises(BoardError, match="golden vector 0: output 0 differs"):
        bench(fake.files(GET_OUTPUT="wrong"), MANIFEST, server.board, context=context)


def test_one_inference(server, context):
    answer = run_once(fake.files(), MANIFEST, server.board, [bytes(16)], context=context)
    assert answer == [b"\xff" * 16]


def test_the_connection_never_accepts_a_key(server):
    client = connect(server.board)
    try:
        assert type(client._policy).__name__ == "_Refuse"
    finally:
        client.close()
