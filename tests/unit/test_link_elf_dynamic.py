"""What a dynamic program needs is read as a loader reads it, and nothing of it is trusted."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.errors import BundleError
from edgecc.link.elf import describe
from edgecc.link.elf_dynamic import Requirement, requirements

BASE = 0x10000
FORMS = pytest.mark.parametrize(("wide", "order"), [(True, "<"), (False, "<"), (True, ">")])
STRINGS = b"\0libc.so.6\0GLIBC_2.17\0GLIBC_2.34\0puts\0start\0weak\0"


def name(text):
    return STRINGS.index(b"\0" + text.encode() + b"\0") + 1


def program(wide=True, order="<", machine=183, flags=0, symbols=4, versions=True, cut=()):
    """Segments only: one that is loaded, one with the dynamic tags, one with the loader's name."""
    word, head, entry = ("Q", 64, 56) if wide else ("I", 52, 32)
    at = head + 3 * entry
    parts, places = b"", {}

    def add(key, data):
        nonlocal parts
        places[key] = at + len(parts)
        parts += data + bytes(-len(data) % 8)

    add("loader", b"/lib/ld.so\0")
    add("symbols", b"".join(symbol(order, wide, *s) for s in (
        (0, 0), (name("puts"), 0), (name("start"), 0), (name("weak"), 7))[:symbols]))
    add("versym", struct.pack(f"{order}4H", 0, 2, 0x8003, 0))
    add("verneed", struct.pack(f"{order}HHIII", 1, 2, name("libc.so.6"), 16, 0)
        + struct.pack(f"{order}IHHII", 0, 0, 2, name("GLIBC_2.17"), 16)
        + struct.pack(f"{order}IHHII", 0, 0, 3, name("GLIBC_2.34"), 0))
    add("strings", STRINGS)
    tags = [(1, name("libc.so.6")), (5, BASE + places["strings"]), (6, BASE + places["symbols"])]
    if versions:
        tags += [(0x6FFFFFF0, BASE + places["versym"]), (0x6FFFFFFE, BASE + places["verneed"]),
                 (0x6FFFFFFF, 1)]
    tags = [tag for tag in tags if tag[0] not in cut]
    add("tags", b"".join(struct.pack(f"{order}2{word}", *tag) for tag in [*tags, (0, 0)]))
    size = at + len(parts)
    tags_size = (16 if wide else 8) * (len(tags) + 1)
    segments = [(1, 0, size), (2, places["tags"], tags_size), (3, places["loader"], 11)]
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    header = ident + struct.pack(f"{order}HHI{word}{word}{word}IHHHHHH", 3, machine, 1, 0, head,
                                 0, flags, head, entry, 3, 0, 0, 0)
    return header + b"".join(segment(order, wide, *s) for s in segments) + parts


def symbol(order, wide, text, section):
    if wide:
        return struct.pack(f"{order}IBBHQQ", text, 0x12, 0, section, 0, 0)
    return struct.pack(f"{order}IIIBBH", text, 0, 0, 0x12, 0, section)


def segment(order, wide, kind, at, size):
    if wide:
        return struct.pack(f"{order}IIQQQQQQ", kind, 4, at, BASE + at, 0, size, size, 8)
    return struct.pack(f"{order}IIIIIIII", kind, at, BASE + at, 0, size, size, 4, 8)


@FORMS
def test_versions_with_the_symbols_that_ask_for_them(wide, order):
    data = program(wide, order)
    assert requirements(data) == (Requirement("libc.so.6", "GLIBC_2.17", ("puts",)),
                                  Requirement("libc.so.6", "GLIBC_2.34", ("start",)))
    elf = describe(data)
    assert (elf.needed, elf.interpreter, elf.static) == (("libc.so.6",), "/lib/ld.so", False)


def test_a_program_without_versions_asks_for_none():
    assert requirements(program(versions=False)) == ()


@pytest.mark.parametrize(("machine", "flags", "floats", "words"), [
    (40, 0x5000400, "hard", "arm of 32 bits with hard float"), (40, 0x5000200, "soft", None),
    (40, 0x5000000, None, "arm of 32 bits"), (243, 5, "double", None), (243, 2, "single", None),
    (243, 0, "soft", None), (243, 6, "quad", None), (183, 0xFFFF, None, "aarch64 of 32 bits")])
def test_how_floats_are_passed(machine, flags, floats, words):
    elf = describe(program(wide=False, machine=machine, flags=flags))
    assert elf.float_abi == floats and words in (None, elf.words)


@pytest.mark.parametrize("tag", [5, 6])
def test_tables_that_lead_nowhere(tag):
    with pytest.raises(BundleError, match=f"dynamic tag {tag:#x} leads nowhere"):
        requirements(program(cut=(tag,)))


def test_dynamic_tags_past_the_end():
    data = bytearray(program())
    struct.pack_into("<Q", data, 64 + 56 + 32, 1 << 40)
    with pytest.raises(BundleError, match="goes past its end"):
        requirements(bytes(data))


@given(st.integers(0, 600), st.binary(min_size=1, max_size=9), st.booleans())
def test_damage_is_found_or_harmless(at, noise, wide):
    data = program(wide)
    data = data[:at] + noise + data[at + len(noise):]
    with contextlib.suppress(BundleError):
        assert isinstance(requirements(data), tuple)
        describe(data)
