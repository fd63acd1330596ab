"""What to say of a server's key that is not the one expected."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from edgecc.rpc.board import Board


def fingerprint(key: Any) -> str:
    """A key's type and SHA-256, as ssh-keygen -l prints it."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


def unknown(board: Board, key: Any) -> tuple[str, str]:
    """The finding and the advice for a key that is in no known_hosts file."""
    return (f"{board.host}:{board.port} shows an unknown host key, {fingerprint(key)}",
            f"if the board's console shows the same fingerprint, run: {_scan(board)}")


def changed(board: Board, key: Any, known: Any) -> tuple[str, str]:
    """The finding and the advice for a key that is not the known one."""
    return (f"{board.host}:{board.port} shows another host key than before: {fingerprint(key)}, "
            f"known is {fingerprint(known)}",
            "someone may be listening in; if the board was set up anew, remove the old line "
            f"(ssh-keygen -R '[{board.host}]:{board.port}') and run: {_scan(board)}")


def _scan(board: Board) -> str:
    known = board.known_hosts or "~/.ssh/known_hosts"
    return f"ssh-keyscan -p {board.port} {board.host} >> {known}"
