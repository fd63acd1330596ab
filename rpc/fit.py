"""Does a bundle fit a board? Told before anything is uploaded, from what the runner's ELF says of
itself and what the probe found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgecc.errors import BoardError, BundleError
from edgecc.link.elf import ElfInfo, describe, machine_of
from edgecc.link.elf_dynamic import Requirement, requirements
from edgecc.rpc.probe import FEATURES, BoardInfo

FLOAT_REGISTERS = {"hard": {"vfp"}, "single": {"rv64gc", "f"}, "double": {"rv64gc", "d"}}
"""Float ABI: what a board must have one of."""


def runner_of(files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> ElfInfo | None:
    """What the bundle's runner is; None for a script, which says nothing of what it needs.

    Raises BundleError for a program of another architecture than the manifest's.
    """
    if files["runner/runner"][:2] == b"#!":
        return None
    elf = describe(files["runner/runner"], where="runner/runner")
    wanted = machine_of(manifest["target_info"]["architecture"])
    if elf.machine != wanted:
        raise BundleError("the runner is not for the bundle's target", where="runner/runner",
                          needed=wanted, available=elf.words, advice="compile the bundle anew")
    return elf


def check_fit(files: Mapping[str, bytes], manifest: Mapping[str, Any], elf: ElfInfo | None,
              info: BoardInfo, board: str) -> None:
    """Raises BoardError for a machine, instruction set, loader or C library that the bundle needs
    and the board lacks."""
    check_features(info, manifest, board)
    if elf is not None:
        check_machine(elf, info, board)
    if elf is not None and elf.interpreter is not None:
        check_loader(elf, info, board)
        check_glibc(requirements(files["runner/runner"], "runner/runner"), info, board)


def check_machine(elf: ElfInfo, info: BoardInfo, board: str) -> None:
    registers = FLOAT_REGISTERS.get(elf.float_abi or "", info.features)
    fits = elf.machine == machine_of(info.architecture)
    if not fits or (registers and not registers & info.features):
        raise BoardError("the board runs no programs of the runner's kind", where=board,
                         needed=elf.words,
                         available=f"{info.architecture} {' '.join(sorted(info.features))}",
                         advice="compile for the board's own target")


def check_features(info: BoardInfo, manifest: Mapping[str, Any], board: str) -> None:
    """Raises BoardError for an instruction set that the bundle uses and the board lacks."""
    testable = set(manifest["target_info"]["features"]) & FEATURES[info.architecture]
    missing = sorted(testable - info.features)
    if missing:
        raise BoardError(
            f"the board lacks {', '.join(missing)}, which bundle {manifest['name']!r} uses",
            where=board, needed=" ".join(sorted(testable)),
            available=" ".join(sorted(info.features)) or "none",
            advice=f"compile for the board's own target instead of {manifest['target']!r}",
        )


def check_loader(elf: ElfInfo, info: BoardInfo, board: str) -> None:
    if info.loader is False:
        raise BoardError(
            "the board has no loader for the runner, which is linked dynamically", where=board,
            needed=str(elf.interpreter),
            available=f"glibc {info.glibc}" if info.glibc else "no C library for it",
            advice='compile with --libc musl for a static runner; an emulated board finds its '
            'libraries with emulator = ["qemu-...", "-L", "<sysroot>"]',
        )


def check_glibc(needs: tuple[Requirement, ...], info: BoardInfo, board: str) -> None:
    """Raises BoardError naming the symbols that need a newer glibc than the board has."""
    if info.glibc is None:  # the loader will tell
        return
    have = _version(info.glibc)
    newer = [(need, version) for need in needs
             if (version := _version(need.version.removeprefix("GLIBC_"))) and version > have]
    if newer:
        wanted = max(version for _, version in newer)
        named = "; ".join(f"{need.version} for {', '.join(need.symbols[:4]) or need.library}"
                          for need, _ in sorted(newer, key=lambda pair: pair[1]))
        raise BoardError(
            f"the runner needs a newer glibc than the board has: {named}", where=board,
            needed=f"glibc {'.'.join(map(str, wanted))}", available=f"glibc {info.glibc}",
            advice=f"compile with --libc glibc-{info.glibc}, with the board's own sysroot, or with "
            "--libc musl",
        )


def _version(text: str) -> tuple[int, ...]:
    """(2, 31) from "2.31"; empty for a version that is no number (GLIBC_PRIVATE)."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()
