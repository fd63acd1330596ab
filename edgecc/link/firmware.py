"""Links a program for a chip without an operating system, with whatever the toolchain has."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from edgecc.link.process import run_tool
from edgecc.link.symbols import form_of, keep_symbols
from edgecc.link.toolchain import Driver
from edgecc.lower.runner_glue import runtime_text

SCRIPT = "link.ld"


def firmware(
    driver: Driver, objects: Mapping[str, bytes], script: str, symbols: Collection[str] | None,
    roots: Collection[str] = (),
) -> bytes:
    """A program laid out by `script`, with all that `roots` reach.

    It keeps no names but the functions `symbols`; None keeps all. memcpy and memset are the
    toolchain's, or ours where it has none; arithmetic that the chip lacks is its too.
    Raises ToolchainError.
    """
    parts = {**objects, **_memory(driver)}
    wanted = [f"-Wl,-u,{root}" for root in sorted(roots)]
    argv = [*driver.argv, *driver.link_flags, "-O2", "-static", *_without_system(driver),
            "-T", SCRIPT, "-Wl,-e,edgecc_reset", "-Wl,--gc-sections", "-Wl,-z,max-page-size=64",
            *wanted, *sorted(parts), *_libraries(driver), "-o", "made"]
    made = driver.make({**parts, SCRIPT: script.encode()}, argv)
    return keep_symbols(made, symbols) if symbols is not None and form_of(made) else made


def _without_system(driver: Driver) -> list[str]:
    if driver.kind == "gcc":
        return ["-nostartfiles", "-nodefaultlibs", "-Wl,--build-id=none",
                "-Wl,--no-warn-rwx-segments"]
    return ["-nostartfiles"] if driver.kind == "zig" else ["-nostdlib", "-fuse-ld=lld"]


def _libraries(driver: Driver) -> list[str]:
    """zig brings its own for every target; Clang has none for a bare chip."""
    if driver.kind != "gcc":
        return []
    return ["-Wl,--start-group", *(["-lc"] if has_libc(driver) else []), "-lgcc",
            "-Wl,--end-group"]


def _memory(driver: Driver) -> dict[str, bytes]:
    if driver.kind == "zig" or (driver.kind == "gcc" and has_libc(driver)):
        return {}
    source = {"memory.c": runtime_text("baremetal/memory.c")}
    return {"memory.o": driver.compile("memory.c", source)}


def has_libc(driver: Driver) -> bool:
    """Whether a GCC finds a C library for the chip."""
    argv = [*driver.argv, "-print-file-name=libc.a"]
    said = run_tool(argv, cwd=Path("/"), environment=driver.environment(), where=driver.where)
    return os.path.isabs(said.decode(errors="replace").strip())
