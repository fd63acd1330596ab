"""What an ELF file says of itself: architecture, kind, symbols. Trusts no length or offset."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from edgecc.errors import BundleError

# e_machine as `uname -m` spells it. Source: System V gABI, registered machine numbers.
MACHINES = {3: "i686", 8: "mips", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv"}
KINDS = {1: "relocatable", 2: "executable", 3: "shared", 4: "core"}
PT_LOAD, PT_INTERP = 1, 3
SHT_SYMTAB, SHT_DYNAMIC, SHT_NOBITS, SHT_DYNSYM = 2, 6, 8, 11
DT_NEEDED, STB_LOCAL, STT_SECTION, STT_FILE = 1, 0, 3, 4


@dataclass(frozen=True)
class ElfInfo:
    """`static`: no interpreter and no other library is needed. Symbols are the global ones; a
    stripped program has none."""

    machine: str
    bits: int
    kind: str
    static: bool
    needed: tuple[str, ...]
    defined_symbols: tuple[str, ...]
    undefined_symbols: tuple[str, ...]


@dataclass(frozen=True)
class _Section:
    name: int
    type: int
    offset: int
    size: int
    link: int


class _Reader:
    """Bounds-checked reads of one file."""

    def __init__(self, data: bytes, where: str):
        self.data, self.where = data, where
        if data[:4] != b"\x7fELF" or len(data) < 52 or data[4] not in (1, 2) or (
                data[5] not in (1, 2)):
            raise BundleError("not an ELF file", where=where)
        self.wide, self.order = data[4] == 2, "<" if data[5] == 1 else ">"

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

    def sections(self) -> list[_Section]:
        at, = self.unpack("Q", 40) if self.wide else self.unpack("I", 32)
        entry, count = self.unpack("HH", 58 if self.wide else 46)
        form = "IIQQQQI" if self.wide else "IIIIIII"
        heads = [self.unpack(form, at + i * entry) for i in range(count if at else 0)]
        return [_Section(head[0], head[1], head[4], head[5], head[6]) for head in heads]

    def segments(self) -> list[tuple[int, int]]:
        """(type, bytes in the file) of every segment."""
        at, = self.unpack("Q", 32) if self.wide else self.unpack("I", 28)
        entry, count = self.unpack("HH", 54 if self.wide else 42)
        form, size = ("IIQQQQ", 5) if self.wide else ("IIIII", 4)
        heads = [self.unpack(form, at + i * entry) for i in range(count)]
        return [(head[0], head[size]) for head in heads]

    def entries(self, section: _Section, size: int) -> Iterator[int]:
        if section.offset + section.size > len(self.data):
            raise BundleError(
                "damaged ELF file: a section goes past its end", where=self.where,
                needed=f"{section.offset + section.size} B", available=f"{len(self.data)} B",
            )
        return iter(range(section.offset, section.offset + section.size - size + 1, size))


def describe(data: bytes, where: str = "ELF file") -> ElfInfo:
    """Reads headers and symbol tables.

    Raises BundleError for anything malformed. Source: System V gABI, chapter Object Files.
    """
    file = _Reader(data, where)
    kind, machine = file.unpack("HH", 16)
    sections = file.sections()
    needed = tuple(_needed(file, sections))
    defined, undefined = _symbols(file, sections)
    name = MACHINES.get(machine, f"machine {machine}")
    return ElfInfo(
        machine=f"riscv{64 if file.wide else 32}" if name == "riscv" else name,
        bits=64 if file.wide else 32,
        kind=KINDS.get(kind, f"kind {kind}"),
        static=PT_INTERP not in [kind for kind, _ in file.segments()] and not needed,
        needed=needed, defined_symbols=defined, undefined_symbols=undefined,
    )


def loaded_bytes(data: bytes, where: str = "ELF file") -> int:
    """Bytes that are loaded from the file: code, constants, initial data and the tables of a
    shared library. Raises BundleError as `describe`."""
    return sum(size for kind, size in _Reader(data, where).segments() if kind == PT_LOAD)


def section_bytes(data: bytes, name: str, where: str = "ELF file") -> list[bytes]:
    """Contents of every section of that name. Raises BundleError as `describe`."""
    file = _Reader(data, where)
    sections = file.sections()
    index, = file.unpack("H", 62 if file.wide else 50)
    if index >= len(sections):
        return []
    names = sections[index].offset
    found = [s for s in sections if s.size and file.text(names + s.name) == name]
    return [bytes(data[s.offset : s.offset + s.size]) for s in found if s.type != SHT_NOBITS]


def _strings(file: _Reader, sections: list[_Section], section: _Section) -> int:
    if section.link >= len(sections):
        raise BundleError("damaged ELF file: no string table", where=file.where)
    return sections[section.link].offset


def _needed(file: _Reader, sections: list[_Section]) -> Iterator[str]:
    for section in (s for s in sections if s.type == SHT_DYNAMIC):
        for at in file.entries(section, 16 if file.wide else 8):
            tag, value = file.unpack("QQ" if file.wide else "II", at)
            if tag == DT_NEEDED:
                yield file.text(_strings(file, sections, section) + value)


def _symbols(file: _Reader, sections: list[_Section]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    defined: set[str] = set()
    undefined: set[str] = set()
    for section in (s for s in sections if s.type in (SHT_SYMTAB, SHT_DYNSYM)):
        strings = _strings(file, sections, section)
        for at in file.entries(section, 24 if file.wide else 16):
            if file.wide:
                name, info, _, index = file.unpack("IBBH", at)
            else:
                name, _, _, info, _, index = file.unpack("IIIBBH", at)
            if info >> 4 != STB_LOCAL and info & 15 not in (STT_SECTION, STT_FILE) and name:
                (defined if index else undefined).add(file.text(strings + name))
    return tuple(sorted(defined)), tuple(sorted(undefined))
