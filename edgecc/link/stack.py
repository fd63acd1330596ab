"""Stack bytes of compiled functions, from the call frame information beside their code.

A frame is the largest distance of the canonical frame address from the stack pointer. Where code
addresses its frame otherwise (a realigned stack, alloca) there is no figure, rather than a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from edgecc.link.dwarf import Cursor, Unknown, distance
from edgecc.link.elf import describe, section_bytes

STACK_POINTER = {"x86_64": 7, "i686": 4, "aarch64": 31, "arm": 13, "riscv64": 2, "riscv32": 2}
# what a leaf may use below its stack pointer. Source: System V ABI, AMD64 supplement, 3.2.2
RED_ZONE_BYTES = {"x86_64": 128}
# Operands by opcode: u = ULEB128, s = SLEB128, b = block, digits = bytes, a = an address.
# Source: DWARF 5, section 6.4.2 and table 7.29; 0x2d and 0x2e are AArch64's and GNU's.
OPERANDS = {
    0x00: "", 0x01: "a", 0x02: "1", 0x03: "2", 0x04: "4", 0x05: "uu", 0x06: "u", 0x07: "u",
    0x08: "u", 0x09: "uu", 0x0A: "", 0x0B: "", 0x0C: "uu", 0x0D: "u", 0x0E: "u", 0x0F: "b",
    0x10: "ub",
    0x11: "us", 0x14: "uu", 0x15: "us", 0x16: "ub", 0x2D: "", 0x2E: "u",
}
DEF_CFA, DEF_CFA_REGISTER, DEF_CFA_OFFSET, DEF_CFA_EXPRESSION = 0x0C, 0x0D, 0x0E, 0x0F


def frames(code: bytes, where: str = "object",
           vector_bytes: int | None = None) -> list[int] | None:
    """Stack bytes of each function of a relocatable object, or None where one cannot be told.

    `vector_bytes` is the size of a vector register where the chip decides it (RISC-V). On x86 a
    frame has the return address in it. Raises BundleError for what is no ELF file.
    """
    elf = describe(code, where)
    found: list[int] = []
    address = 8 if elf.bits == 64 else 4
    try:
        for name in (".debug_frame", ".eh_frame"):
            for data in section_bytes(code, name, where):
                pointer = STACK_POINTER.get(elf.machine)
                found += _section_frames(data, name, pointer, address, vector_bytes)
    except Unknown:
        return None
    return found or None


def _section_frames(
    data: bytes, name: str, pointer: int | None, address: int, vector_bytes: int | None = None
) -> Iterator[int]:
    """Frames of the functions that one section describes, each after its common entry."""
    at, common = 0, None
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        record = Cursor(data, at + 4, at + 4 + size)
        at = record.end
        if size == 0:
            continue
        if at > len(data):  # also where the 64-bit form begins
            raise Unknown
        if record.number(4) == (0xFFFFFFFF if name == ".debug_frame" else 0):
            common = _Common.read(record, address, vector_bytes)
        elif common:
            yield common.frame_of(record, pointer)


@dataclass
class _Common:
    """A common information entry: how function entries look, and where their frames begin."""

    augmented: bool
    address: int
    register: int | None
    offset: int
    vector_bytes: int | None = None

    @staticmethod
    def read(record: Cursor, address: int, vector_bytes: int | None) -> _Common:
        version, augmentation = record.number(1), record.text()
        record.at += 2 if version >= 4 else 0
        record.uleb()
        record.uleb()  # signed, of the same length
        record.number(1) if version == 1 else record.uleb()
        size = address
        if augmentation.startswith("z"):
            end = record.uleb() + record.at
            encoding = record.number(1) if augmentation == "zR" else 0x1B
            size = 4 if encoding & 0x0F in (0x03, 0x0B) else address
            record.at = end
        common = _Common(augmentation.startswith("z"), size, None, 0, vector_bytes)
        common.register, common.offset, _ = common.follow(record)
        return common

    def frame_of(self, record: Cursor, pointer: int | None) -> int:
        record.at += 2 * self.address
        if self.augmented:
            record.at += record.uleb()
        _, _, most = self.follow(record, pointer)
        return most

    def follow(self, record: Cursor, pointer: int | None = None) -> tuple[int | None, int, int]:
        """(register, offset, largest offset) after the instructions; every register must be the
        stack pointer where that is given."""
        register, offset, most = self.register, self.offset, self.offset
        while record.at < record.end:
            opcode, values, block = _instruction(record, self.address)
            if opcode == DEF_CFA_EXPRESSION:
                if pointer is None:
                    raise Unknown
                register, offset = pointer, distance(block, pointer, self.vector_bytes)
            if opcode in (DEF_CFA, DEF_CFA_REGISTER):
                register = values[0]
            if opcode in (DEF_CFA, DEF_CFA_OFFSET):
                offset = values[-1]
            if pointer is not None and register != pointer:
                raise Unknown
            most = max(most, offset)
        return register, offset, most


def _instruction(record: Cursor, address: int) -> tuple[int, list[int], bytes]:
    """(opcode, numbers, block)."""
    opcode = record.number(1)
    if opcode >> 6:  # advance, offset, restore: an operand in the opcode itself
        return opcode & 0xC0, [record.uleb()] if opcode >> 6 == 2 else [], b""
    if opcode not in OPERANDS:
        raise Unknown
    kinds = OPERANDS[opcode]
    values = [_operand(record, kind, address) for kind in kinds.replace("b", "")]
    return opcode, values, record.block() if "b" in kinds else b""


def _operand(record: Cursor, kind: str, address: int) -> int:
    if kind in "us":  # no signed value is looked at
        return record.uleb()
    return record.number(address if kind == "a" else int(kind))
