"""FakeTransport: a board in memory, for tests. Its programs are Python functions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from edgecc.errors import BoardError
from edgecc.rpc.board import Board

Program = Callable[[Sequence[str], bytes], tuple[bytes, bytes, int]]
"""(argv, stdin) -> (stdout, stderr, exit code); stdin is all that was written so far."""


class FakeProcess:
    """Calls its program anew with all input whenever more output is asked for."""

    def __init__(self, argv: Sequence[str], program: Program, stdin: bytes):
        self._argv, self._program, self._stdin = argv, program, bytearray(stdin)
        self._given, self._ended = 0, False

    def write(self, data: bytes) -> None:
        self._stdin += data

    def read(self, size: int, timeout_s: float | None = None) -> bytes:
        out = self._program(self._argv, bytes(self._stdin))[0]
        data = out[self._given : self._given + size]
        self._given += len(data)
        return data

    def close_stdin(self) -> None:
        self._ended = True

    def stderr(self) -> bytes:
        return self._program(self._argv, bytes(self._stdin))[1]

    def wait(self, timeout_s: float | None = None) -> int | None:
        return self._program(self._argv, bytes(self._stdin))[2]

    def kill(self) -> None:
        self._ended = True

    def close(self) -> None:
        self._ended = True


class FakeTransport:
    """Files in a dictionary; `program` stands for whatever is run."""

    def __init__(self, board: Board, program: Program | None = None):
        self.board, self.workdir, self.files = board, "/fake", dict[str, bytes]()
        self.sent: list[str] = []
        self._program = program

    def run(self, argv: Sequence[str], *, stdin_path: str | None = None) -> FakeProcess:
        if self._program is None:
            raise BoardError("a fake board runs nothing", where=self.board.name,
                             advice="choose another board: `edgecc boards` lists them")
        stdin = self.files[stdin_path] if stdin_path else b""
        return FakeProcess(argv, self._program, stdin)

    def put(self, data: bytes | Path, path: str, *, executable: bool = False) -> None:
        self.files[path] = data.read_bytes() if isinstance(data, Path) else data
        self.sent.append(path)

    def get(self, path: str, limit_bytes: int) -> bytes:
        if path not in self.files:
            raise BoardError(f"cannot read {path}: no such file", where=self.board.name)
        return self.files[path][:limit_bytes]

    def size(self, path: str) -> int | None:
        return len(self.files[path]) if path in self.files else None

    def sha256(self, path: str) -> str:
        return hashlib.sha256(self.files[path]).hexdigest()

    def remove(self, path: str) -> None:
        self.files.pop(path, None)

    def close(self) -> None:
        """Nothing is held open."""

    def __enter__(self) -> FakeTransport:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
