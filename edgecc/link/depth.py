"""How deep the functions of a program go, read from their machine code.

For the compiler's support library (arithmetic that a chip lacks, memcpy), which carries no frame
information: a frame is the sum of everything that its code takes off the stack pointer, and calls
are branches to where another function begins. Thumb and 32-bit RISC-V.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from edgecc.link.elf_symbols import Function, functions

Step = tuple[int, int, int | None]  # bytes taken from the stack, instruction's size, branch target


def deepest(elf: bytes, names: Collection[str], where: str = "ELF file") -> int:
    """Bytes of stack that the deepest chain of calls among the functions `names` takes.

    Calls of others are not followed. Raises BundleError for what is no ELF file of these machines.
    """
    is_thumb, found = functions(elf, where)
    decode = thumb if is_thumb else riscv
    starts = {f.address: f for f in found if f.name in names}
    known: dict[int, int] = {}

    def depth(function: Function, path: tuple[int, ...]) -> int:
        if function.address in path:  # recursion: none of these libraries has any
            return 0
        if function.address not in known:
            taken, calls = _frame(function, decode)
            below = [depth(starts[c], (*path, function.address)) for c in calls if c in starts]
            known[function.address] = taken + max(below, default=0)
        return known[function.address]

    return max((depth(function, ()) for function in starts.values()), default=0)


def _frame(function: Function, decode: Callable[[bytes, int, int], Step]) -> tuple[int, set[int]]:
    taken, calls = 0, set()
    for at in _instructions(function, decode):
        bytes_taken, _, target = decode(function.code, at, function.address + at)
        taken += bytes_taken
        if target is not None and not (
                function.address < target < function.address + len(function.code)):
            calls.add(target)
    return taken, calls


def _instructions(function: Function, decode: Callable[[bytes, int, int], Step]) -> Iterator[int]:
    at = 0
    while at + 2 <= len(function.code):
        if skip := next((end for start, end in function.data if start <= at < end), None):
            at = skip
            continue
        yield at
        at += decode(function.code, at, function.address + at)[1]


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _half(code: bytes, at: int) -> int:
    return int.from_bytes(code[at : at + 2], "little")


def thumb(code: bytes, at: int, address: int) -> Step:
    """Source: Armv7-M Architecture Reference Manual, chapter A5."""
    first = _half(code, at)
    if first >> 11 not in (0b11101, 0b11110, 0b11111):
        return _thumb16(first), 2, _short_branch(first, address)
    second = _half(code, at + 2)
    return _thumb32(first, second), 4, _long_branch(first, second, address)


def _thumb16(first: int) -> int:
    if first & 0xFE00 == 0xB400:  # push
        return 4 * bin(first & 0x1FF).count("1")
    return (first & 0x7F) * 4 if first & 0xFF80 == 0xB080 else 0  # sub sp, #n


def _short_branch(first: int, address: int) -> int | None:
    return address + 4 + 2 * _signed(first & 0x7FF, 11) if first >> 11 == 0b11100 else None


def _thumb32(first: int, second: int) -> int:
    if first == 0xE92D:  # push.w
        return 4 * bin(second).count("1")
    if first == 0xF84D and second & 0xF00 == 0xD00:  # str rt, [sp, #-n]!
        return second & 0xFF
    if first == 0xE96D or first & 0xFFBF == 0xED2D:  # strd rt, rt2, [sp, #-n]! and vpush
        return 4 * (second & 0xFF)
    if first & 0xFBEF == 0xF1AD and second & 0x8F00 == 0x0D00:  # sub.w sp, sp, #n
        return _expanded((first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF)
    if first & 0xFBFF == 0xF2AD and second & 0x8F00 == 0x0D00:  # subw sp, sp, #n
        return (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    return 0


def _expanded(value: int) -> int:
    """A modified immediate constant. Source: the same manual, A5.3.2."""
    low, kind = value & 0xFF, value >> 8 & 3
    if value >> 10 == 0:
        return (low, low << 16 | low, low << 24 | low << 8, low * 0x01010101)[kind]
    turn = value >> 7
    return (0x80 | low & 0x7F) << (32 - turn)


def _long_branch(first: int, second: int, address: int) -> int | None:
    if first >> 11 != 0b11110 or second >> 14 not in (2, 3) or not second >> 12 & 1:
        return None  # bl and b.w alone: the conditional form stays in its function
    sign = first >> 10 & 1
    i1, i2 = (1 ^ (second >> bit & 1) ^ sign for bit in (13, 11))
    offset = (sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1)
    return address + 4 + _signed(offset, 25)


def riscv(code: bytes, at: int, address: int) -> Step:
    """Source: The RISC-V Instruction Set Manual, Volume I, chapters RV32I and C."""
    first = _half(code, at)
    if first & 3 != 3:
        return _compressed(first), 2, _compressed_jump(first, address)
    word = int.from_bytes(code[at : at + 4], "little")
    taken = 0
    if word & 0xFFFFF == 0x10113:  # addi sp, sp, n
        taken = max(0, -_signed(word >> 20, 12))
    target = None
    if word & 0x7F == 0x6F:  # jal
        offset = (word >> 31 << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11
                  | (word >> 21 & 0x3FF) << 1)
        target = address + _signed(offset, 21)
    if word & 0x7F == 0x17:  # auipc, with jalr behind it: a call out of reach of jal
        after = int.from_bytes(code[at + 4 : at + 8], "little")
        if after & 0x707F == 0x67 and after >> 15 & 31 == word >> 7 & 31:
            target = (address + (word & 0xFFFFF000) + _signed(after >> 20, 12)) & 0xFFFFFFFF
    return taken, 4, target


def _compressed(first: int) -> int:
    if first & 0xEF83 == 0x6101:  # c.addi16sp
        value = ((first >> 12 & 1) << 9 | (first >> 3 & 3) << 7 | (first >> 5 & 1) << 6
                 | (first >> 2 & 1) << 5 | (first >> 6 & 1) << 4)
        return max(0, -_signed(value, 10))
    if first & 0xEF83 == 0x0101:  # c.addi sp, n
        return max(0, -_signed((first >> 12 & 1) << 5 | first >> 2 & 31, 6))
    return 0


def _compressed_jump(first: int, address: int) -> int | None:
    if first & 3 != 1 or first >> 13 not in (1, 5):  # c.jal, c.j
        return None
    places = ((12, 11), (11, 4), (10, 9), (9, 8), (8, 10), (7, 6), (6, 7), (5, 3), (4, 2), (3, 1),
              (2, 5))
    offset = sum((first >> source & 1) << target for source, target in places)
    return address + _signed(offset, 12)
