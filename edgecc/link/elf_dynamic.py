"""What a dynamic program asks of the system that loads it: its loader, libraries, and the symbol
versions that it was linked against. Read as the loader reads them, through the program headers:
a stripped runner has no sections that tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from edgecc.errors import BundleError
from edgecc.link.elf_file import PT_DYNAMIC, PT_INTERP, PT_LOAD, ElfFile

# Source: System V gABI, Dynamic Section; LSB Core, Symbol Versioning; the GNU hash table.
DT_NEEDED, DT_STRTAB, DT_SYMTAB = 1, 5, 6
DT_VERSYM, DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
# what else has an address: hash tables, relocations, version definitions, start and end functions
TABLES = {4, DT_STRTAB, 7, 12, 13, 17, 23, 25, 26, 36, 0x6FFFFEF5, DT_VERSYM, 0x6FFFFFFC,
          DT_VERNEED}
VERSION_INDEX = 0x7FFF  # the top bit hides a symbol from the static linker
MOST, LONGEST_CHAIN = 1 << 10, 1 << 8  # far beyond any sane file: libraries, versions of each
MOST_SYMBOLS = 1 << 16


@dataclass(frozen=True)
class Requirement:
    """A version that a library must have, and the symbols that ask for it."""

    library: str
    version: str
    symbols: tuple[str, ...]


def interpreter_of(file: ElfFile) -> str | None:
    """The path of the loader, if the program names one."""
    found = [segment for segment in file.segments() if segment.type == PT_INTERP]
    return file.text(found[0].offset) if found else None


def libraries_of(file: ElfFile) -> tuple[str, ...]:
    """Names of the libraries that the file needs."""
    tags = _dynamic(file)
    names = [value for tag, value in tags if tag == DT_NEEDED]
    return tuple(file.text(_place(file, tags, DT_STRTAB) + name) for name in names)


def requirements(data: bytes, where: str = "ELF file") -> tuple[Requirement, ...]:
    """Every version that a program needs of its libraries (GLIBC_2.34 of libc.so.6 ...).

    Raises BundleError for anything malformed.
    """
    file = ElfFile(data, where)
    tags = _dynamic(file)
    if not any(tag == DT_VERNEED for tag, _ in tags):
        return ()
    asking: dict[int, list[str]] = {}
    for index, symbol in _versioned_symbols(file, tags):
        asking.setdefault(index, []).append(symbol)
    return tuple(Requirement(library, version, tuple(sorted(asking.get(index, ()))))
                 for library, version, index in _needed_versions(file, tags))


def _dynamic(file: ElfFile) -> list[tuple[int, int]]:
    tags: list[tuple[int, int]] = []
    form, size = ("QQ", 16) if file.wide else ("II", 8)
    for segment in (s for s in file.segments() if s.type == PT_DYNAMIC):
        for at in file.entries(segment.offset, segment.size, size):
            tag, value = file.unpack(form, at)
            if tag == 0:
                break
            tags.append((tag, value))
    return tags


def _place(file: ElfFile, tags: list[tuple[int, int]], wanted: int) -> int:
    """Where in the file a table lies whose address the tag `wanted` gives."""
    address = next((value for tag, value in tags if tag == wanted), None)
    for segment in file.segments():
        if segment.type == PT_LOAD and address is not None and (
                segment.address <= address < segment.address + segment.size):
            return segment.offset + address - segment.address
    raise BundleError(f"damaged ELF file: dynamic tag {wanted:#x} leads nowhere", where=file.where)


def _needed_versions(file: ElfFile,
                     tags: list[tuple[int, int]]) -> Iterator[tuple[str, str, int]]:
    """(library, version, index that symbols name it by)."""
    strings, at = _place(file, tags, DT_STRTAB), _place(file, tags, DT_VERNEED)
    count = next((value for tag, value in tags if tag == DT_VERNEEDNUM), 0)
    for _ in range(min(count, MOST)):
        _, _, library, first, following = file.unpack("HHIII", at)
        for name, index in _versions(file, at + first):
            yield file.text(strings + library), file.text(strings + name), index & VERSION_INDEX
        if not following:
            return
        at += following


def _versions(file: ElfFile, at: int) -> list[tuple[int, int]]:
    """(name, index) of one library's versions, a chain that ends at 0."""
    found: list[tuple[int, int]] = []
    while len(found) < LONGEST_CHAIN:
        _, _, index, name, after = file.unpack("IHHII", at)
        found.append((name, index))
        if not after:
            break
        at += after
    return found


def _versioned_symbols(file: ElfFile,
                       tags: list[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """(version index, name) of every undefined symbol."""
    symbols, strings = _place(file, tags, DT_SYMTAB), _place(file, tags, DT_STRTAB)
    versions, size = _place(file, tags, DT_VERSYM), 24 if file.wide else 16
    for number in range(1, _symbol_count(file, tags, size)):
        name, = file.unpack("I", symbols + number * size)
        section, = file.unpack("H", symbols + number * size + (6 if file.wide else 14))
        if not section and name:
            index, = file.unpack("H", versions + 2 * number)
            yield index & VERSION_INDEX, file.text(strings + name)


def _symbol_count(file: ElfFile, tags: list[tuple[int, int]], size: int) -> int:
    """Entries of the symbol table, which nothing tells: it ends where another table begins."""
    start = next((value for tag, value in tags if tag == DT_SYMTAB), 0)
    after = [value for tag, value in tags if tag in TABLES and value > start]
    return min((min(after) - start) // size, MOST_SYMBOLS) if after else 0
