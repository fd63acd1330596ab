"""EmulatorTransport: this machine, with an emulator that must be there before anything is sent."""

from __future__ import annotations

import shutil
from pathlib import Path

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.rpc.transport.local import LocalTransport, how_to_install


class EmulatorTransport(LocalTransport):
    """A LocalTransport whose board has an emulator prefix. Raises BoardError when the emulator is
    not installed."""

    def __init__(self, board: Board, workdir: Path):
        if shutil.which(board.emulator[0]) is None:
            raise BoardError(
                f"{board.emulator[0]} is not installed", where=board.name,
                advice=how_to_install(board.emulator[0]),
            )
        super().__init__(board, workdir)
