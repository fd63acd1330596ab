"""`edgecc package`: a bundle as a folder for another build system."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from edgecc.cli.console import Console
from edgecc.context import Context


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("package", help="unpack a bundle for another build system")
    command.add_argument("bundle", metavar="BUNDLE")
    command.add_argument("--format", required=True, help="cmake, make, c-source, c-file")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="DIR",
                         help="a new or an empty folder")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle
    from edgecc.bundle.package import package, write

    bundle = Bundle.read(args.bundle)
    console.working(f"package as {args.format}")
    files = package(bundle, args.format, context=Context())
    write(files, args.output)
    console.close()
    size = sum(map(len, files.values()))
    console.line(f"wrote {args.output}/   {len(files)} files, {size:,} B · README.md says how to "
                 "build it")
    console.value({"format": args.format, "output": str(args.output), "files": sorted(files),
                   "bytes": size})
    return 0
