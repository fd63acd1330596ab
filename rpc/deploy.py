"""Content-addressed upload: what the board has already is not sent again.

A blob lies at `<workdir>/blobs/<sha256>`; its name is its proof, and it is checked on the board
before it is used, whether it was sent now or long ago.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from edgecc.errors import BoardError
from edgecc.rpc.transport import Transport


@dataclass(frozen=True)
class Deployment:
    """Paths on the board of runner and weights, and what it cost to bring them there."""

    runner: str
    weights: str
    uploaded_bytes: int
    reused_bytes: int


def deploy(transport: Transport, runner: bytes, weights: bytes) -> Deployment:
    """Brings runner and weights to the board. Raises BoardError when they do not arrive whole."""
    sent = reused = 0
    paths = []
    for data, executable in ((runner, True), (weights, False)):
        path, fresh = put_blob(transport, data, executable=executable)
        sent += len(data) if fresh else 0
        reused += 0 if fresh else len(data)
        paths.append(path)
    return Deployment(paths[0], paths[1], sent, reused)


def put_blob(transport: Transport, data: bytes, *, executable: bool = False) -> tuple[str, bool]:
    """The blob's path on the board, and whether it had to be sent."""
    digest = hashlib.sha256(data).hexdigest()
    path = f"{transport.workdir}/blobs/{digest}"
    if transport.size(path) == len(data) and transport.sha256(path) == digest:
        return path, False
    transport.put(data, path, executable=executable)
    arrived = transport.sha256(path)
    if arrived != digest:
        transport.remove(path)
        raise BoardError(f"{path} arrived damaged (SHA-256 {arrived[:16]}…)",
                         where=transport.board.name,
                         advice="check the board's memory and storage, then try again")
    return path, True
