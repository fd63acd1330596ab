"""Driver: a C compiler as four verbs from bytes to bytes, cached by content.

Every tool runs in a folder of its own with relative file names, so no path reaches its output:
identical inputs give identical bytes wherever they are built.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ToolchainError
from edgecc.levels import LEVELS
from edgecc.link.chain import chosen
from edgecc.link.process import run_tool
from edgecc.link.symbols import form_of, keep_symbols
from edgecc.targets.target import Target, Toolchain

FREESTANDING = ("-std=c99", "-O2", "-g0", "-ffp-contract=off", "-ffunction-sections",
                "-fdata-sections", "-fno-stack-protector", "-fomit-frame-pointer",
                "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-U_FORTIFY_SOURCE",
                "-ffreestanding")
COMPILE = (*FREESTANDING[:-1], "-fPIC")
# zig builds libc the way the link asks for: without -O2 it is a debug build of 200 KB
LINK = ("-O2", "-s", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,noexecstack")
# lld takes --strip-debug for programs only
DISCARD = "SECTIONS {{ /DISCARD/ : {{ *(.debug_*) *(.comment){more} }} }}\n"
# nobody unwinds on a bare chip, or asks whether its stack may be executed
UNWINDING = " *(.ARM.exidx*) *(.ARM.extab*) *(.eh_frame*) *(.note.GNU-stack)"
# what a libc's own headers say of it
C_LIBRARY = "#include <features.h>\nedgecc __GLIBC__ __GLIBC_MINOR__\n"
LIBC_FILES = ("lib*/libc.*", "lib*/*/libc.*", "usr/lib*/libc.*", "usr/lib*/*/libc.*")
SHARED = ("-shared", "-nostdlib", "-Wl,-z,now", "-Wl,--version-script=exports.map")


@dataclass(frozen=True)
class Driver:
    """`argv` is the compiler with its fixed flags; `identity` changes when the tool does.

    `link_flags` are for programs and libraries. `bare`: for a chip without an operating system.
    `dynamic`: programs use the libc of the board. `small`: as little code as may be.
    """

    kind: str
    argv: tuple[str, ...]
    identity: str
    where: str
    cache_dir: Path
    link_flags: tuple[str, ...] = ()
    dynamic: bool = False
    bare: bool = False
    small: bool = False

    def compile(self, source: str, files: Mapping[str, str], *more: str) -> bytes:
        """Object code of `files[source]`; the other files are its headers, `more` are flags."""
        raw = {name: text.encode() for name, text in files.items()}
        flags = (*(FREESTANDING if self.bare else COMPILE), *(("-Os",) if self.small else ()),
                 *more)
        return self.make(raw, [*self.argv, *flags, "-I.", "-c", source, "-o", "made"])

    def relocatable(self, objects: Mapping[str, bytes], roots: Sequence[str]) -> bytes:
        """One object of all, without debug information and what no root reaches."""
        names = sorted(objects)
        wanted = [("-u", root) for root in sorted(roots)]
        if self.kind == "zig":
            argv = [*self.argv[: self.argv.index("cc")], "ld.lld", "-r", "-T", "discard.ld",
                    "--gc-sections", *(word for pair in wanted for word in pair)]
        else:
            # a chip's own specs may bring a script for programs, unless another one is named
            script = ["-T", "discard.ld"] if self.bare else []
            argv = [*self.argv, "-r", "-nostdlib", *script, "-Wl,--strip-debug",
                    "-Wl,--gc-sections", "-Wl,--build-id=none",
                    *(f"-Wl,-u,{root}" for _, root in wanted)]
        discard = DISCARD.format(more=UNWINDING if self.bare else "")
        files = {**objects, "discard.ld": discard.encode()}
        return self.make(files, [*argv, *names, "-o", "made"])

    def shared(self, objects: Mapping[str, bytes], exports: Sequence[str], soname: str) -> bytes:
        """A library that exports `exports` alone and is tied to no libc."""
        script = "{ global: " + "".join(f"{e}; " for e in sorted(exports)) + "local: *; };\n"
        files = {**objects, "exports.map": script.encode()}
        argv = [*self.argv, *self.link_flags, *LINK, *SHARED, f"-Wl,-soname,{soname}"]
        return self.make(files, [*argv, *sorted(objects), "-o", "made"])

    def executable(self, objects: Mapping[str, bytes], symbols: Collection[str] = (),
                   threads: bool = False) -> bytes:
        """A program that keeps no names but the functions `symbols`: static unless `dynamic`."""
        with_threads = ["-pthread"] if threads else []
        argv = [*self.argv, *self.link_flags, *LINK, *self._static(), *with_threads,
                *sorted(objects), "-o", "made"]
        named = self.make(objects, [word for word in argv if word != "-s"])
        return keep_symbols(named, symbols) if form_of(named) else self.make(objects, argv)

    def _static(self) -> tuple[str, ...]:
        return () if self.dynamic else ("-static",)

    def glibc(self) -> tuple[int, int] | None:
        """The version of the glibc whose headers the compiler uses; None for another libc."""
        argv = [*self.argv, "-E", "-P", "libc.c", "-o", "made"]
        said = self.make({"libc.c": C_LIBRARY.encode()}, argv).decode(errors="replace")
        found = re.search(r"edgecc (\d+) (\d+)", said)
        return (int(found[1]), int(found[2])) if found else None

    def make(self, files: Mapping[str, bytes], argv: list[str]) -> bytes:
        """What a tool writes to `made` in a folder of `files`, from the cache if it has done so."""
        kept = self.cache_dir / "made" / self._key(files, argv)
        try:
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                self._make_in_folder(files, argv, kept)
            return kept.read_bytes()
        except OSError as error:
            raise ToolchainError(
                f"cannot build in {self.cache_dir}: {error.strerror}", where=self.where,
                advice="choose another cache folder, or make room",
            ) from error

    def _make_in_folder(self, files: Mapping[str, bytes], argv: list[str], kept: Path) -> None:
        with tempfile.TemporaryDirectory(dir=self.cache_dir, prefix="build-") as folder:
            for name, data in files.items():
                (Path(folder) / name).write_bytes(data)
            run_tool(argv, cwd=Path(folder), environment=self.environment(), where=self.where)
            os.replace(Path(folder) / "made", kept)  # whole or not at all

    def _key(self, files: Mapping[str, bytes], argv: list[str]) -> str:
        digest = hashlib.sha256("\0".join([self.identity, *argv]).encode())
        for name in sorted(files):
            digest.update(f"\0{name}\0{len(files[name])}\0".encode() + files[name])
        return digest.hexdigest()

    def environment(self) -> dict[str, str]:
        """Nothing that could change the output: no CPATH, no LIBRARY_PATH, no language."""
        zig = str(self.cache_dir / "zig")
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.cache_dir),
                "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0",
                "ZIG_GLOBAL_CACHE_DIR": zig, "ZIG_LOCAL_CACHE_DIR": zig}


def driver_for(target: Target, config: CompileConfig, context: Context) -> Driver:
    """The compiler that the user named, or the target's own.

    Programs are static where they can be: zig's with musl, others' unless glibc is asked for or
    the toolchain has no static libc. Raises ToolchainError when the compiler is not installed,
    has another libc than was asked for, or the target has none.
    """
    chain = chosen(target, config)
    find = _zig if chain.kind == "zig" else _system
    argv, identity = find(chain.argv, target)
    sysroot = (f"--sysroot={chain.sysroot}",) if chain.sysroot else ()
    driver = Driver(chain.kind, (*argv, *sysroot, *chain.flags),
                    identity + _fingerprint(chain.sysroot), target.name,
                    Path(context.cache_dir).absolute(), chain.link_flags,
                    bare=target.runner == "baremetal",
                    small=LEVELS[config.optimization].small)
    if chain.kind != "zig":
        check_libc(driver, chain.libc)
    return replace(driver, dynamic=_is_dynamic(driver, chain))


def check_libc(driver: Driver, libc: str) -> None:
    """Raises ToolchainError when a compiler has another libc than `libc` (empty: any)."""
    if not libc:
        return
    found = driver.glibc()
    version = tuple(map(int, libc.partition("-")[2].split("."))) if "-" in libc else None
    if (found is None) != (libc == "musl") or (version and found and found > version):
        raise ToolchainError(
            "the compiler has another C library than was asked for", where=driver.where,
            needed=libc, available="no glibc" if found is None else f"glibc-{found[0]}.{found[1]}",
            advice="give a compiler or a sysroot with that library, or leave libc unset",
        )


def _is_dynamic(driver: Driver, chain: Toolchain) -> bool:
    if chain.kind == "zig" or chain.libc.startswith("glibc"):
        return chain.libc.startswith("glibc")
    argv = [*driver.argv, "-print-file-name=libc.a"]
    said = run_tool(argv, cwd=Path("/"), environment=driver.environment(), where=driver.where)
    return not os.path.isabs(said.decode(errors="replace").strip())


def _fingerprint(sysroot: str | None) -> str:
    """Changes when the C library of a sysroot does."""
    places = [p for f in LIBC_FILES for p in Path(sysroot).glob(f)] if sysroot else []
    return "".join(f" {p} {p.stat().st_size} {p.stat().st_mtime_ns}"
                   for p in sorted(places) if p.is_file())


def _zig(argv: tuple[str, ...], target: Target) -> tuple[tuple[str, ...], str]:
    rest = argv[1:] if argv[1:2] == ("cc",) else ("cc", *argv[1:])
    if os.path.dirname(argv[0]):  # a zig of the user's own
        found, identity = _system(argv, target)
        return (found[0], *rest), identity
    try:
        version = importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError as error:
        raise ToolchainError(
            "the Python package ziglang is not installed", where=target.name,
            advice="pip install ziglang, or name another compiler",
        ) from error
    return (sys.executable, "-m", "ziglang", *rest), f"ziglang {version}"


def _system(argv: tuple[str, ...], target: Target) -> tuple[tuple[str, ...], str]:
    found = shutil.which(argv[0])
    if found is None:
        raise ToolchainError(
            f"the compiler {argv[0]!r} was not found on PATH", where=target.name,
            advice=f"install it (Debian: apt-get install {os.path.basename(argv[0])}), or leave "
            "the toolchain unset to use ziglang",
        )
    status = os.stat(found)
    return (os.path.abspath(found), *argv[1:]), f"{found} {status.st_size} {status.st_mtime_ns}"
