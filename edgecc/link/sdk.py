"""Toolchains that other build systems made: Yocto SDKs and Buildroot host folders."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from edgecc.errors import ToolchainError
from edgecc.link import environment
from edgecc.link.chain import named
from edgecc.targets.target import Toolchain

MOST_SCRIPT_BYTES = 1 << 20


def from_yocto(script: Path, inherited: Mapping[str, str]) -> tuple[Toolchain, tuple[str, ...]]:
    """The toolchain of an `environment-setup-...` script, and notes of what was not run.

    CC gives the command, CFLAGS and CPPFLAGS its flags, LDFLAGS those for linking,
    SDKTARGETSYSROOT or OECORE_TARGET_SYSROOT the sysroot; CC is looked for on the script's PATH.
    `inherited` are variables that the script builds on, PATH above all. Nothing is executed.
    Raises ToolchainError.
    """
    values, notes = environment.read(_text(script), str(script), inherited)
    argv = _words(script, values, "CC")
    if not argv:
        raise ToolchainError("sets no CC", where=str(script),
                             advice="give the environment-setup script of an SDK")
    compiler = shutil.which(argv[0], path=values.get("PATH"))
    if compiler is None:
        raise ToolchainError(f"its compiler {argv[0]!r} is not on the PATH that it sets",
                             where=str(script),
                             advice="is the SDK installed where the script says?")
    sysroot = values.get("SDKTARGETSYSROOT") or values.get("OECORE_TARGET_SYSROOT") or None
    if sysroot and not Path(sysroot).is_dir():
        raise ToolchainError(f"its sysroot {sysroot} does not exist", where=str(script))
    return Toolchain(
        named((compiler,)).kind, (compiler, *argv[1:]), "", sysroot,
        (*_words(script, values, "CPPFLAGS"), *_words(script, values, "CFLAGS")),
        _words(script, values, "LDFLAGS"),
    ), notes


def _text(script: Path) -> str:
    try:
        with open(script, encoding="utf-8") as file:
            text = file.read(MOST_SCRIPT_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ToolchainError(f"cannot be read: {error}", where=str(script)) from error
    if len(text) > MOST_SCRIPT_BYTES:
        raise ToolchainError("is no environment script: it is too long", where=str(script),
                             available=f"{MOST_SCRIPT_BYTES:,} B")
    return text


def _words(script: Path, values: Mapping[str, str], name: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(values.get(name, "")))
    except ValueError as error:
        raise ToolchainError(f"{name} cannot be split into words: {error}",
                             where=str(script)) from error


def from_buildroot(host: Path) -> Toolchain:
    """The toolchain in Buildroot's `output/host`: `bin/<tuple>-gcc` and `<tuple>/sysroot`.

    Raises ToolchainError when there is none, or more than one.
    """
    tuples = sorted(path.parent.name for path in host.glob("*/sysroot") if path.is_dir())
    found = [name for name in tuples if (host / "bin" / f"{name}-gcc").is_file()]
    if len(found) != 1:
        raise ToolchainError(
            "is not one Buildroot toolchain", where=str(host),
            needed="one <tuple> with bin/<tuple>-gcc and <tuple>/sysroot",
            available=", ".join(found) or ", ".join(f"{t}/sysroot alone" for t in tuples) or "none",
            advice="give Buildroot's output/host, or the folder of an unpacked SDK",
        )
    compiler = (host / "bin" / f"{found[0]}-gcc").absolute()
    return Toolchain("gcc", (str(compiler),), "", str((host / found[0] / "sysroot").absolute()))
