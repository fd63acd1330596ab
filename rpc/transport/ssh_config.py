"""~/.ssh/config, for boards with `ssh_config = true`. What boards.toml says goes before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import paramiko

from edgecc.errors import BoardError
from edgecc.rpc.board import SSH_PORT, Board

FILE = "~/.ssh/config"


def with_ssh_config(board: Board) -> Board:
    """The board with what the file says of its host: HostName, Port, User, IdentityFile,
    ProxyJump, UserKnownHostsFile.

    Raises BoardError when there is no such file, it cannot be read, or it wants a ProxyCommand.
    """
    found = _lookup(board)
    if "proxycommand" in found:
        raise BoardError(f"{FILE} reaches {board.host} by a ProxyCommand, which is not run",
                         where=board.name, advice="use ProxyJump, or jump of the board")
    fields: dict[str, Any] = {"host": found["hostname"]}
    if board.port == SSH_PORT and "port" in found:
        fields["port"] = int(found["port"])
    if board.jump is None and found.get("proxyjump", "none") != "none":
        fields["jump"] = found["proxyjump"]
    fields["user"] = board.user or found.get("user")
    fields["key"] = board.key or _existing(found.get("identityfile", []))
    fields["known_hosts"] = board.known_hosts or _existing(
        found.get("userknownhostsfile", "").split())
    return replace(board, **fields)


def _lookup(board: Board) -> dict[str, Any]:
    try:
        config = paramiko.SSHConfig.from_path(str(Path(FILE).expanduser()))
        return dict(config.lookup(str(board.host)))
    except (OSError, paramiko.SSHException, ValueError, ImportError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BoardError(f"{FILE} cannot be read: {reason}", where=board.name,
                         advice="correct it, or leave out ssh_config of the board") from error


def _existing(paths: list[str]) -> str | None:
    return next((str(path) for path in map(_expanded, paths) if path.is_file()), None)


def _expanded(path: str) -> Path:
    return Path(path).expanduser()
