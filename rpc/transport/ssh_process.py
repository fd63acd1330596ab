"""SshProcess: a program on the far end of an SSH channel."""

from __future__ import annotations

import re
import select
import time
from collections.abc import Callable
from typing import Any

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.rpc.transport.base import CHUNK_BYTES, Tail

GRACE_S = 2.0
PID_LINE = re.compile(rb"\Aedgecc-pid (\d{1,9})\n")


class SshProcess:
    """`kill_pid` ends a process of the board; `release` gives the channel back."""

    def __init__(self, board: Board, channel: Any, kill_pid: Callable[[int], None],
                 release: Callable[[], None]):
        self._board, self._channel = board, channel
        self._kill_pid, self._release = kill_pid, release
        self._said, self._head = Tail(), b""
        self._closed = False
        channel.settimeout(board.timeout_s)

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                count = self._channel.send(rest[:CHUNK_BYTES])
                if count == 0:
                    raise EOFError("the channel is closed")
                rest = rest[count:]
        except TimeoutError as error:
            raise self._late(self._board.timeout_s) from error
        except (OSError, EOFError) as error:
            self._raise_if_dropped()
            raise BoardError("the program ended while it was sent data",
                             where=self._board.name) from error

    def read(self, size: int, timeout_s: float | None = None) -> bytes:
        timeout_s = timeout_s or self._board.timeout_s
        deadline = time.monotonic() + timeout_s
        while not self._channel.recv_ready():
            self._take_stderr()
            if self._channel.closed or self._channel.eof_received:
                break
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._late(timeout_s)
            select.select([self._channel], [], [], min(left, 0.5))
        data = self._channel.recv(min(size, CHUNK_BYTES))
        if not data:
            self._raise_if_dropped()
        return data

    def _late(self, timeout_s: float) -> BoardError:
        return BoardError(f"did not answer within {timeout_s:.3g} s", where=self._board.name,
                          advice="raise timeout_s of the board if the model is slow")

    def _raise_if_dropped(self) -> None:
        """An end without a word from the server is a lost connection, not the program's end."""
        if self._channel.closed and not self._channel.eof_received and not self._closed:
            raise BoardError("the connection dropped while a program ran", where=self._board.name,
                             advice="check power and network, then try again")

    def _take_stderr(self) -> None:
        while self._channel.recv_stderr_ready():
            data = self._channel.recv_stderr(CHUNK_BYTES)
            if len(self._head) < 32:
                self._head += data[:64]
            self._said.add(data)

    def close_stdin(self) -> None:
        self._channel.shutdown_write()

    def stderr(self) -> bytes:
        self._take_stderr()
        return PID_LINE.sub(b"", self._said.bytes())

    def wait(self, timeout_s: float | None = None) -> int | None:
        """As Process.wait; -1 for any signal, since the server does not always say which."""
        timeout_s = self._board.timeout_s if timeout_s is None else timeout_s
        if not self._channel.status_event.wait(timeout_s):
            return None
        return self._channel.exit_status

    def kill(self) -> None:
        self._take_stderr()
        pid = PID_LINE.match(self._head)
        if pid and not self._ended():
            self._kill_pid(int(pid[1]))

    def _ended(self) -> bool:
        return self._channel.exit_status_ready() or self._channel.closed

    def close(self) -> None:
        if self._closed:
            return
        try:
            if not self._ended():
                self.close_stdin()
                if self.wait(GRACE_S) is None:
                    self.kill()
        except (OSError, EOFError, BoardError):
            pass  # the connection is gone, and the program's input with it
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Gives the channel back without a look at the program."""
        self._closed = True
        self._release()
