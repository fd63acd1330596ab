"""ELF files are read without trusting a single number in them."""

import contextlib
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.errors import BundleError
from edgecc.link.elf import ElfInfo, describe


def small(machine=183, wide=True, order="<", kind=1, name_at=1, link=2) -> bytes:
    """Sections: none, a symbol table (one undefined, one defined), its strings."""
    head, word = (64, "Q") if wide else (52, "I")
    strings, entry, section = b"\0here\0gone\0", 24 if wide else 16, 64 if wide else 40
    symbols = bytes(entry) + _symbol(name_at, 1, wide, order) + _symbol(6, 0, wide, order)
    at = head + len(symbols) + len(strings)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    header = ident + struct.pack(f"{order}HHI{word}{word}{word}IHHHHHH", kind, machine, 1, 0, 0,
                                 at, 0, head, 0, 0, section, 3, 0)
    form = f"{order}II{word}{word}{word}{word}II{word}{word}"
    tables = bytes(section) + struct.pack(form, 0, 2, 0, 0, head, len(symbols), link, 0, 0, entry)
    tables += struct.pack(form, 0, 3, 0, 0, head + len(symbols), len(strings), 0, 0, 0, 0)
    return header + symbols + strings + tables


def _symbol(name: int, index: int, wide: bool, order: str) -> bytes:
    if wide:
        return struct.pack(f"{order}IBBHQQ", name, 0x12, 0, index, 0, 0)
    return struct.pack(f"{order}IIIBBH", name, 0, 0, 0x12, 0, index)


@pytest.mark.parametrize("machine, wide, order, said", [
    (183, True, "<", ("aarch64", 64)), (62, True, "<", ("x86_64", 64)),
    (40, False, "<", ("arm", 32)), (243, False, "<", ("riscv32", 32)),
    (243, True, "<", ("riscv64", 64)), (20, False, ">", ("machine 20", 32)),
])
def test_both_widths_and_both_orders(machine, wide, order, said):
    assert describe(small(machine, wide, order)) == ElfInfo(
        *said, "relocatable", True, (), ("here",), ("gone",),
        "soft" if machine == 243 else None)


def test_this_interpreter():
    elf = describe(Path(sys.executable).resolve().read_bytes())
    assert not elf.static and any(n.startswith("libc.so") for n in elf.needed)


@pytest.mark.parametrize("data", [b"", b"MZ" + bytes(100), b"\x7fELF", b"\x7fELF\3\1" + bytes(60),
                                  b"\x7fELF\2\3" + bytes(60)])
def test_what_is_no_elf(data):
    with pytest.raises(BundleError, match="a.o: not an ELF file"):
        describe(data, where="a.o")


def test_a_cut_file():
    with pytest.raises(BundleError, match="damaged ELF file: a header points to byte"):
        describe(small()[:-40])


def test_a_section_past_the_end():
    data = bytearray(small())
    struct.pack_into("<Q", data, len(data) - 128 + 32, 1 << 40)
    with pytest.raises(BundleError, match="a section goes past its end"):
        describe(bytes(data))


def test_a_name_past_the_end():
    with pytest.raises(BundleError, match="no string at byte"):
        describe(small(name_at=1 << 20))


def test_a_missing_string_table():
    with pytest.raises(BundleError, match="no string table"):
        describe(small(link=9))


@given(st.integers(0, 400), st.binary(min_size=1, max_size=9), st.booleans())
def test_damage_is_found_or_harmless(at, noise, cut):
    data = small()
    data = data[:at] + noise + ((b"") if cut else data[at + len(noise):])
    with contextlib.suppress(BundleError):
        assert isinstance(describe(data), ElfInfo)
