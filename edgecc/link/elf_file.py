"""Bounds-checked reads of one ELF file: headers, sections, segments and strings."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from edgecc.errors import BundleError

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3


@dataclass(frozen=True)
class Section:
    """Fields of a section header."""

    name: int
    type: int
    offset: int
    size: int
    link: int
    address: int = 0


@dataclass(frozen=True)
class Segment:
    """`size` is what the file holds of it, `memory` what it takes when loaded."""

    type: int
    offset: int
    address: int
    size: int
    memory: int


class ElfFile:
    """Raises BundleError for anything malformed. Source: System V gABI, chapter Object Files."""

    def __init__(self, data: bytes, where: str):
        self.data, self.where = data, where
        if data[:4] != b"\x7fELF" or len(data) < 52 or data[4] not in (1, 2) or (
                data[5] not in (1, 2)):
            raise BundleError("not an ELF file", where=where)
        self.wide, self.order = data[4] == 2, "<" if data[5] == 1 else ">"
        self.kind, self.machine = self.unpack("HH", 16)
        self.flags, = self.unpack("I", 48 if self.wide else 36)

    def unpack(self, form: str, at: int) -> tuple:
        try:
            return struct.unpack_from(self.order + form, self.data, at)
        except (struct.error, OverflowError) as error:
            raise BundleError(
                f"damaged ELF file: a header points to byte {at}", where=self.where,
                available=f"{len(self.data)} B",
            ) from error

    def text(self, at: int) -> str:
        end = self.data.find(b"\0", at)
        if at >= len(self.data) or end < 0:
            raise BundleError(f"damaged ELF file: no string at byte {at}", where=self.where)
        return self.data[at:end].decode("utf-8", "replace")

    def sections(self) -> list[Section]:
        at, = self.unpack("Q", 40) if self.wide else self.unpack("I", 32)
        entry, count = self.unpack("HH", 58 if self.wide else 46)
        form = "IIQQQQI" if self.wide else "IIIIIII"
        heads = [self.unpack(form, at + i * entry) for i in range(count if at else 0)]
        return [Section(head[0], head[1], head[4], head[5], head[6], head[3]) for head in heads]

    def segments(self) -> list[Segment]:
        at, = self.unpack("Q", 32) if self.wide else self.unpack("I", 28)
        entry, count = self.unpack("HH", 54 if self.wide else 42)
        # type, (flags), offset, address, physical address, bytes in the file, in memory
        form, fields = (("IIQQQQQ", (0, 2, 3, 5, 6)) if self.wide
                        else ("IIIIII", (0, 1, 2, 4, 5)))
        heads = [self.unpack(form, at + i * entry) for i in range(count)]
        return [Segment(*(head[field] for field in fields)) for head in heads]

    def entries(self, offset: int, size: int, entry: int) -> Iterator[int]:
        """Where each entry of a table begins, the whole table being in the file."""
        if offset + size > len(self.data):
            raise BundleError(
                "damaged ELF file: a section goes past its end", where=self.where,
                needed=f"{offset + size} B", available=f"{len(self.data)} B",
            )
        return iter(range(offset, offset + size - entry + 1, entry))
