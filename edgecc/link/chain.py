"""Which toolchain a compilation uses: the target's own, changed by what the user chose."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from edgecc.config import CompileConfig
from edgecc.errors import ToolchainError
from edgecc.targets.target import Target, Toolchain

KINDS = ("zig", "gcc", "clang")
OLDEST_GLIBC = "2.31"
"""What `libc="glibc"` means to zig: Debian 11 and Ubuntu 20.04 have it."""
ZIG_TRIPLE = re.compile(r"(?P<machine>[^-]+-linux)-(?P<libc>musl|gnu)(?P<abi>[a-z]*)[.\d]*")


def chosen(target: Target, config: CompileConfig) -> Toolchain:
    """The target's toolchain, or the compiler that the user named, with the user's flags.

    `libc` of the result is empty where it is the compiler's own affair.
    Raises ToolchainError when there is no compiler, or it cannot give the C library asked for.
    """
    base = target.toolchain if config.toolchain is None else _of_the_user(target, config.toolchain)
    if not base.argv or base.kind not in KINDS:
        raise ToolchainError(
            "no C compiler is known", where=target.name,
            advice="name one, for example toolchain=('aarch64-linux-gnu-gcc',)",
        )
    if config.libc is not None:
        base = with_libc(base, config.libc, target.name)
    return replace(base, sysroot=config.sysroot or base.sysroot,
                   flags=(*base.flags, *config.cflags),
                   link_flags=(*base.link_flags, *config.ldflags))


def _of_the_user(target: Target, argv: tuple[str, ...]) -> Toolchain:
    base = named(argv)
    return base if base.kind == "zig" else replace(base, flags=target.toolchain.gnu_flags)


def named(argv: tuple[str, ...]) -> Toolchain:
    """A toolchain of the user's own, from its command."""
    if not argv:
        return Toolchain("none", ())
    kind = kind_of(argv[0])
    return Toolchain(kind, tuple(argv), _zig_libc(argv) if kind == "zig" else "")


def kind_of(tool: str) -> str:
    name = os.path.basename(tool)
    return next((kind for kind in ("zig", "clang") if kind in name), "gcc")


def with_libc(chain: Toolchain, libc: str, where: str) -> Toolchain:
    """The toolchain for another C library: zig has them all, others only their own."""
    if chain.kind != "zig":
        return replace(chain, libc=libc)
    at = _triple_at(chain.argv)
    found = ZIG_TRIPLE.fullmatch(chain.argv[at]) if at else None
    if found is None:
        raise ToolchainError(f"zig cannot be told to use {libc}", where=where,
                             needed="-target <machine>-linux-musl or -gnu",
                             available=" ".join(chain.argv))
    if libc == "glibc":
        libc = f"glibc-{OLDEST_GLIBC}"
    name = "musl" if libc == "musl" else "gnu"
    version = "" if libc == "musl" else libc.replace("glibc-", ".")
    triple = f"{found['machine']}-{name}{found['abi']}{version}"
    return replace(chain, libc=libc, argv=(*chain.argv[:at], triple, *chain.argv[at + 1 :]))


def _triple_at(argv: tuple[str, ...]) -> int:
    """Where zig's triple stands in its command; 0 for nowhere."""
    return argv.index("-target") + 1 if "-target" in argv[:-1] else 0


def _zig_libc(argv: tuple[str, ...]) -> str:
    at = _triple_at(argv)
    found = ZIG_TRIPLE.fullmatch(argv[at]) if at else None
    if found is None:
        return ""
    version = argv[at].rpartition(found["abi"] or found["libc"])[2].lstrip(".")
    return "musl" if found["libc"] == "musl" else f"glibc-{version}" if version else "glibc"
