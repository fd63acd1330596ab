"""C's types and constants for those of TIR."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from edgecc.errors import UnsupportedModel
from edgecc.lower import c_text

TYPE = re.compile(r"(bool|int8|int16|int32|int64|uint8|uint16|uint32|uint64|float32)(?:x(\d+))?")
SHORT = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
         "uint16": "u16", "uint32": "u32", "uint64": "u64", "float32": "f32", "bool": "i32"}


@dataclass(frozen=True)
class Kind:
    """An element type and the number of lanes."""

    name: str
    lanes: int = 1

    @property
    def c(self) -> str:
        """The C type of one element. Conditions are ints."""
        if self.name == "float32":
            return "float"
        return "int32_t" if self.name == "bool" else f"{self.name}_t"

    @property
    def short(self) -> str:
        """How helpers for it are called."""
        return SHORT[self.name]

    @property
    def narrow(self) -> bool:
        """Whether C computes in int and the result must be brought back."""
        return self.name in ("int8", "int16", "uint8", "uint16")


def kind(node: Any) -> Kind:
    """The kind of an expression, or of a type. Raises UnsupportedModel for what C99 lacks."""
    text = str(getattr(node, "ty", node)).strip('"')
    found = TYPE.fullmatch(text)
    if found is None:
        raise UnsupportedModel(f"portable C has no type {text}", where="c_source",
                               needed="integers or float32", available=text)
    return Kind(found[1], int(found[2] or 1))


def integer(value: int, of: Kind) -> str:
    """A constant that has the type: no warning, no surprise of promotion."""
    if of.name == "bool":
        return str(int(bool(value)))
    if of.name == "int32":
        return "(-2147483647 - 1)" if value == -(1 << 31) else str(value)
    if of.name == "uint32":
        return f"{value}u"
    return f"({of.c}){value}{'LL' if of.name == 'int64' else ''}{'ULL' * (of.name == 'uint64')}"


def real(value: float) -> str:
    """A float constant; infinities from their bits, since C99 cannot spell them without libm."""
    if math.isfinite(value):
        text = c_text.float32(value)
        return f"({text})" if text.startswith("-") else text
    bits = 0x7FC00000 if math.isnan(value) else 0x7F800000 if value > 0 else 0xFF800000
    return f"edgecc_f32_of_u32({bits:#x}u)"
