"""`edgecc inspect`: what is in a bundle."""

from __future__ import annotations

import argparse
from typing import Any

from edgecc.cli.console import Console
from edgecc.line import counted


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("inspect", help="show what a bundle holds and needs")
    command.add_argument("bundle", metavar="BUNDLE")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle

    bundle = Bundle.read(args.bundle)
    console.value(bundle.manifest)
    if not console.as_json:
        show(bundle, console)
    return 0


def show(bundle: Any, console: Console) -> None:
    from edgecc import report

    manifest = bundle.manifest
    for name, text in facts(manifest):
        console.fact(name, text)
    console.fact("sha256", bundle.sha256)
    console.line()
    console.line(report.memory_map(manifest))
    console.line()
    console.line(report.steps_table(manifest))


def facts(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """One line each: model, target, ports, memory, files."""
    lines = [
        ("model", f"{manifest['model']['name']} · {manifest['macs']:,} MAC · "
                  f"{counted(len(manifest['steps']), 'step')}"),
        ("target", f"{manifest['target']} · {' '.join(manifest['target_info']['features'])}"),
    ]
    lines += [("input", port(p)) for p in manifest["inputs"]]
    lines += [("output", port(p)) for p in manifest["outputs"]]
    lines.append(("memory", memory(manifest)))
    lines.append(("vectors", f"{manifest['vectors']['count']} golden"))
    return lines


def port(described: dict[str, Any]) -> str:
    shape = "x".join(map(str, described["shape"]))
    text = f"{described['name']} {described['dtype']} {shape} {described['layout']}"
    if described["scale"] is not None:
        text += f" · scale {described['scale']:.6g}, zero point {described['zero_point']}"
    return text


def memory(manifest: dict[str, Any]) -> str:
    """RAM and flash in one line, as `edgecc compile` ends with."""
    stack = manifest["stack_bytes"]
    text = f"RAM {manifest['arena_bytes']:,} B"
    text += "" if stack is None else f" + stack {stack:,} B"
    return f"{text} · flash {manifest['flash_bytes']:,} B"
