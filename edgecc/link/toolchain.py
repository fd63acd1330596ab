"""Driver: a C compiler as four verbs from bytes to bytes, cached by content.

Every tool runs in a folder of its own with relative file names, so no path reaches its output:
identical inputs give identical bytes wherever they are built.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ToolchainError
from edgecc.link.process import run_tool
from edgecc.link.symbols import form_of, keep_symbols
from edgecc.targets.target import Target

KINDS = ("zig", "gcc", "clang")
COMPILE = ("-std=c99", "-O2", "-g0", "-fPIC", "-ffunction-sections", "-fdata-sections",
           "-fno-stack-protector", "-fomit-frame-pointer", "-fno-unwind-tables",
           "-fno-asynchronous-unwind-tables", "-U_FORTIFY_SOURCE")
# zig builds libc the way the link asks for: without -O2 it is a debug build of 200 KB
LINK = ("-O2", "-s", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,noexecstack")
# lld takes --strip-debug for programs only
DISCARD = b"SECTIONS { /DISCARD/ : { *(.debug_*) *(.comment) } }\n"
SHARED = ("-shared", "-nostdlib", "-Wl,-z,now", "-Wl,--version-script=exports.map")


@dataclass(frozen=True)
class Driver:
    """`argv` is the compiler with its fixed flags; `identity` changes when the tool does."""

    kind: str
    argv: tuple[str, ...]
    identity: str
    where: str
    cache_dir: Path

    def compile(self, source: str, files: Mapping[str, str], *more: str) -> bytes:
        """Object code of `files[source]`; the other files are its headers, `more` are flags."""
        raw = {name: text.encode() for name, text in files.items()}
        return self._make(raw, [*self.argv, *COMPILE, *more, "-I.", "-c", source, "-o", "made"])

    def relocatable(self, objects: Mapping[str, bytes], roots: Sequence[str]) -> bytes:
        """One object of all, without debug information and what no root reaches."""
        names = sorted(objects)
        wanted = [("-u", root) for root in sorted(roots)]
        if self.kind == "zig":
            argv = [*self.argv[: self.argv.index("cc")], "ld.lld", "-r", "-T", "discard.ld",
                    "--gc-sections", *(word for pair in wanted for word in pair)]
            objects = {**objects, "discard.ld": DISCARD}
        else:
            argv = [*self.argv, "-r", "-nostdlib", "-Wl,--strip-debug", "-Wl,--gc-sections",
                    "-Wl,--build-id=none", *(f"-Wl,-u,{root}" for _, root in wanted)]
        return self._make(objects, [*argv, *names, "-o", "made"])

    def shared(self, objects: Mapping[str, bytes], exports: Sequence[str], soname: str) -> bytes:
        """A library that exports `exports` alone and is tied to no libc."""
        script = "{ global: " + "".join(f"{e}; " for e in sorted(exports)) + "local: *; };\n"
        files = {**objects, "exports.map": script.encode()}
        argv = [*self.argv, *LINK, *SHARED, f"-Wl,-soname,{soname}"]
        return self._make(files, [*argv, *sorted(objects), "-o", "made"])

    def executable(self, objects: Mapping[str, bytes], symbols: Collection[str] = ()) -> bytes:
        """A static program that keeps no names but the functions `symbols`."""
        argv = [*self.argv, *LINK, "-static", *sorted(objects), "-o", "made"]
        named = self._make(objects, [word for word in argv if word != "-s"])
        return keep_symbols(named, symbols) if form_of(named) else self._make(objects, argv)

    def _make(self, files: Mapping[str, bytes], argv: list[str]) -> bytes:
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
            run_tool(argv, cwd=Path(folder), environment=self._environment(), where=self.where)
            os.replace(Path(folder) / "made", kept)  # whole or not at all

    def _key(self, files: Mapping[str, bytes], argv: list[str]) -> str:
        digest = hashlib.sha256("\0".join([self.identity, *argv]).encode())
        for name in sorted(files):
            digest.update(f"\0{name}\0{len(files[name])}\0".encode() + files[name])
        return digest.hexdigest()

    def _environment(self) -> dict[str, str]:
        """Nothing that could change the output: no CPATH, no LIBRARY_PATH, no language."""
        zig = str(self.cache_dir / "zig")
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.cache_dir),
                "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0",
                "ZIG_GLOBAL_CACHE_DIR": zig, "ZIG_LOCAL_CACHE_DIR": zig}


def driver_for(target: Target, config: CompileConfig, context: Context) -> Driver:
    """The compiler that the user named, or the target's own.

    Raises ToolchainError when it is not installed or the target has none.
    """
    chain = target.toolchain
    argv = chain.argv if config.toolchain is None else config.toolchain
    if not argv or (config.toolchain is None and chain.kind not in KINDS):
        raise ToolchainError(
            "no C compiler is known", where=target.name,
            advice="name one, for example toolchain=('aarch64-linux-gnu-gcc',)",
        )
    if config.toolchain is None:
        sysroot = (f"--sysroot={chain.sysroot}",) if chain.sysroot else ()
        argv = (*argv, *sysroot, *chain.flags)
    kind = _kind(argv[0])
    argv, identity = _zig(argv, target) if kind == "zig" else _system(argv, target)
    return Driver(kind, argv, identity, target.name, Path(context.cache_dir).absolute())


def _kind(tool: str) -> str:
    name = os.path.basename(tool)
    return next((kind for kind in ("zig", "clang") if kind in name), "gcc")


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
