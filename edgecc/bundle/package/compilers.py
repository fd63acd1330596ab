"""How a package's README and build files call compilers for the bundle's target."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgecc.bundle.package.contents import is_bare
from edgecc.errors import TargetError
from edgecc.rpc.board import MACHINE
from edgecc.targets import get_target


@dataclass(frozen=True)
class Compilers:
    """`cc` is the usual compiler for the target with `flags` and, when linking, `libraries`; `zig`
    the same in one command. `emulator` runs a program, with its path to follow; empty without
    one."""

    cc: str
    flags: tuple[str, ...]
    zig: str
    emulator: str
    libraries: tuple[str, ...] = ()


def compilers(manifest: Mapping[str, Any]) -> Compilers:
    """For the bundle's target, or for this machine where the target is not known here."""
    try:
        target = get_target(manifest["target"])
    except TargetError:
        return Compilers("cc", (), "zig cc", "")
    zig = shlex.join(target.toolchain.argv) if target.toolchain.kind == "zig" else "zig cc"
    if not is_bare(manifest):
        return Compilers("cc", (), zig, shlex.join(target.emulator))
    arm = target.architecture.startswith("thumb")
    cc = "arm-none-eabi-gcc" if arm else "riscv64-unknown-elf-gcc"
    emulator = shlex.join([*target.emulator, *MACHINE]) if target.emulator else ""
    libraries = () if arm else ("-nodefaultlibs", "-lgcc")
    return Compilers(cc, target.toolchain.gnu_flags, zig, emulator, libraries)
