"""A throw-away SSH server on 127.0.0.1: makes a workstation with QEMU into a board that is reached
as any other. Its keys, its files and its processes are gone afterwards.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.targets import get_target

NAME = "loopback"
SERVER_DIRS = ("/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin")
PRIVSEP_DIR = Path("/run/sshd")
START_TIMEOUT_S, END_TIMEOUT_S = 10.0, 5.0
PACKAGES = {"sshd": "openssh-server", "ssh-keygen": "openssh-client"}
CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowTcpForwarding no
X11Forwarding no
PrintMotd no
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Server:
    """A running server: the board that it makes, its process, and where its files are."""

    board: Board
    pid: int
    folder: Path


@contextmanager
def start(target: str = "raspberry-pi-5", emulator: Sequence[str] | None = None, *,
          config: str | None = None, **fields: object) -> Iterator[Server]:
    """A board of `target` over real SSH, its programs running through `emulator` (None: the
    target's own). `config` replaces the server's configuration, `fields` those of the board.

    Raises BoardError when there is no OpenSSH server or it does not start.
    """
    prefix = get_target(target).emulator if emulator is None else tuple(emulator)
    sshd, keygen = _find("sshd"), _find("ssh-keygen")
    _make_privsep_dir()
    with tempfile.TemporaryDirectory(prefix="edgecc-sshd-") as name:
        folder = Path(name)
        _make_keys(keygen, folder)
        server, port = _start_server(sshd, folder, config or CONFIG)
        try:
            public = (folder / "host_key.pub").read_text().split()[:2]
            (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {' '.join(public)}\n")
            board = Board(**{**dict(  # type: ignore[arg-type]
                name=NAME, transport="ssh", target=target, host="127.0.0.1", port=port,
                user=getpass.getuser(), key=str(folder / "client_key"),
                known_hosts=str(folder / "known_hosts"), workdir=str(folder / "board"),
                emulator=prefix), **fields})
            yield Server(board, server.pid, folder)
        finally:
            _end(server)


def find_server() -> str | None:
    """The path of sshd, or None; it is rarely in a user's PATH."""
    return shutil.which("sshd") or shutil.which("sshd", path=os.pathsep.join(SERVER_DIRS))


def _find(program: str) -> str:
    found = find_server() if program == "sshd" else shutil.which(program)
    if found is None:
        raise BoardError(f"{program} is not installed", where=NAME,
                         advice=f"install the {PACKAGES[program]} package")
    return found


def _make_privsep_dir() -> None:
    """sshd started by root insists on this folder, at its start and for every connection. It
    stays: it is where Debian's own sshd keeps it, and another server may be using it."""
    if os.geteuid() == 0:
        PRIVSEP_DIR.mkdir(mode=0o755, exist_ok=True)


def _make_keys(keygen: str, folder: Path) -> None:
    for key in ("host_key", "client_key"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-C", "edgecc loopback",
                        "-f", str(folder / key)], check=True, stdin=subprocess.DEVNULL)
    shutil.copy(folder / "client_key.pub", folder / "authorized_keys")


def _start_server(sshd: str, folder: Path, config: str) -> tuple[subprocess.Popen, int]:
    for _ in range(5):  # another program may take the free port first
        port = _free_port()
        (folder / "sshd_config").write_text(config.format(port=port, folder=folder))
        with open(folder / "sshd.log", "wb") as log:
            server = subprocess.Popen([sshd, "-D", "-e", "-f", str(folder / "sshd_config")],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if _listens(server, port):
            return server, port
        _end(server)
    words = (folder / "sshd.log").read_text(errors="replace").strip()
    raise BoardError(f"sshd does not start: {words[-300:]}", where=NAME)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _listens(server: subprocess.Popen, port: int) -> bool:
    deadline = time.monotonic() + START_TIMEOUT_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.02)
    return False


def descendants(pid: int) -> list[int]:
    """Processes below `pid`, as /proc has them now."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.parent.name)] = int(fields[1])
    found, edge = [], [pid]
    while edge:
        edge = [child for child, parent in parents.items() if parent in edge]
        found += edge
    return found


def _end(server: subprocess.Popen) -> None:
    """Ends the server and everything that it started, and waits until all are gone."""
    below: set[int] = set()
    if server.poll() is None:
        server.send_signal(signal.SIGSTOP)
        while new := set(descendants(server.pid)) - below:  # stopped ones start no others
            below |= new
            _signal(new, signal.SIGSTOP)
    _signal(below, signal.SIGKILL)
    server.kill()
    server.wait()
    deadline = time.monotonic() + END_TIMEOUT_S
    while any(map(_runs, below)) and time.monotonic() < deadline:
        time.sleep(0.01)


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return state[0] != "Z"


def missing_tools(emulator: str = "qemu-aarch64") -> list[str]:
    """Names of Debian packages that `start` needs and this machine lacks."""
    missing = [] if shutil.which(emulator) else ["qemu-user"]
    return missing + ([] if find_server() else ["openssh-server"])


def ensure_emulation_tools(say: Callable[[str], None], emulator: str = "qemu-aarch64") -> bool:
    """Whether QEMU and an SSH server are there; as root with apt-get, installs what is missing.

    `say` is told what is done, or what is missing and how to install it.
    """
    missing = missing_tools(emulator)
    if not missing:
        return True
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        say(f"{' and '.join(missing)} not installed (as root: apt-get install "
            f"{' '.join(missing)})")
        return False
    say(f"installing {' and '.join(missing)} with apt-get")
    _install(apt, missing, say)
    left = missing_tools(emulator)
    if left:
        say(f"{' and '.join(left)} could not be installed")
    return not left


def _install(apt: str, packages: list[str], say: Callable[[str], None]) -> None:
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    for argv in ([apt, "-q", "update"],
                 [apt, "-q", "install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode != 0:
            say(f"{' '.join(argv[:3])} failed: {done.stderr.strip()[-300:]}")
