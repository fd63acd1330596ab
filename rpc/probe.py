"""What a board really is: a tiny program is compiled for the bundle's architecture and run there,
through the board's own prefix (a shell on a loopback board would report the workstation)."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from edgecc.errors import BoardError, ToolchainError
from edgecc.rpc.deploy import put_blob
from edgecc.rpc.transport import Transport
from edgecc.rpc.transport.base import read_all

T = TypeVar("T")
SOURCE = Path(__file__).with_name("probe.c")
FEATURES = {
    "x86_64": frozenset({"avx2", "fma", "f16c", "avxvnni", "avx512f", "avx512dq", "avx512bw",
                         "avx512vl", "avx512vnni"}),
    "aarch64": frozenset({"neon", "fma", "fp16", "dotprod", "sve", "sve2", "i8mm", "bf16"}),
    "riscv64": frozenset({"i", "m", "a", "f", "d", "c", "rv64gc", "rvv128", "rvv256", "rvv512",
                          "zvfh"}),
    "armv7l": frozenset({"vfp", "armv7-neon"}),
}
"""What the probe can tell on each architecture."""
ZIG_TRIPLES = {"armv7l": "arm-linux-none"}
FLAGS = ("-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-sanitize=all",
         "-Os", "-s")
SPELLINGS = {"arm64": "aarch64", "armv8l": "armv7l", "amd64": "x86_64", "x86-64": "x86_64"}
RUNS_ALSO = {"aarch64": "armv7l"}  # most 64-bit Arm cores do; the probe tells
ANSWER_BYTES = 4096
COMPILE_TIMEOUT_S = 300


@dataclass(frozen=True)
class BoardInfo:
    """What the probe found. None: the board does not tell. `features` as targets spell them."""

    architecture: str
    features: frozenset[str]
    cores: int
    kernel: str | None = None
    governor: str | None = None
    clock_khz: int | None = None
    max_clock_khz: int | None = None
    temperature_millicelsius: int | None = None
    throttled: str | None = None
    glibc: str | None = None
    loader: bool | None = None


def probe(transport: Transport, architecture: str, cache_dir: Path,
          loader: str | None = None) -> BoardInfo:
    """Runs the probe for `architecture` on the board; `loader` is a path to look for there.

    BoardInfo.glibc is the release of the board's GNU C library, if it has one (as its emulator
    sees the board's files), BoardInfo.loader whether `loader` exists.

    Raises BoardError when the board cannot run programs of that architecture, ToolchainError when
    the probe cannot be compiled.
    """
    _check_uname(transport, architecture)
    binary = build_probe(architecture, cache_dir)
    path, _ = put_blob(transport, binary, executable=True)
    process = transport.run(transport.board.command([path, *([loader] if loader else [])]))
    try:
        out = read_all(process, ANSWER_BYTES)
        code, said = process.wait(), process.stderr()
    finally:
        process.close()
    if code != 0:
        raise _cannot_run(transport, architecture, code, said)
    return parse_answer(out, transport.board.name)


def _check_uname(transport: Transport, architecture: str) -> None:
    """Before anything foreign is executed: what does the board call itself?"""
    board = transport.board
    if board.emulator or board.transport == "fake":
        return
    have = platform.machine() if board.transport == "local" else _uname(transport)
    named = SPELLINGS.get(have, have)
    if have and architecture not in (named, RUNS_ALSO.get(named)):
        raise BoardError(f"the board is {have}, the bundle is for {architecture}",
                         where=board.name, needed=architecture, available=have,
                         advice="compile for the board's own target")


def _uname(transport: Transport) -> str:
    process = transport.run(["uname", "-m"])
    try:
        return read_all(process, ANSWER_BYTES).decode(errors="replace").strip()
    finally:
        process.close()


def _cannot_run(transport: Transport, architecture: str, code: int | None,
                said: bytes) -> BoardError:
    board, words = transport.board, said.decode(errors="replace").strip()
    reason = words.splitlines()[-1] if words else f"exit code {code}"
    if "ELF image" in reason or "xec format" in reason:
        runs = board.emulator[0].rpartition("-")[2] if board.emulator else "another architecture"
        return BoardError(f"the board runs {runs}, the bundle is for {architecture}",
                          where=board.name, needed=architecture, available=runs,
                          advice="compile for the board's own target, or correct its emulator")
    return BoardError(f"cannot run the probe, a program of 6 KB: {reason}", where=board.name,
                      advice="check workdir (mounted noexec?) and emulator of the board")


def parse_answer(out: bytes, where: str) -> BoardInfo:
    """Raises BoardError for anything but the probe's own JSON."""
    try:
        answer = json.loads(out)
        return BoardInfo(
            architecture=_text(answer["architecture"]),
            features=frozenset(_text(name) for name in answer["features"]),
            cores=_number(answer["cores"]),
            kernel=_optional(_text, answer, "kernel"),
            governor=_optional(_text, answer, "governor"),
            clock_khz=_optional(_number, answer, "clock_khz"),
            max_clock_khz=_optional(_number, answer, "max_clock_khz"),
            temperature_millicelsius=_optional(_number, answer, "temperature_millicelsius"),
            throttled=_optional(_text, answer, "throttled"),
            glibc=_optional(_text, answer, "glibc"),
            loader=_optional(_truth, answer, "loader"),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BoardError(f"the probe answered {out[:80]!r}", where=where,
                         advice="check that nothing on the board prints at login") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value[:256]


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _optional(read: Callable[[Any], T], answer: dict[str, Any], key: str) -> T | None:
    return read(answer[key]) if key in answer else None


def build_probe(architecture: str, cache_dir: Path) -> bytes:
    """The probe's ELF, from the cache or freshly compiled by ziglang."""
    if architecture not in FEATURES:
        raise BoardError(f"edgecc cannot probe boards of architecture {architecture}",
                         advice=f"it can probe {', '.join(FEATURES)}")
    triple = ZIG_TRIPLES.get(architecture, f"{architecture}-linux-none")
    argv = [sys.executable, "-m", "ziglang", "cc", "-target", triple, *FLAGS]
    return compile_cached(argv, SOURCE, cache_dir / "probe").read_bytes()


def compile_cached(argv: list[str], source: Path, folder: Path, suffix: str = "") -> Path:
    """Compiles one C file; the result's name is a hash of source and flags.

    Raises ToolchainError with the compiler's words.
    """
    recipe = repr(argv[1:]).encode() + source.read_bytes()
    path = folder / (hashlib.sha256(recipe).hexdigest()[:32] + suffix)
    if path.exists():
        return path
    draft = folder / f".{secrets.token_hex(6)}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([*argv, str(source), "-o", str(draft)], capture_output=True,
                              text=True, timeout=COMPILE_TIMEOUT_S)
        if done.returncode != 0:
            raise ToolchainError(f"{argv[0]} failed: {done.stderr.strip()[-800:]}",
                                 where=source.name, advice="check that ziglang is installed")
        os.replace(draft, path)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"cannot compile: {error}", where=source.name) from error
    finally:
        draft.unlink(missing_ok=True)
    return path
