"""A small symbol table for a program: what is loaded stays byte for byte, debug information goes,
and the few functions that profilers and instruction counters ask for keep their names.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
PROGBITS, SYMTAB, STRTAB, FUNCTION, GLOBAL_FUNCTION = 1, 2, 3, 2, 0x12
NAMES = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"


def is_elf64(elf: bytes) -> bool:
    """Whether `keep_symbols` understands a file: 64 bits, little-endian."""
    return elf[:6] == b"\x7fELF\x02\x01"


def keep_symbols(elf: bytes, names: Collection[str]) -> bytes:
    """The program with nothing but its loaded bytes and the functions `names` as symbols.

    Source: System V gABI, chapter Object Files.
    """
    header = list(HEADER.unpack_from(elf))
    end = max((at + size for at, size in _segments(elf, header)), default=HEADER.size)
    body = elf[: max(end, header[5] + header[9] * header[10])]
    body += bytes(-len(body) % 8)
    symbols, strings = _tables(elf, header, names)
    text = _text_section(elf, header)
    heads = [bytes(SECTION.size), text]
    at = len(body)
    for name, kind, data, link, info, entry in (
        (7, SYMTAB, symbols, 3, 1, SYMBOL.size), (15, STRTAB, strings, 0, 0, 0),
        (23, STRTAB, NAMES, 0, 0, 0),
    ):
        heads.append(SECTION.pack(name, kind, 0, 0, at, len(data), link, info, 8, entry))
        at += len(data)
    body += symbols + strings + NAMES
    body += bytes(-len(body) % 8)
    header[6], header[11], header[12], header[13] = len(body), SECTION.size, len(heads), 4
    return HEADER.pack(*header) + body[HEADER.size :] + b"".join(heads)


def _segments(elf: bytes, header: list) -> list[tuple[int, int]]:
    """(offset, bytes in the file) of every segment."""
    found = [SEGMENT.unpack_from(elf, header[5] + i * header[9]) for i in range(header[10])]
    return [(segment[2], segment[5]) for segment in found]


def _sections(elf: bytes, header: list) -> list[tuple]:
    return [SECTION.unpack_from(elf, header[6] + i * header[11]) for i in range(header[12])]


def _text_section(elf: bytes, header: list) -> bytes:
    """The header of the section that the program starts in."""
    for section in _sections(elf, header):
        if section[1] == PROGBITS and section[3] <= header[4] < section[3] + section[5]:
            return SECTION.pack(1, *section[1:])
    return SECTION.pack(1, PROGBITS, *([0] * 8))


def _tables(elf: bytes, header: list, names: Collection[str]) -> tuple[bytes, bytes]:
    """Symbol and string table of the wanted functions, in the order of their addresses."""
    found: list[tuple[int, int, bytes]] = []
    sections = _sections(elf, header)
    for table in (section for section in sections if section[1] == SYMTAB):
        strings = sections[table[6]][4]
        for at in range(table[4], table[4] + table[5], SYMBOL.size):
            name_at, info, _, where, value, size = SYMBOL.unpack_from(elf, at)
            name = elf[strings + name_at : elf.index(b"\0", strings + name_at)]
            if info & 15 == FUNCTION and where and name.decode("utf-8", "replace") in names:
                found.append((value, size, name))
    symbols, text = bytes(SYMBOL.size), b"\0"
    for value, size, name in sorted(set(found)):
        symbols += SYMBOL.pack(len(text), GLOBAL_FUNCTION, 0, 1, value, size)
        text += name + b"\0"
    return symbols, text
