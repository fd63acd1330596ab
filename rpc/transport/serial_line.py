"""Packets of the serial line: the workstation asks, the chip answers, one packet each.

    0xEC 0x1A | kind u8 | number u8 | length u16 | payload (at most 256 bytes) | CRC-32 of the rest

A packet that is lost or damaged is not answered and sent again; a chip answers a repeated number
with its last answer again and does nothing else.
"""

from __future__ import annotations

import struct
import time
import zlib
from dataclasses import dataclass
from typing import Protocol

from edgecc.errors import BoardError
from edgecc.rpc.board import Board

SYNC = b"\xec\x1a"
HEAD = struct.Struct("<BBH")
ROOM = 256
FLUSH = bytes(len(SYNC) + HEAD.size + ROOM + 4)
"""Ends whatever packet a chip believes to be in the middle of."""
RESET, DATA, ASK = b"RDA"
READY, TAKEN, BUSY, SENT, SAID, ENDED, NONE = b"rtbswen"
FIRST_WAIT_S, LONGEST_WAIT_S = 0.25, 2.0


class Port(Protocol):
    """An open serial port."""

    def write(self, data: bytes) -> None:
        """All of `data`, or as much as the other end takes within a second."""

    def read(self) -> bytes:
        """What has arrived, b"" when nothing does within some milliseconds."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Packet:
    """What a packet says."""

    kind: int
    number: int
    payload: bytes


def encode(kind: int, number: int, payload: bytes = b"") -> bytes:
    """The bytes of one packet."""
    body = HEAD.pack(kind, number, len(payload)) + payload
    return SYNC + body + zlib.crc32(body).to_bytes(4, "little")


class Decoder:
    """Packets out of a stream that may hold anything else."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, data: bytes) -> list[Packet]:
        """The whole packets that `data` completes."""
        self._kept += data
        found: list[Packet] = []
        while (at := self._kept.find(SYNC)) >= 0:
            del self._kept[:at]
            end = self._end()
            if end is None:
                return found
            if end and (packet := self._packet(end)):
                found.append(packet)
                del self._kept[:end]
            else:
                del self._kept[:1]
        del self._kept[:-1]
        return found

    def _end(self) -> int | None:
        """Where the packet at the start ends: 0 for no packet, None until more has come."""
        if len(self._kept) < len(SYNC) + HEAD.size:
            return None
        length = HEAD.unpack_from(self._kept, len(SYNC))[2]
        end = len(SYNC) + HEAD.size + length + 4
        if length > ROOM:
            return 0
        return end if len(self._kept) >= end else None

    def _packet(self, end: int) -> Packet | None:
        body = bytes(self._kept[len(SYNC) : end - 4])
        if zlib.crc32(body) != int.from_bytes(self._kept[end - 4 : end], "little"):
            return None
        kind, number, _ = HEAD.unpack_from(body)
        return Packet(kind, number, body[HEAD.size :])


class SerialLine:
    """Asks a chip, again and again until it answers or the time is over."""

    def __init__(self, board: Board, port: Port):
        self._board, self._port = board, port
        self._decoder, self._number = Decoder(), 0

    def ask(self, kind: int, payload: bytes = b"", timeout_s: float | None = None) -> Packet:
        """The answer. Raises BoardError when none comes in time, or the port goes away."""
        timeout_s = self._board.timeout_s if timeout_s is None else timeout_s
        answer = self.answer_to(kind, payload, timeout_s)
        if answer is None:
            raise BoardError(f"did not answer within {timeout_s:.3g} s", where=self._board.name,
                             advice="raise timeout_s of the board if the model is slow")
        return answer

    def answer_to(self, kind: int, payload: bytes, timeout_s: float) -> Packet | None:
        """The answer, or None when none comes in time. Raises BoardError when the port goes."""
        self._number = 0 if kind == RESET else self._number % 255 + 1
        packet = encode(kind, self._number, payload)
        deadline, wait_s, before = time.monotonic() + timeout_s, FIRST_WAIT_S, b""
        while (left := deadline - time.monotonic()) > 0:
            self._port.write(before + packet)
            if answer := self._answer(min(wait_s + self._sending_s(before + packet), left)):
                return answer
            before, wait_s = FLUSH, min(2 * wait_s, LONGEST_WAIT_S)
        return None

    def _sending_s(self, data: bytes) -> float:
        """How long it and the longest answer are on their way: ten bits per byte."""
        return 10 * (len(data) + len(FLUSH)) / (self._board.baud or 115_200)

    def _answer(self, wait_s: float) -> Packet | None:
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            for packet in self._decoder.feed(self._port.read()):
                if packet.number == self._number and (packet.kind == READY) == (not self._number):
                    return packet
        return None

    def close(self) -> None:
        self._port.close()
