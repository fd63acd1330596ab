"""Transport and Process: how programs and files get to a board, whatever lies between.

A transport is a context manager. argv is never joined to a string by its users, and paths are the
board's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from edgecc.rpc.board import Board

STDERR_KEPT_BYTES = 1 << 16
CHUNK_BYTES = 1 << 15


class Process(Protocol):
    """A running program. Every call is bounded by the board's timeout, or by its argument."""

    def write(self, data: bytes) -> None:
        """All of `data` to its stdin. Raises BoardError if it stops reading."""

    def read(self, size: int, timeout_s: float | None = None) -> bytes:
        """1 to `size` bytes of its stdout, b"" at the end. Raises BoardError on timeout."""

    def close_stdin(self) -> None:
        """Ends its input."""

    def stderr(self) -> bytes:
        """The last 64 KB of what it said on stderr so far."""

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Its exit code (negative: ended by that signal), or None while it still runs."""

    def kill(self) -> None:
        """Ends it at once; harmless when it has ended."""

    def close(self) -> None:
        """Ends its input, gives it a moment, then kills it: nothing is left on the board."""


class Transport(Protocol):
    """The way to one board. Every method raises BoardError, naming the board."""

    board: Board
    workdir: str

    def run(self, argv: Sequence[str], *, stdin_path: str | None = None) -> Process:
        """Starts a program of the board (not through its emulator prefix), with an empty
        environment where the board is this machine. `stdin_path` is a file on the board."""

    def put(self, data: bytes | Path, path: str, *, executable: bool = False) -> None:
        """Writes a file and its folders: whole, or not at all."""

    def get(self, path: str, limit_bytes: int) -> bytes:
        """A file's bytes. Raises BoardError when it is missing or larger than the limit."""

    def size(self, path: str) -> int | None:
        """A file's size, or None when there is no such file."""

    def sha256(self, path: str) -> str:
        """Hex digest of a file's bytes as the board has them."""

    def remove(self, path: str) -> None:
        """Removes a file; harmless when there is none."""

    def close(self) -> None:
        """Ends every process that was started and lets the board go."""

    def __enter__(self) -> Transport: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class FlashedTransport(Protocol):
    """The way to a chip that holds one program, in its flash."""

    def install(self, elf: bytes, name: str) -> tuple[str, bool]:
        """Path of the program here, and whether it had to be flashed. Raises BoardError."""


class Tail:
    """The last bytes of a stream of unknown length."""

    def __init__(self, limit_bytes: int = STDERR_KEPT_BYTES):
        self._limit, self._kept = limit_bytes, bytearray()

    def add(self, data: bytes) -> None:
        self._kept += data
        del self._kept[: -self._limit]

    def bytes(self) -> bytes:
        return bytes(self._kept)


def read_all(process: Process, limit_bytes: int) -> bytes:
    """Everything up to the end of a process's stdout, but no more than the limit."""
    collected = bytearray()
    while len(collected) <= limit_bytes:
        data = process.read(CHUNK_BYTES)
        if not data:
            return bytes(collected)
        collected += data
    return bytes(collected[:limit_bytes])
