"""A small symbol table for a program: what is loaded stays byte for byte, debug information goes,
and the few functions that profilers and instruction counters ask for keep their names.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass

PROGBITS, SYMTAB, STRTAB, FUNCTION, GLOBAL_FUNCTION = 1, 2, 3, 2, 0x12
RISCV, RISCV_ATTRIBUTES = 243, 0x70000003  # a note for tools, far behind what is loaded
NAMES = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"


@dataclass(frozen=True)
class Form:
    """The tables of one ELF class. `symbol_fields`: where name, info, section, value and size
    stand in a symbol; `segment_at` and `segment_size`: offset and bytes in a segment."""

    header: struct.Struct
    segment: struct.Struct
    section: struct.Struct
    symbol: struct.Struct
    symbol_fields: tuple[int, ...]
    segment_at: int
    segment_size: int

    def pack_symbol(self, name: int, value: int, size: int) -> bytes:
        """A global function of the first section."""
        fields = [0] * 6
        values = (name, GLOBAL_FUNCTION, 1, value, size)
        for at, number in zip(self.symbol_fields, values, strict=True):
            fields[at] = number
        return self.symbol.pack(*fields)


# Source: System V gABI, chapter Object Files: classes of 64 and of 32 bits
ELF64 = Form(struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ"),
             struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), (0, 1, 3, 4, 5), 2, 5)
ELF32 = Form(struct.Struct("<16sHHIIIIIHHHHHH"), struct.Struct("<IIIIIIII"),
             struct.Struct("<IIIIIIIIII"), struct.Struct("<IIIBBH"), (0, 3, 5, 1, 2), 1, 4)


def form_of(elf: bytes) -> Form | None:
    """The tables that `keep_symbols` finds in a file; None for what it does not understand."""
    return {b"\x7fELF\x02\x01": ELF64, b"\x7fELF\x01\x01": ELF32}.get(bytes(elf[:6]))


def keep_symbols(elf: bytes, names: Collection[str]) -> bytes:
    """The program with nothing but its loaded bytes and the functions `names` as symbols.

    A file of another form than `form_of` knows is returned as it is.
    """
    form = form_of(elf)
    return elf if form is None else _kept(form, elf, names)


def _kept(form: Form, elf: bytes, names: Collection[str]) -> bytes:
    header = list(form.header.unpack_from(elf))
    body = _loaded(form, elf, header)
    symbols, strings = _tables(form, elf, header, names)
    heads = [bytes(form.section.size), _text_section(form, elf, header)]
    at = len(body)
    for name, kind, data, link, info, entry in (
        (7, SYMTAB, symbols, 3, 1, form.symbol.size), (15, STRTAB, strings, 0, 0, 0),
        (23, STRTAB, NAMES, 0, 0, 0),
    ):
        heads.append(form.section.pack(name, kind, 0, 0, at, len(data), link, info, 8, entry))
        at += len(data)
    body += symbols + strings + NAMES
    body += bytes(-len(body) % 8)
    header[6], header[11], header[12], header[13] = len(body), form.section.size, len(heads), 4
    return form.header.pack(*header) + body[form.header.size :] + b"".join(heads)


def _loaded(form: Form, elf: bytes, header: list) -> bytes:
    """The file up to the end of its last segment, a note for tools not counted."""
    body, end = bytearray(elf), header[5] + header[9] * header[10]
    for at in range(header[5], end, header[9] or 1):
        segment = form.segment.unpack_from(elf, at)
        if (header[2], segment[0]) == (RISCV, RISCV_ATTRIBUTES):
            body[at : at + form.segment.size] = bytes(form.segment.size)  # PT_NULL
        else:
            end = max(end, segment[form.segment_at] + segment[form.segment_size])
    return bytes(body[:end]) + bytes(-end % 8)


def _sections(form: Form, elf: bytes, header: list) -> list[tuple]:
    return [form.section.unpack_from(elf, header[6] + i * header[11]) for i in range(header[12])]


def _text_section(form: Form, elf: bytes, header: list) -> bytes:
    """The header of the section that the program starts in."""
    start = header[4] & ~1 if form is ELF32 else header[4]  # Thumb code has odd addresses
    for section in _sections(form, elf, header):
        if section[1] == PROGBITS and section[3] <= start < section[3] + section[5]:
            return form.section.pack(1, *section[1:])
    return form.section.pack(1, PROGBITS, *([0] * 8))


def _tables(form: Form, elf: bytes, header: list, names: Collection[str]) -> tuple[bytes, bytes]:
    """Symbol and string table of the wanted functions, in the order of their addresses."""
    found: list[tuple[int, int, bytes]] = []
    sections = _sections(form, elf, header)
    for table in (section for section in sections if section[1] == SYMTAB):
        strings = sections[table[6]][4]
        for at in range(table[4], table[4] + table[5], form.symbol.size):
            symbol = form.symbol.unpack_from(elf, at)
            name_at, info, where, value, size = (symbol[i] for i in form.symbol_fields)
            name = elf[strings + name_at : elf.index(b"\0", strings + name_at)]
            if info & 15 == FUNCTION and where and name.decode("utf-8", "replace") in names:
                found.append((value, size, name))
    symbols, text = bytes(form.symbol.size), b"\0"
    for value, size, name in sorted(set(found)):
        symbols += form.pack_symbol(len(text), value, size)
        text += name + b"\0"
    return symbols, text
