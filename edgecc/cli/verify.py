"""`edgecc verify`: is a bundle whole and unchanged?"""

from __future__ import annotations

import argparse
from typing import Any

from edgecc.cli.console import Console


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("verify", help="check a bundle's files, hashes and versions")
    command.add_argument("bundle", metavar="BUNDLE")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle

    bundle = Bundle.read(args.bundle)
    manifest = bundle.manifest
    total = sum(entry["bytes"] for entry in manifest["files"].values())
    console.fact("ok", f"{len(manifest['files'])} files · {total:,} B · format "
                 f"{manifest['format_version']} · {manifest['target']}")
    console.fact("sha256", bundle.sha256)
    console.value({"ok": True, "files": len(manifest["files"]), "bytes": total,
                   "sha256": bundle.sha256, "format_version": manifest["format_version"],
                   "target": manifest["target"]})
    return 0
