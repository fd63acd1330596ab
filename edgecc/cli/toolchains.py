"""Which C toolchain: flags, over the project file's [toolchain], over the target's own."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgecc.errors import ConfigError


@dataclass(frozen=True)
class Choice:
    """What a user said of the toolchain. At most one of `cc`, `env` and `buildroot_host` is set."""

    cc: tuple[str, ...] | None = None
    env: Path | None = None
    buildroot_host: Path | None = None
    sysroot: str | None = None
    cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    libc: str | None = None

    def check(self, where: str) -> Choice:
        """Raises ConfigError when several compilers are named."""
        ways = {"cc": self.cc, "env": self.env, "buildroot-host": self.buildroot_host}
        given = [name for name, value in ways.items() if value is not None]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)} each name a compiler", where=where,
                              advice="keep one of them")
        return self

    @property
    def names_a_compiler(self) -> bool:
        return (self.cc, self.env, self.buildroot_host) != (None, None, None)

    def over(self, below: Choice) -> Choice:
        """This choice on top of another. A compiler replaces all that was below; without one,
        sysroot and libc replace those below and flags are added."""
        if self.names_a_compiler:
            return self
        return replace(below, sysroot=self.sysroot or below.sysroot, libc=self.libc or below.libc,
                       cflags=below.cflags + self.cflags, ldflags=below.ldflags + self.ldflags)


def add(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--toolchain", metavar="COMMAND", help='compiler driver, e.g. "aarch64-linux-gnu-gcc"')
    add("--toolchain-env", type=Path, metavar="SCRIPT",
        help="a Yocto SDK's environment-setup-... script (read, never run)")
    add("--buildroot-host", type=Path, metavar="DIR", help="Buildroot's output/host")
    add("--sysroot", metavar="DIR", help="the board's headers and libraries")
    add("--cflag", action="append", default=[], metavar="FLAG",
        help="a flag for the compiler (--cflag=-mtune=...); may be repeated")
    add("--ldflag", action="append", default=[], metavar="FLAG",
        help="a flag for linking; may be repeated")
    add("--libc", metavar="LIBC", help="musl, glibc or glibc-2.31: with glibc the runner uses "
        "the board's own (default: static)")


def fields(args: argparse.Namespace, project: Choice) -> dict[str, Any]:
    """CompileConfig's fields; notes go to `args.notes`. Raises ConfigError, ToolchainError."""
    asked = Choice(command(args.toolchain), args.toolchain_env, args.buildroot_host, args.sysroot,
                   tuple(args.cflag), tuple(args.ldflag), args.libc).check("arguments")
    found, args.notes = resolved(builtin(args, asked, project))
    return found


def builtin(args: argparse.Namespace, asked: Choice, project: Choice) -> Choice:
    """`--toolchain zig` is the target's own compiler, whatever the project file names."""
    return asked if args.toolchain == "zig" else asked.over(project)


def resolved(choice: Choice) -> tuple[dict[str, Any], tuple[str, ...]]:
    """CompileConfig's fields, with SDKs looked into, and notes for the user."""
    from edgecc.targets.target import Toolchain

    chain, notes = Toolchain("", ()), tuple[str, ...]()
    if choice.env is not None or choice.buildroot_host is not None:
        from edgecc.link import sdk

        if choice.env is not None:
            here = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
            chain, notes = sdk.from_yocto(choice.env, here)
        else:
            chain = sdk.from_buildroot(Path(choice.buildroot_host or ""))
    return {"toolchain": choice.cc or chain.argv or None,
            "sysroot": choice.sysroot or chain.sysroot, "libc": choice.libc,
            "cflags": chain.flags + choice.cflags,
            "ldflags": chain.link_flags + choice.ldflags}, notes


def command(text: str | None) -> tuple[str, ...] | None:
    """An argv; never given to a shell. None and "zig" are the built-in toolchain."""
    if text is None or text == "zig":
        return None
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"--toolchain {text!r}: {error}") from error
    if not words:
        raise ConfigError("--toolchain is empty", advice="name a compiler, or leave it out")
    return words
