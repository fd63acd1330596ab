"""An open serial port, by pyserial; what goes wrong with one is said in words."""

from __future__ import annotations

import errno
import os
from typing import Any

from edgecc.errors import BoardError
from edgecc.rpc.board import Board

READ_BYTES = 4096
READ_S, WRITE_S = 0.02, 1.0


class SerialPort:
    """The port of a board. Raises BoardError when it cannot be had, or goes away."""

    def __init__(self, board: Board):
        self._board = board
        self._serial = _module(board)
        try:
            self._port = self._serial.Serial(board.line, board.baud, timeout=READ_S,
                                             write_timeout=WRITE_S, exclusive=True)
        except (OSError, ValueError) as error:  # SerialException is an OSError
            raise self._refused(error) from error

    def write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except self._serial.SerialTimeoutException:
            return  # it listens to nothing: that it does not answer either is what is said
        except OSError as error:
            raise self._gone(error) from error

    def read(self) -> bytes:
        try:
            first = self._port.read(1)
            return first + self._port.read(min(self._port.in_waiting, READ_BYTES))
        except (OSError, TypeError) as error:  # pyserial on a port that was closed meanwhile
            raise self._gone(error) from error

    def close(self) -> None:
        try:
            self._port.close()
        except OSError:
            return

    def _gone(self, error: Exception) -> BoardError:
        return BoardError(f"the connection over {self._board.line} is gone: {error}",
                          where=self._board.name, advice="plug the board in, then try again")

    def _refused(self, error: Exception) -> BoardError:
        line, code = self._board.line, getattr(error, "errno", None)
        if code == errno.ENOENT:
            return BoardError("the port does not exist", where=self._board.name, needed=str(line),
                              available=_ports(), advice="plug the board in, or correct its port")
        if code in (errno.EACCES, errno.EPERM):
            return BoardError(f"no permission to use {line}", where=self._board.name,
                              advice=f"join the port's group, {_group(str(line))}, and log in anew")
        if code in (errno.EAGAIN, errno.EBUSY):
            return BoardError(f"{line} is in use by another program", where=self._board.name,
                              advice="end that program (a terminal, a debugger), then try again")
        return BoardError(f"cannot open {line} at {self._board.baud:,} baud: {error}",
                          where=self._board.name, advice="correct port or baud of the board")


def _module(board: Board) -> Any:
    try:
        import serial
    except ImportError as error:
        raise BoardError("pyserial is not installed, which serial boards need", where=board.name,
                         advice="pip install 'edgecc[serial]'") from error
    return serial


def _ports() -> str:
    from serial.tools.list_ports import comports

    return ", ".join(sorted(port.device for port in comports())) or "none"


def _group(path: str) -> str:
    import grp

    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except (OSError, KeyError):
        return "often dialout"
