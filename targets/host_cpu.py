"""What the workstation's own CPU is, read from /proc/cpuinfo."""

from __future__ import annotations

import os
import platform
from pathlib import Path

X86 = {"avx2": "avx2", "fma": "fma", "avx512_vnni": "avx512vnni", "avx512f": "avx512f",
       "avx512bw": "avx512bw", "avx512vl": "avx512vl", "avx512dq": "avx512dq",
       "f16c": "f16c", "avx_vnni": "avxvnni"}
ARM = {"asimd": "neon", "asimddp": "dotprod", "i8mm": "i8mm", "asimdhp": "fp16"}


def features(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """ISA features of this machine in the spelling that targets use; empty when unknown."""
    try:
        text = cpuinfo.read_text()
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            words = line.split(":", 1)[1].split()
            return frozenset((X86 | ARM)[w] for w in words if w in X86 | ARM)
    return frozenset()


def architecture() -> str:
    machine = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
