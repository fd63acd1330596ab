"""Runs a compiler or linker: bounded in time, its whole process group ended on any failure."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgecc.errors import ToolchainError

TIMEOUT_S = 900.0  # the first musl build of a target takes 40 s on a fast machine
LONGEST_REPORT = 4000


def run_tool(
    argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], where: str,
    timeout_s: float = TIMEOUT_S,
) -> bytes:
    """What the tool said. Raises ToolchainError when it is missing, fails or hangs."""
    try:
        process = subprocess.Popen(
            argv, cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )
    except OSError as error:
        raise ToolchainError(
            f"cannot run {argv[0]!r}: {error.strerror}", where=where, advice=_install(argv[0])
        ) from error
    said = _finish(process, argv, where, timeout_s)
    if process.returncode:
        raise ToolchainError(
            f"{_short(argv)} failed with exit status {process.returncode}:\n"
            + said.decode("utf-8", "replace")[-LONGEST_REPORT:].strip(),
            where=where,
        )
    return said


def _finish(process: subprocess.Popen, argv: Sequence[str], where: str, timeout_s: float) -> bytes:
    try:
        return process.communicate(timeout=timeout_s)[0]
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(
            f"{_short(argv)} did not finish", where=where,
            needed=f"more than {timeout_s:g} s", available=f"{timeout_s:g} s",
        ) from error
    finally:
        if process.poll() is None:
            end_group(process)


def end_group(process: subprocess.Popen) -> None:
    """Ends the process and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


def _short(argv: Sequence[str]) -> str:
    words = [os.path.basename(argv[0]), *argv[1:]]
    return " ".join(words[:6]) + (" ..." if len(words) > 6 else "")


def _install(tool: str) -> str:
    return (f"install {os.path.basename(tool)} (Debian: apt-get install "
            f"{os.path.basename(tool)}), or leave the toolchain unset to use ziglang")
