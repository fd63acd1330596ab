"""LLVM's assembly of one kernel as GNU assemblers read it: code and constants, nothing else.

Debug and unwinding information, attributes and TVM's conversion functions are left out: the
assembler learns the CPU from its command line, as the C compiler does.
"""

from __future__ import annotations

import re
from typing import Any

from edgecc.targets import Target

DROPPED = (".file", ".loc", ".cfi_", ".eabi_attribute", ".cpu", ".fpu", ".arch", ".attribute",
           ".save", ".vsave", ".pad", ".setfp", ".fnstart", ".fnend", ".cantunwind", ".ident",
           ".addrsig", ".syntax", ".option")
KEPT_SECTIONS = (".text", ".rodata")
PREDICATE = re.compile(r"^(\s+v(?:ldr|str)\s+)p0,")  # GNU's assembler wants it upper-case
CONVERSIONS = ".text.tvm"  # of half floats, in every module


def gnu_source(func: Any, target: Target) -> str:
    """Assembly text of a PrimFunc of the kernel C ABI, in a section of its own."""
    from edgecc.lower.compile import assembly

    return cleaned(assembly(func, target), str(func.attrs["global_symbol"]),
                   target.architecture.startswith("thumb"))


def cleaned(text: str, symbol: str, thumb: bool) -> str:
    """The kept lines of LLVM's text. A line's section is that of the directive before it."""
    progbits = "%progbits" if thumb else "@progbits"
    own = f'\t.section\t.text.{symbol},"ax",{progbits}'
    lines, kept = ["\t.syntax\tunified"] if thumb else [], True
    for line in text.splitlines():
        word = line.split(None, 1)[0] if line.strip() else ""
        if word in (".text", ".section"):
            name = line.split()[1].split(",")[0].strip('"') if word == ".section" else word
            kept = name.startswith(KEPT_SECTIONS) and not name.startswith(CONVERSIONS)
            if kept:
                lines.append(own if name == ".text" else line)
        elif kept and word and not word.startswith(DROPPED):
            lines.append(PREDICATE.sub(r"\1P0,", line))
    return "\n".join([*lines, ""])
