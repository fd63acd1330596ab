"""SerialProcess: the program on a chip at the other end of a serial line."""

from __future__ import annotations

import time

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.rpc.transport.base import Tail
from edgecc.rpc.transport.serial_line import (
    ASK,
    BUSY,
    DATA,
    ENDED,
    ROOM,
    SAID,
    SENT,
    TAKEN,
    Packet,
    SerialLine,
)

PAUSE_S = 0.002


class SerialProcess:
    """Looks like any program: bytes go in and come out, it says things and ends with a code.

    Nothing can end it from here; the next session begins it anew.
    """

    def __init__(self, board: Board, line: SerialLine):
        self._board, self._line = board, line
        self._out, self._said = bytearray(), Tail()
        self._code: int | None = None

    def write(self, data: bytes) -> None:
        deadline = time.monotonic() + self._board.timeout_s
        for at in range(0, len(data), ROOM):
            self._give(data[at : at + ROOM], deadline)

    def _give(self, part: bytes, deadline: float) -> None:
        while (answer := self._line.ask(DATA, part)).kind == BUSY:
            if time.monotonic() > deadline:
                raise BoardError("stopped reading what it is sent", where=self._board.name,
                                 advice="reset the board, then try again")
            self._poll(self._board.timeout_s)
        if answer.kind != TAKEN:
            raise self._nonsense(answer)

    def read(self, size: int, timeout_s: float | None = None) -> bytes:
        timeout_s = timeout_s or self._board.timeout_s
        deadline = time.monotonic() + timeout_s
        while not self._out and self._code is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise BoardError(f"did not answer within {timeout_s:.3g} s",
                                 where=self._board.name,
                                 advice="raise timeout_s of the board if the model is slow")
            self._poll(left)
        data = bytes(self._out[:size])
        del self._out[:size]
        return data

    def _poll(self, timeout_s: float) -> None:
        """Takes what the program has: output, words, or its end."""
        answer = self._line.ask(ASK, timeout_s=timeout_s)
        if answer.kind == SENT:
            self._out += answer.payload
        elif answer.kind == SAID:
            self._said.add(answer.payload)
        elif answer.kind == ENDED and len(answer.payload) == 1:
            self._code = answer.payload[0]
        elif answer.payload or answer.kind not in b"n":
            raise self._nonsense(answer)
        else:
            time.sleep(PAUSE_S)

    def _nonsense(self, answer: Packet) -> BoardError:
        return BoardError(f"answered with a frame of kind {answer.kind} that nobody asked for",
                          where=self._board.name, advice="flash the bundle's program anew")

    def close_stdin(self) -> None:
        """There is no end of input on a line; the next session begins anew."""

    def stderr(self) -> bytes:
        return self._said.bytes()

    def wait(self, timeout_s: float | None = None) -> int | None:
        deadline = time.monotonic() + (self._board.timeout_s if timeout_s is None else timeout_s)
        while self._code is None and (left := deadline - time.monotonic()) > 0:
            try:
                self._poll(left)
            except BoardError:
                return None
        return self._code

    def kill(self) -> None:
        """Nothing here can; the next session begins it anew."""

    def close(self) -> None:
        self._line.close()
