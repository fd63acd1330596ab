"""`edgecc targets`: the chips that edgecc compiles for."""

from __future__ import annotations

import argparse
from typing import Any

from edgecc.cli.console import Console


def add(commands: Any) -> argparse.ArgumentParser:
    return commands.add_parser("targets", help="list the chips that edgecc compiles for")


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.targets import all_targets

    found = sorted(all_targets().values(), key=lambda target: target.name)
    console.table(
        ("target", "cpu", "features", "runs in QEMU", "description"),
        [(t.name, t.cpu, " ".join(sorted(t.features)) or "-", "yes" if t.emulator else "no",
          t.description) for t in found],
    )
    console.value({"targets": [record(target) for target in found]})
    return 0


def record(target: Any) -> dict[str, Any]:
    return {
        "name": target.name, "description": target.description, "triple": target.triple,
        "cpu": target.cpu, "architecture": target.architecture,
        "features": sorted(target.features), "cores": target.cores, "clock_hz": target.clock_hz,
        "memories": [{"name": m.name, "size_bytes": m.size_bytes} for m in target.memories],
        "emulator": list(target.emulator), "runner": target.runner,
        "source": dict(target.source),
    }
