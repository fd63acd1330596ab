"""SerialTransport: a chip without an operating system, at a serial port of this machine.

Its programs lie in a folder here until they are flashed: by the board's own command, or by hand.
A program tells which one it is, so that none is flashed twice.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from edgecc.errors import BoardError
from edgecc.link.serial_board import IDENTITY
from edgecc.rpc.board import Board
from edgecc.rpc.transport.local import LocalTransport
from edgecc.rpc.transport.serial_line import RESET, SerialLine
from edgecc.rpc.transport.serial_port import SerialPort
from edgecc.rpc.transport.serial_process import SerialProcess

NAMED = re.compile(re.escape(IDENTITY.encode()) + rb"[0-9a-f]{16}")
FLASH_TIMEOUT_S = 300.0
SAID_BYTES = 600
LOOK_S = 4.0  # for a program that a command could replace at once; a large one checks its weights


class SerialTransport(LocalTransport):
    """Files are this machine's; the one program that can be run is what the chip holds."""

    def __init__(self, board: Board, workdir: Path):
        super().__init__(board, workdir)
        self._open: SerialProcess | None = None

    def install(self, elf: bytes, name: str) -> tuple[str, bool]:
        """Path of the program here, and whether it had to be flashed.

        Raises BoardError when the port cannot be had, and when the chip does not hold the program
        and there is no command that flashes it, or the command did not help.
        """
        wanted = identity_of(elf, self.board)
        path = f"{self.workdir}/{name}-{wanted[-16:].decode()}.elf"
        self.put(elf, path)
        found = self._found(LOOK_S if self.board.flash else self.board.connect_timeout_s)
        if found == wanted:
            return path, False
        if not self.board.flash:
            raise self._by_hand(found, path)
        flash(self.board, path)
        found = self._found(self.board.connect_timeout_s)
        if found != wanted:
            state = "another program" if found else "no program that answers"
            raise BoardError(f"was flashed, and still holds {state}", where=self.board.name,
                             advice="flash must write {elf} and then start it; see also port")
        return path, True

    def run(self, argv: Sequence[str], *, stdin_path: str | None = None) -> SerialProcess:
        line = self._line()
        self._open = SerialProcess(self.board, line)
        line.ask(RESET, timeout_s=self.board.connect_timeout_s)
        return self._open

    def _found(self, timeout_s: float) -> bytes | None:
        """What the program on the chip calls itself; None when none answers."""
        line = self._line()
        try:
            answer = line.answer_to(RESET, b"", timeout_s)
            return None if answer is None else answer.payload
        finally:
            line.close()

    def _line(self) -> SerialLine:
        return SerialLine(self.board, SerialPort(self.board))

    def _by_hand(self, found: bytes | None, path: str) -> BoardError:
        what = ("holds another program than the bundle's" if found else
                f"no program answers on {self.board.line} at {self.board.baud:,} baud")
        return BoardError(what, where=self.board.name,
                          advice=f"flash {path} onto the board, or give it a command that does: "
                          'flash = ["openocd", "-f", "board/...", "-c", '
                          '"program {elf} verify reset exit"]')

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        super().close()


def identity_of(elf: bytes, board: Board) -> bytes:
    """What a program will call itself. Raises BoardError for one that does not speak over UART."""
    found = NAMED.search(elf)
    if found is None:
        raise BoardError("the bundle's program for serial lines does not say which one it is",
                         where=board.name, advice="compile the bundle anew")
    return found[0]


def flash(board: Board, elf: str) -> None:
    """Runs the board's own command. Raises BoardError when it is missing, fails or hangs."""
    argv = [word.replace("{elf}", elf) for word in board.flash]
    if shutil.which(argv[0]) is None:
        raise BoardError(f"{argv[0]} is not installed, which flash of the board names",
                         where=board.name, advice="install it, or correct flash")
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=FLASH_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise BoardError(f"{argv[0]} did not end within {FLASH_TIMEOUT_S:.0f} s",
                         where=board.name, advice="run it by hand: " + " ".join(argv)) from error
    except OSError as error:
        raise BoardError(f"cannot start {argv[0]}: {error.strerror}", where=board.name,
                         advice="correct flash of the board") from error
    if done.returncode:
        words = " / ".join(done.stdout.decode(errors="replace")[-SAID_BYTES:].split("\n")).strip()
        raise BoardError(f"{argv[0]} could not flash the board (exit code {done.returncode}): "
                         f"{words or 'it said nothing'}", where=board.name,
                         advice="check cable and power, and the words of flash")
