"""Frames of the runner protocol 1.1: encode, and decode under suspicion (docs/architecture.md)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from edgecc.errors import BoardError

MAGIC = b"ECC1"
HEADER = struct.Struct("<4sBBHI")
VERSION = (1, 1)
MAX_TEXT_BYTES = 1 << 20
"""Largest JSON or error text accepted from a board."""


class Type(IntEnum):
    """What a frame asks for, or answers."""

    HELLO = 1
    SET_INPUT = 2
    RUN = 3
    RUN_UNTIMED = 4
    GET_OUTPUT = 5
    PROFILE = 6
    STATUS = 7
    PIN = 8
    QUIT = 9


@dataclass(frozen=True)
class Frame:
    """One answer of the runner."""

    type: int
    status: int
    payload: bytes


def encode(type: Type, payload: bytes = b"", status: int = 0) -> bytes:
    """The bytes of one frame."""
    return HEADER.pack(MAGIC, type, status, 0, len(payload)) + payload


def encode_pin(cpus: Sequence[int]) -> bytes:
    """PIN: the cores of the threads, in their order."""
    return encode(Type.PIN, struct.pack(f"<{len(cpus)}I", *cpus))


def encode_u32(type: Type, value: int, rest: bytes = b"") -> bytes:
    """A frame whose payload starts with a u32: an index or a count."""
    return encode(type, struct.pack("<I", value) + rest)


def read_frame(read_exactly: Callable[[int], bytes], limit_bytes: int, where: str) -> Frame:
    """Reads one frame. `limit_bytes` bounds the payload of a success; errors are text.

    Raises BoardError for bytes that are no frame, and for a payload beyond the limit, before
    any of the payload is read.
    """
    head = read_exactly(HEADER.size)
    magic, type_, status, reserved, length = HEADER.unpack(head)
    if magic != MAGIC or reserved:
        raise BoardError(
            f"answered {head!r}, which is no frame of the runner protocol", where=where,
            advice="check that nothing on the board prints at login, and pack the bundle anew",
        )
    limit = limit_bytes if status == 0 else MAX_TEXT_BYTES
    if length > limit:
        raise BoardError("announces a frame larger than its question allows", where=where,
                         needed=f"{length:,} B", available=f"{limit:,} B")
    return Frame(type_, status, read_exactly(length))


def unpack_u64(payload: bytes, count: int, where: str) -> list[int]:
    """`count` little-endian u64. Raises BoardError when the payload is of another length."""
    if len(payload) != 8 * count:
        raise BoardError("answered another number of figures than asked", where=where,
                         needed=f"{8 * count:,} B", available=f"{len(payload):,} B")
    return list(struct.unpack(f"<{count}Q", payload))
