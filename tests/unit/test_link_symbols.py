"""Programs keep what is loaded, and the names of a few functions."""

import struct

import pytest

from edgecc.link.elf import describe
from edgecc.link.symbols import ELF32, ELF64, RISCV_ATTRIBUTES, form_of, keep_symbols

FORMS = pytest.mark.parametrize(("form", "machine"), [(ELF64, 183), (ELF64, 243), (ELF32, 40)])
TEXT = b"\x1f\x20\x03\xd5" * 16


def program(form, machine):
    """A static program with two functions, an object, debug information and a note far behind."""
    strings = b"\0first\0second\0datum\0"
    code_at = form.header.size + 2 * form.segment.size
    symbols = bytes(form.symbol.size) + b"".join(
        symbol(form, *fields) for fields in ((7, 0x12, 1, 0x1020, 32), (1, 2, 1, 0x1000, 32),
                                             (14, 0x11, 1, 0x2000, 8), (1, 0x12, 0, 0, 0)))
    debug = b"debug" * 1000
    at = code_at + len(TEXT)
    sections, body = [bytes(form.section.size), section(form, 1, 0x1000, code_at, len(TEXT))], TEXT
    for kind, data, link, entry in ((1, debug, 0, 0), (2, symbols, 4, form.symbol.size),
                                    (3, strings, 0, 0)):
        sections.append(section(form, kind, 0, at, len(data), link, entry))
        body, at = body + data, at + len(data)
    ident = b"\x7fELF" + bytes([2 if form is ELF64 else 1, 1, 1]) + bytes(9)
    header = form.header.pack(ident, 2, machine, 1, 0x1000, form.header.size, at, 0, 64,
                              form.segment.size, 2, form.section.size, len(sections), 0)
    segments = segment(form, 1, code_at, 64) + segment(form, RISCV_ATTRIBUTES, at - 8, 8)
    return header + segments + body + b"".join(sections)


def symbol(form, *values):
    fields = [0] * 6
    for at, value in zip(form.symbol_fields, values, strict=True):
        fields[at] = value
    return form.symbol.pack(*fields)


def segment(form, kind, offset, size):
    order = (kind, 5, offset, 0x1000, 0x1000, size, size, 4) if form is ELF64 else (
        kind, offset, 0x1000, 0x1000, size, size, 5, 4)
    return form.segment.pack(*order)


def section(form, kind, address, at, size, link=0, entry=0):
    return form.section.pack(0, kind, 0, address, at, size, link, 0, 1, entry)


def symbols_of(form, elf):
    head = form.header.unpack_from(elf)
    table, strings = (form.section.unpack_from(elf, head[6] + form.section.size * i)
                      for i in (2, 3))
    found = []
    for at in range(table[4] + form.symbol.size, table[4] + table[5], form.symbol.size):
        fields = form.symbol.unpack_from(elf, at)
        name, _, _, value, size = (fields[i] for i in form.symbol_fields)
        start = strings[4] + name
        found.append((elf[start : elf.index(b"\0", start)].decode(), value, size))
    return found


@FORMS
def test_wanted_functions_keep_their_names_in_order(form, machine):
    elf = program(form, machine)
    kept = keep_symbols(elf, {"first", "second", "datum", "none"})
    assert symbols_of(form, kept) == [("first", 0x1000, 32), ("second", 0x1020, 32)]
    assert symbols_of(form, keep_symbols(elf, {"second"})) == [("second", 0x1020, 32)]
    assert symbols_of(form, keep_symbols(kept, {"first"})) == [("first", 0x1000, 32)]


@FORMS
def test_loaded_bytes_stay_and_debug_information_goes(form, machine):
    elf = program(form, machine)
    kept = keep_symbols(elf, {"first"})
    at = form.header.size + 2 * form.segment.size
    first = slice(form.header.size, form.header.size + form.segment.size)
    assert kept[at : at + len(TEXT)] == TEXT and kept[first] == elf[first]
    if machine == 243:  # where other machines keep a segment of that number, and what is before
        assert b"debug" not in kept and b"second" not in kept
    info = describe(kept)
    assert info.static and info.defined_symbols == ("first",)


def test_a_note_for_riscv_tools_does_not_keep_what_lies_before_it():
    assert len(keep_symbols(program(ELF64, 243), {"first"})) < 800


@FORMS
def test_a_program_without_symbols_is_no_trouble(form, machine):
    none = keep_symbols(program(form, machine), ())
    assert symbols_of(form, keep_symbols(none, {"first"})) == []


def test_other_forms_are_left_as_they_are():
    big = b"\x7fELF\x01\x02" + bytes(60)
    assert form_of(big) is None and keep_symbols(big, {"first"}) == big
    assert form_of(struct.pack(">4s", b"MZ")) is None
