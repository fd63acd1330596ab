"""Transports: ssh, local, emulator, serial and fake, behind one interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgecc.rpc.board import Board
from edgecc.rpc.transport.base import Process, Transport

__all__ = ["Process", "Transport", "open_transport"]


def open_transport(board: Board, cache_dir: Path,
                   ask: Callable[[str], str] | None = None) -> Transport:
    """The way to a board. `cache_dir` holds the files of boards that are this machine; `ask`
    gives the secret that a prompt asks for, where somebody is there to be asked.

    Raises BoardError when the board cannot be reached.
    """
    workdir = cache_dir / "boards" / board.name
    if board.transport == "ssh":
        from edgecc.rpc.transport.ssh import SshTransport

        return SshTransport(board, ask)
    if board.transport == "fake":
        from edgecc.rpc.transport.fake import FakeTransport

        return FakeTransport(board)
    if board.transport == "serial":
        from edgecc.rpc.transport.serial import SerialTransport

        return SerialTransport(board, workdir)
    if board.transport == "emulator":
        from edgecc.rpc.transport.emulator import EmulatorTransport

        return EmulatorTransport(board, workdir)
    from edgecc.rpc.transport.local import LocalTransport

    return LocalTransport(board, workdir)
