"""The model as one object: kernels and run function, what every form of a bundle is made of."""

from __future__ import annotations

import re

from edgecc.errors import ToolchainError
from edgecc.link.elf import describe, machine_of
from edgecc.link.toolchain import Driver
from edgecc.lower import parallel
from edgecc.lower.api_facts import Facts
from edgecc.lower.objects import Objects
from edgecc.targets.target import Target

API = ("init_as", "input_info", "output_info", "input", "output", "run", "run_step",
       "set_profile", "step_name", "version", "error")
FROM_LIBC = {"memcpy", "memset"}  # all that a kernel may call
# What compilers call where the chip has no instruction. Sources: Run-time ABI for the Arm
# Architecture, chapter 5; GCC internals, chapter 4 (libgcc)
ARITHMETIC = re.compile(
    r"__aeabi_\w+|__(add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|cmp|unord)[sd]f[23]"
    r"|__u?(div|mod|divmod|mul|cmp|ashl|ashr|lshr|neg)[sd]i[234]|__(clz|ctz|popcount|bswap)[sd]i2"
    r"|__(fix|fixuns|float|floatun)[sd][fi][sd][fi]|__(extend|trunc)[hsd]f[hsd]f2")
BY_THE_LINKER = {"_GLOBAL_OFFSET_TABLE_"}


def check_kernels(objects: Objects, target: Target) -> None:
    """Kernels are for the target's machine and call nothing but each other, memcpy and memset.

    Raises ToolchainError naming the object and what is wrong with it.
    """
    found = {name: describe(code, where=name) for name, code in objects.code.items()}
    known = FROM_LIBC | BY_THE_LINKER | {s for e in found.values() for s in e.defined_symbols}
    machine = machine_of(target.architecture)
    for name, elf in found.items():
        if (elf.machine, elf.kind) != (machine, "relocatable"):
            raise ToolchainError(
                "the object is not for this target", where=name,
                needed=f"relocatable {machine}", available=f"{elf.kind} {elf.machine}",
            )
        missing = sorted(set(elf.undefined_symbols) - known)
        if target.runner == "baremetal":
            missing = [symbol for symbol in missing if not ARITHMETIC.fullmatch(symbol)]
        if missing:
            raise ToolchainError(
                "the kernel calls what a kernel may not", where=name,
                needed=", ".join(missing), available=", ".join(sorted(FROM_LIBC)),
            )


def model_object(
    driver: Driver, facts: Facts, texts: dict[str, str], objects: Objects, target: Target
) -> bytes:
    """Kernels and run function as one object, stripped of debug information and dead code."""
    # numbered: file names are the model's, and could meet one of ours
    parts = {f"kernel_{i}.o": objects.code[k] for i, k in enumerate(sorted(objects.code))}
    parts["run.o"] = source_object(driver, facts, texts, f"{facts.prefix}.c")
    if facts.threads > 1:
        parts["pool.o"] = pool_object(driver, facts, texts, target)
    return driver.relocatable(parts, api(facts))


def pool_object(
    driver: Driver, facts: Facts, texts: dict[str, str], target: Target, *flags: str
) -> bytes:
    # gcc would call libgcc for atomic operations, and the library has none
    inline = ("-mno-outline-atomics",) if target.architecture == "aarch64" else ()
    return source_object(driver, facts, texts, f"{facts.prefix}_pool.c", *inline, *flags)


def source_object(
    driver: Driver, facts: Facts, texts: dict[str, str], source: str, *flags: str
) -> bytes:
    header = f"{facts.prefix}.h"
    files = {header: texts[f"include/{header}"], source: texts[f"src/{source}"]}
    return driver.compile(source, files, *flags)


def api(facts: Facts) -> list[str]:
    """The functions that applications call."""
    names = API + (parallel.API if facts.threads > 1 else ())
    return [f"{facts.prefix}_{name}" for name in names]
