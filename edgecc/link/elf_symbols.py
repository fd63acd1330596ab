"""The symbol table of an ELF file, and what it says of functions and of sections."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from edgecc.errors import BundleError
from edgecc.link.elf_file import ElfFile, Section

SHT_SYMTAB, SHT_DYNSYM = 2, 11
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
ARM = 40
DATA, CODE = "$d", ("$t", "$a", "$x")  # mapping symbols. Source: ELF for the Arm Architecture


@dataclass(frozen=True)
class Symbol:
    """Fields of a symbol."""

    name: str
    value: int
    size: int
    info: int
    section: int

    @property
    def type(self) -> int:
        return self.info & 15

    @property
    def binding(self) -> int:
        return self.info >> 4


@dataclass(frozen=True)
class Function:
    """`code` holds the function; `data` are the ranges in it that are no instructions."""

    name: str
    address: int
    code: bytes
    data: tuple[tuple[int, int], ...] = ()


def symbols_of(
    file: ElfFile, sections: list[Section], tables: Collection[int] = (SHT_SYMTAB,)
) -> Iterator[Symbol]:
    """Symbols of the tables of these types. Raises BundleError as `ElfFile`."""
    for table in (section for section in sections if section.type in tables):
        strings = _strings(file, sections, table)
        for at in file.entries(table.offset, table.size, 24 if file.wide else 16):
            if file.wide:
                name, info, _, place, value, size = file.unpack("IBBHQQ", at)
            else:
                name, value, size, info, _, place = file.unpack("IIIBBH", at)
            yield Symbol(file.text(strings + name) if name else "", value, size, info, place)


def _strings(file: ElfFile, sections: list[Section], section: Section) -> int:
    if section.link >= len(sections):
        raise BundleError("damaged ELF file: no string table", where=file.where)
    return sections[section.link].offset


def symbols_by_section(
    data: bytes, where: str = "ELF file"
) -> dict[str, tuple[int, list[tuple[str, int]]]]:
    """Size of every named section, and (name, size) of the functions and objects in it, each
    address once. Raises BundleError as `describe`."""
    file = ElfFile(data, where)
    sections = file.sections()
    found: dict[int, dict[int, tuple[str, int]]] = {i: {} for i in range(len(sections))}
    for symbol in symbols_of(file, sections):
        if symbol.size and symbol.type in (STT_OBJECT, STT_FUNC) and symbol.section in found:
            found[symbol.section][symbol.value] = (symbol.name, symbol.size)
    return {title: (section.size, sorted(found[i].values()))
            for i, (title, section) in enumerate(zip(_titles(file, sections), sections,
                                                     strict=True)) if title}


def _titles(file: ElfFile, sections: list[Section]) -> list[str]:
    index, = file.unpack("H", 62 if file.wide else 50)
    if not 0 < index < len(sections):
        return [""] * len(sections)
    return [file.text(sections[index].offset + section.name) for section in sections]


def functions(data: bytes, where: str = "ELF file") -> tuple[bool, list[Function]]:
    """Whether the code is Thumb, and every function that has a size.

    Raises BundleError as `ElfFile`.
    """
    file = ElfFile(data, where)
    sections, thumb = file.sections(), file.machine == ARM
    every = list(symbols_of(file, sections))
    marks = sorted((s.section, s.value, s.name[:2] == DATA) for s in every
                   if s.type == STT_NOTYPE and s.name[:2] in (DATA, *CODE))
    found = []
    for symbol in every:
        if symbol.type != STT_FUNC or not symbol.size or not 0 < symbol.section < len(sections):
            continue
        address, section = symbol.value & ~1 if thumb else symbol.value, sections[symbol.section]
        at = section.offset + address - section.address
        data_in = _data_ranges(marks, symbol.section, address, symbol.size)
        found.append(Function(symbol.name, address, bytes(data[at : at + symbol.size]), data_in))
    return thumb, found


def _data_ranges(marks: list[tuple[int, int, bool]], section: int, address: int,
                 size: int) -> tuple[tuple[int, int], ...]:
    """[start, end) in the function where its marks say data."""
    inside = [(value - address, is_data) for place, value, is_data in marks
              if place == section and address <= value < address + size]
    ends = [at for at, _ in inside[1:]] + [size]
    return tuple((at, end) for (at, is_data), end in zip(inside, ends, strict=True) if is_data)
