"""Programs keep what is loaded, and the names of a few functions."""

import struct

from edgecc.link.elf import describe
from edgecc.link.symbols import HEADER, SECTION, SEGMENT, SYMBOL, is_elf64, keep_symbols


def program():
    """A static aarch64 program with two functions, an object and debug information."""
    text = b"\x1f\x20\x03\xd5" * 16
    strings = b"\0first\0second\0datum\0"
    code_at = HEADER.size + SEGMENT.size
    symbols = b"".join([
        bytes(24), SYMBOL.pack(7, 0x12, 0, 1, 0x1020, 32), SYMBOL.pack(1, 2, 0, 1, 0x1000, 32),
        SYMBOL.pack(14, 0x11, 0, 1, 0x2000, 8), SYMBOL.pack(1, 0x12, 0, 0, 0, 0)])
    debug = b"debug" * 1000
    at = code_at + len(text)
    sections, body = [bytes(64), section(1, 0x1000, code_at, len(text))], text
    for kind, data, link, entry in ((1, debug, 0, 0), (2, symbols, 4, 24), (3, strings, 0, 0)):
        sections.append(section(kind, 0, at, len(data), link, entry))
        body, at = body + data, at + len(data)
    header = HEADER.pack(b"\x7fELF\x02\x01\x01" + bytes(9), 2, 183, 1, 0x1000, 64, at, 0, 64, 56,
                         1, 64, len(sections), 0)
    return header + SEGMENT.pack(1, 5, code_at, 0x1000, 0x1000, 64, 64, 4) + body + b"".join(
        sections), text


def section(kind, address, at, size, link=0, entry=0):
    return SECTION.pack(0, kind, 0, address, at, size, link, 0, 1, entry)


def symbols_of(elf):
    head = HEADER.unpack_from(elf)
    table, strings = (SECTION.unpack_from(elf, head[6] + 64 * i) for i in (2, 3))
    found = []
    for at in range(table[4] + 24, table[4] + table[5], 24):
        name, _, _, _, value, size = SYMBOL.unpack_from(elf, at)
        start = strings[4] + name
        found.append((elf[start : elf.index(b"\0", start)].decode(), value, size))
    return found


def test_wanted_functions_keep_their_names_in_order():
    elf, _ = program()
    kept = keep_symbols(elf, {"first", "second", "datum", "none"})
    assert symbols_of(kept) == [("first", 0x1000, 32), ("second", 0x1020, 32)]
    assert symbols_of(keep_symbols(elf, {"second"})) == [("second", 0x1020, 32)]
    assert symbols_of(keep_symbols(kept, {"first"})) == [("first", 0x1000, 32)]


def test_loaded_bytes_stay_and_debug_information_goes():
    elf, text = program()
    kept = keep_symbols(elf, {"first"})
    at = HEADER.size + SEGMENT.size
    assert kept[at : at + len(text)] == text and kept[64:120] == elf[64:120]
    assert b"debug" not in kept and b"second" not in kept and len(kept) < 800
    info = describe(kept)
    assert (info.machine, info.static, info.defined_symbols) == ("aarch64", True, ("first",))


def test_a_program_without_symbols_is_no_trouble():
    elf, _ = program()
    none = keep_symbols(elf, ())
    assert symbols_of(keep_symbols(none, {"first"})) == []


def test_only_64_bit_programs_are_taken():
    assert is_elf64(program()[0])
    assert not is_elf64(b"\x7fELF\x01\x01" + bytes(60))
    assert not is_elf64(struct.pack(">4s", b"MZ"))
