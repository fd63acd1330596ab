"""Instructions of every step of a bundle on this very machine, one executed at a time.

For instruction sets that no emulator has (AVX-512, AVX-VNNI): exact, repeatable and slow. Needs
Linux on x86-64, gcc, nm, and leave to trace.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from edgecc.rpc.runner_client import request_bytes
from edgecc.targets import get_target, host_cpu

SOURCE = Path(__file__).with_name("stepped.c")
NO_TRACING = 3  # how stepped.c says so
STEPPED_OVER = {"avxvnni"}  # counted, if not executed, on any machine


class NotTraced(RuntimeError):
    """This machine lets no program be traced, as in some containers."""


def why_not(target: str) -> str | None:
    """Why this machine cannot count code for `target`, or None."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "single steps are counted on Linux and x86-64"
    if missing := get_target(target).features - host_cpu.features() - STEPPED_OVER:
        return f"this machine has no {', '.join(sorted(missing))}"
    absent = [tool for tool in ("gcc", "nm") if shutil.which(tool) is None]
    return f"no {' and no '.join(absent)}" if absent else None


def counts(bundle: Any) -> dict[str, int]:
    """Instructions by kernel of one inference of the first golden input, what the kernel calls
    included. Raises NotTraced where that is not allowed, RuntimeError where a program fails."""
    inputs = [value.tobytes() for value in bundle.vectors()[0][0].values()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"runner": bundle.files["runner/runner"], "weights": bundle.files["weights.bin"],
                 "requests": request_bytes(inputs, 1)}
        for file, data in files.items():
            (folder / file).write_bytes(data)
        (folder / "runner").chmod(0o755)
        _run(folder, ["gcc", "-O2", "-o", "stepped", str(SOURCE)])
        ranges = _functions(_run(folder, ["nm", "-S", "--defined-only", "runner"]))
        printed = _run(folder, ["./stepped", "./runner", "weights", "requests", *ranges])
    return {kernel: int(count) for kernel, count in map(str.split, printed.splitlines())}


def _functions(listing: str) -> list[str]:
    """Name, start and end of the kernels, and of the run function, named "-": what it does itself
    belongs to none. The runner keeps no other symbols but memcpy's like."""
    found = []
    for line in listing.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT" and not words[3].startswith("mem"):
            first, size = int(words[0], 16), int(words[1], 16)
            name = "-" if words[3].endswith("_run") else words[3]
            found += [name, hex(first), hex(first + size)]
    return found


def _run(folder: Path, argv: list[str]) -> str:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    if argv[0] == "./stepped" and done.returncode == NO_TRACING:
        raise NotTraced("this machine lets no program be traced")
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}: {done.stderr[:300]}")
    return done.stdout
