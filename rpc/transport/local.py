"""LocalTransport: the workstation itself as a board."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import selectors
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.rpc.transport.base import CHUNK_BYTES, Tail

GRACE_S = 2.0


class LocalProcess:
    """A child with three pipes, none of which can block us beyond the timeout."""

    def __init__(self, board: Board, child: subprocess.Popen):
        self._board, self._child = board, child
        self._said = Tail()
        self._out, self._err = child.stdout, child.stderr
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)

    def write(self, data: bytes) -> None:
        timeout_s = self._board.timeout_s
        deadline = time.monotonic() + timeout_s
        rest = memoryview(data)
        assert self._child.stdin is not None
        while rest:
            try:
                rest = rest[os.write(self._child.stdin.fileno(), rest[:CHUNK_BYTES]) :]
            except BlockingIOError:
                self._wait_for(self._child.stdin, selectors.EVENT_WRITE, deadline, timeout_s)
            except OSError as error:
                raise BoardError("the program ended while it was sent data",
                                 where=self._board.name) from error

    def read(self, size: int, timeout_s: float | None = None) -> bytes:
        timeout_s = timeout_s or self._board.timeout_s
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                assert self._out is not None
                return os.read(self._out.fileno(), min(size, CHUNK_BYTES))
            except BlockingIOError:
                self._wait_for(self._out, selectors.EVENT_READ, deadline, timeout_s)

    def _wait_for(self, pipe: IO[bytes] | None, event: int, deadline: float,
                  timeout_s: float) -> None:
        """Waits until the pipe is ready, taking up what arrives on stderr meanwhile."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise BoardError(f"did not answer within {timeout_s:.3g} s", where=self._board.name,
                             advice="raise timeout_s of the board if the model is slow")
        with selectors.DefaultSelector() as selector:
            assert pipe is not None
            selector.register(pipe, event)
            if self._err is not None:
                selector.register(self._err, selectors.EVENT_READ)
            selector.select(left)
        self._drain_stderr()

    def _drain_stderr(self) -> None:
        while self._err is not None:
            try:
                data = os.read(self._err.fileno(), CHUNK_BYTES)
            except BlockingIOError:
                return
            if not data:
                self._err.close()
                self._err = None
            self._said.add(data)

    def close_stdin(self) -> None:
        if self._child.stdin is not None and not self._child.stdin.closed:
            self._child.stdin.close()

    def stderr(self) -> bytes:
        self._drain_stderr()
        return self._said.bytes()

    def wait(self, timeout_s: float | None = None) -> int | None:
        try:
            return self._child.wait(self._board.timeout_s if timeout_s is None else timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()

    def close(self) -> None:
        self.close_stdin()
        try:
            if self.wait(GRACE_S) is None:
                self.kill()
        except BaseException:
            self.kill()
            raise
        finally:
            self._drain_stderr()
            for pipe in (self._out, self._err):
                if pipe is not None:
                    pipe.close()


class LocalTransport:
    """Programs and files of this machine, under `workdir`."""

    def __init__(self, board: Board, workdir: Path):
        self.board = board
        self.workdir = str(Path(board.workdir).expanduser() if board.workdir else workdir)
        self._processes: list[LocalProcess] = []

    def run(self, argv: Sequence[str], *, stdin_path: str | None = None) -> LocalProcess:
        program = shutil.which(argv[0])
        if program is None:
            raise BoardError(f"{argv[0]} is not installed", where=self.board.name,
                             advice=how_to_install(argv[0]))
        try:
            child = self._start([program, *argv[1:]], stdin_path)
        except OSError as error:
            raise BoardError(f"cannot start {argv[0]}: {error.strerror}",
                             where=self.board.name) from error
        process = LocalProcess(self.board, child)
        self._processes.append(process)
        return process

    def _start(self, argv: list[str], stdin_path: str | None) -> subprocess.Popen:
        if stdin_path is None:
            return self._popen(argv, subprocess.PIPE)
        with open(stdin_path, "rb") as stdin:
            return self._popen(argv, stdin)

    def _popen(self, argv: list[str], stdin: Any) -> subprocess.Popen:
        return subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, env={}, bufsize=0,
                                stderr=subprocess.PIPE, start_new_session=True)

    def put(self, data: bytes | Path, path: str, *, executable: bool = False) -> None:
        content = data.read_bytes() if isinstance(data, Path) else data
        target = Path(path)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
            draft.chmod(0o700 if executable else 0o600)
            os.replace(draft, target)
        except OSError as error:
            raise self._write_error(error, target, len(content)) from error
        finally:
            _remove(draft)

    def _write_error(self, error: OSError, path: Path, needed_bytes: int) -> BoardError:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return BoardError(f"cannot write {path}: {error.strerror}", where=self.board.name,
                              advice="set workdir of the board to a folder you may write to")
        free = shutil.disk_usage(path.parent).free
        return BoardError(f"the disk is full, {path} was not written", where=self.board.name,
                          needed=f"{needed_bytes:,} B", available=f"{free:,} B",
                          advice="free some space, or set workdir of the board elsewhere")

    def get(self, path: str, limit_bytes: int) -> bytes:
        try:
            with open(path, "rb") as file:
                data = file.read(limit_bytes + 1)
        except OSError as error:
            raise BoardError(f"cannot read {path}: {error.strerror}",
                             where=self.board.name) from error
        if len(data) > limit_bytes:
            raise BoardError(f"{path} is too large", where=self.board.name,
                             available=f"{limit_bytes:,} B")
        return data

    def size(self, path: str) -> int | None:
        try:
            return os.path.getsize(path)
        except OSError:
            return None

    def sha256(self, path: str) -> str:
        return hashlib.sha256(self.get(path, self.size(path) or 0)).hexdigest()

    def remove(self, path: str) -> None:
        _remove(Path(path))

    def close(self) -> None:
        for process in self._processes:
            process.close()
        self._processes.clear()

    def __enter__(self) -> LocalTransport:
        return self

    def __exit__(self, kind: type | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return


def how_to_install(program: str) -> str:
    """Advice for a program that is missing here."""
    known = {"qemu-system-arm": "qemu-system-arm", "qemu-system-riscv": "qemu-system-misc",
             "qemu-": "qemu-user"}
    for start, package in known.items():
        if program.startswith(start):
            return f"install the {package} package (apt-get install {package})"
    return "install it, or correct the board's emulator"
