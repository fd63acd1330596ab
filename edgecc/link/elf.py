"""What an ELF file says of itself: architecture, kind, symbols. Trusts no length or offset."""

from __future__ import annotations

from dataclasses import dataclass

from edgecc.link.elf_dynamic import interpreter_of, libraries_of
from edgecc.link.elf_file import PT_LOAD, ElfFile, Section
from edgecc.link.elf_symbols import SHT_DYNSYM, SHT_SYMTAB, symbols_of

# Source: System V gABI, registered machine numbers.
MACHINES = {3: "i686", 8: "mips", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv"}
ARCHITECTURES = {"armv7l": "arm"}  # `uname -m`: machine, where they differ
KINDS = {1: "relocatable", 2: "executable", 3: "shared", 4: "core"}
SHT_NOBITS = 8
STB_LOCAL, STT_SECTION, STT_FILE = 0, 3, 4
# Source: ELF for the Arm Architecture, e_flags; RISC-V ELF psABI, e_flags.
ARM_FLOAT = {0x200: "soft", 0x400: "hard"}
RISCV_FLOAT = {0: "soft", 2: "single", 4: "double", 6: "quad"}


@dataclass(frozen=True)
class ElfInfo:
    """`static`: no interpreter and no other library is needed. Symbols are the global ones; a
    stripped program has none. `float_abi`: how floats are passed, where the machine has several
    ways and the file says which: soft, hard (Arm), single, double, quad (RISC-V).
    """

    machine: str
    bits: int
    kind: str
    static: bool
    needed: tuple[str, ...]
    defined_symbols: tuple[str, ...]
    undefined_symbols: tuple[str, ...]
    float_abi: str | None = None
    interpreter: str | None = None

    @property
    def words(self) -> str:
        """Machine, class and float ABI, for people."""
        return f"{self.machine} of {self.bits} bits" + (
            f" with {self.float_abi} float" if self.float_abi else "")


def machine_of(architecture: str) -> str:
    """The ELF machine of an architecture as `uname -m` spells it."""
    if architecture.startswith("thumb"):
        return "arm"
    return ARCHITECTURES.get(architecture, architecture)


def describe(data: bytes, where: str = "ELF file") -> ElfInfo:
    """Reads headers and symbol tables.

    Raises BundleError for anything malformed. Source: System V gABI, chapter Object Files.
    """
    file = ElfFile(data, where)
    needed, interpreter = libraries_of(file), interpreter_of(file)
    defined, undefined = _symbols(file, file.sections())
    name = MACHINES.get(file.machine, f"machine {file.machine}")
    return ElfInfo(
        machine=f"riscv{64 if file.wide else 32}" if name == "riscv" else name,
        bits=64 if file.wide else 32,
        kind=KINDS.get(file.kind, f"kind {file.kind}"),
        static=interpreter is None and not needed,
        needed=needed, defined_symbols=defined, undefined_symbols=undefined,
        float_abi=_float_abi(name, file.flags), interpreter=interpreter,
    )


def _float_abi(machine: str, flags: int) -> str | None:
    if machine == "arm":
        return ARM_FLOAT.get(flags & 0x600)
    return RISCV_FLOAT[flags & 6] if machine == "riscv" else None


def loaded_bytes(data: bytes, where: str = "ELF file") -> int:
    """Bytes that are loaded from the file: code, constants, initial data and the tables of a
    shared library. Raises BundleError as `describe`."""
    return sum(s.size for s in ElfFile(data, where).segments() if s.type == PT_LOAD)


def load_addresses(data: bytes, where: str = "ELF file") -> list[tuple[int, int]]:
    """[start, end) of everything that a program has in memory. Raises BundleError."""
    return [(s.address, s.address + s.memory) for s in ElfFile(data, where).segments()
            if s.type == PT_LOAD]


def section_bytes(data: bytes, name: str, where: str = "ELF file") -> list[bytes]:
    """Contents of every section of that name. Raises BundleError as `describe`."""
    file = ElfFile(data, where)
    sections = file.sections()
    index, = file.unpack("H", 62 if file.wide else 50)
    if index >= len(sections):
        return []
    names = sections[index].offset
    found = [s for s in sections if s.size and file.text(names + s.name) == name]
    return [bytes(data[s.offset : s.offset + s.size]) for s in found if s.type != SHT_NOBITS]


def _symbols(file: ElfFile, sections: list[Section]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    defined: set[str] = set()
    undefined: set[str] = set()
    for symbol in symbols_of(file, sections, (SHT_SYMTAB, SHT_DYNSYM)):
        if symbol.name and symbol.binding != STB_LOCAL and (
                symbol.type not in (STT_SECTION, STT_FILE)):
            (defined if symbol.section else undefined).add(symbol.name)
    return tuple(sorted(defined)), tuple(sorted(undefined))
