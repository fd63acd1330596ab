"""Reading DWARF: numbers of variable length, and the expressions that tell where a frame begins."""

from __future__ import annotations

from dataclasses import dataclass

# Source: DWARF 5, section 7.7.1; RISC-V DWARF specification: registers 4096 and up are CSRs
PLUS, MUL, PLUS_CONSTANT, CONSTU, CONSTS = 0x22, 0x1E, 0x23, 0x10, 0x11
LIT0, BREG0, BREGX = 0x30, 0x70, 0x92
VLENB = 4096 + 0xC22


class Unknown(Exception):
    """Cannot be told from this information."""


@dataclass
class Cursor:
    """Bytes that are read from `at` up to `end`. Raises Unknown past them."""

    data: bytes
    at: int
    end: int

    def number(self, size: int) -> int:
        if self.at + size > self.end:
            raise Unknown
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def uleb(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def block(self) -> bytes:
        """Bytes with their number in front."""
        size = self.uleb()
        if self.at + size > self.end:
            raise Unknown
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        found = bytearray()
        while byte := self.number(1):
            found.append(byte)
        return found.decode("latin-1")


def distance(expression: bytes, pointer: int, vector_bytes: int | None) -> int:
    """What a frame's expression adds to the stack pointer, register `pointer`: numbers, and
    multiples of the vector registers' size on RISC-V. Raises Unknown for any other."""
    code, stack, pointers = Cursor(expression, 0, len(expression)), list[int](), 0
    while code.at < code.end:
        op = code.number(1)
        if op in (PLUS, MUL):
            if len(stack) < 2:
                raise Unknown
            right, left = stack.pop(), stack.pop()
            stack.append(left + right if op == PLUS else left * right)
        elif op == BREG0 + pointer:
            pointers += 1
            stack.append(code.sleb())
        else:
            stack.append(_operand(op, code, stack, vector_bytes))
    if pointers != 1 or len(stack) != 1:
        raise Unknown
    return stack[0]


def _operand(op: int, code: Cursor, stack: list[int], vector_bytes: int | None) -> int:
    if op == CONSTU:
        return code.uleb()
    if op == CONSTS:
        return code.sleb()
    if LIT0 <= op < LIT0 + 32:
        return op - LIT0
    if op == PLUS_CONSTANT and stack:
        return stack.pop() + code.uleb()
    if op == BREGX and code.uleb() == VLENB and vector_bytes:
        return vector_bytes + code.sleb()
    raise Unknown
