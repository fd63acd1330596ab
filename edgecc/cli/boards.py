"""`edgecc boards`: built-in boards and those of boards.toml."""

from __future__ import annotations

import argparse
from typing import Any

from edgecc.cli import arguments
from edgecc.cli.console import Console


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("boards", help="list the boards that programs can run on")
    arguments.add_boards_file(command)
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.rpc.boards import load_boards

    found = sorted(load_boards(arguments.board_files(args)).values(), key=lambda b: b.name)
    console.table(("board", "target", "transport", "where"),
                  [(b.name, b.target, b.transport, place(b)) for b in found])
    console.value({"boards": [record(board) for board in found]})
    return 0


def place(board: Any) -> str:
    if board.host:
        way = f" through {board.jump}" if board.jump else ""
        return f"{board.user + '@' if board.user else ''}{board.host}:{board.port}{way}"
    if board.line:
        return f"{board.line} at {board.baud:,} baud"
    return " ".join(board.emulator) or "this machine"


def record(board: Any) -> dict[str, Any]:
    """Site facts, without the paths of keys."""
    return {"name": board.name, "target": board.target, "transport": board.transport,
            "host": board.host, "port": board.port if board.host else board.line,
            "baud": board.baud, "flash": list(board.flash),
            "user": board.user, "jump": board.jump, "emulator": list(board.emulator),
            "emulated": board.emulated, "cpus": list(board.cpus)}
