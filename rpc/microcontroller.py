"""Boards without an operating system: nothing can be asked of them but what the bundle's own
program answers, so the board's target says what it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.errors import BoardError
from edgecc.link.elf import load_addresses, machine_of
from edgecc.rpc.board import Board
from edgecc.rpc.probe import BoardInfo
from edgecc.targets import Target, get_target

INCLUDES = {"thumb2": {"thumb"}}
"""Instruction sets that contain others."""


def is_bare(manifest: Mapping[str, Any]) -> bool:
    """Whether a bundle is for a chip without an operating system."""
    return manifest["target_info"].get("runner") == "baremetal"


def program_path(board: Board) -> str:
    """The file of a bundle that such a board runs."""
    return "runner/serial" if board.transport == "serial" else "runner/runner"


def identify(board: Board, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> BoardInfo:
    """What the board is, after its target.

    Raises BoardError for a board that is no microcontroller, another machine, one that lacks an
    instruction set, one without memory where the program lies, or one with another UART.
    """
    target = get_target(board.target)
    _check_kind(board, target, manifest)
    _check_machine(board, target, manifest)
    _check_memory(board, target, files, manifest)
    _check_uart(board, target, manifest)
    return BoardInfo(target.architecture, target.features, 1)


def _check_kind(board: Board, target: Target, manifest: Mapping[str, Any]) -> None:
    own = f"--board emulated-{manifest['target']}"
    is_chip = board.is_machine or board.transport == "serial"
    if target.runner != "baremetal" or not is_chip:
        raise BoardError(f"the bundle is for a microcontroller, {manifest['target']}",
                         where=board.name, needed="a board that is or emulates one",
                         available=board.target, advice=f"try {own}")
    if board.transport == "ssh":
        raise BoardError("a microcontroller is emulated on this machine only", where=board.name,
                         advice=f"try {own}")


def _check_machine(board: Board, target: Target, manifest: Mapping[str, Any]) -> None:
    info = manifest["target_info"]
    have = target.features.union(*(INCLUDES.get(f, set()) for f in target.features))
    same = machine_of(info["architecture"]) == machine_of(target.architecture)
    missing = sorted(set(info["features"]) - have - {"soft-float"})  # needs nothing
    if not same or missing:
        lacks = f"the board lacks {', '.join(missing)}" if same else "the board is another machine"
        raise BoardError(f"{lacks}; bundle {manifest['name']!r} cannot run on it",
                         where=board.name, needed=f"{info['architecture']} {info['features']}",
                         available=f"{target.architecture} {sorted(target.features)}",
                         advice=f"compile for the board's own target, {target.name}")


def _check_uart(board: Board, target: Target, manifest: Mapping[str, Any]) -> None:
    if board.transport == "serial" and get_target(manifest["target"]).serial != target.serial:
        raise BoardError(f"programs of {manifest['target']} speak over another UART than "
                         f"{target.name} has", where=board.name,
                         advice=f"compile for the board's own target, {target.name}")


def _check_memory(board: Board, target: Target, files: Mapping[str, bytes],
                  manifest: Mapping[str, Any]) -> None:
    path = program_path(board)
    for start, end in load_addresses(files[path], path):
        if not any(r.base is not None and r.base <= start and end <= r.base + r.size_bytes
                   for r in target.memories):
            raise BoardError(
                f"the program lies where {target.name} has no memory", where=board.name,
                needed=f"{start:#x} to {end:#x}",
                available=", ".join(f"{r.name} at {r.base:#x}" for r in target.memories
                                    if r.base is not None),
                advice=f"the bundle is for {manifest['target']}: compile for {target.name}",
            )
