"""`edgecc size`: flash and RAM of a bundle, by part and symbol, alone or beside another."""

from __future__ import annotations

import argparse
from typing import Any

from edgecc.cli.console import Console
from edgecc.errors import ConfigError

MOST_SYMBOLS = 40


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("size", help="flash and RAM by part and symbol; of two bundles "
                                  "also the difference")
    command.add_argument("bundles", metavar="BUNDLE", nargs="+", help="one bundle, or two")
    command.add_argument("--all", action="store_true",
                         help=f"every symbol, not just {MOST_SYMBOLS}")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle
    from edgecc.report import size

    if len(args.bundles) > 2:
        raise ConfigError(f"{len(args.bundles)} bundles cannot be compared",
                          advice="name one bundle, or two")
    read = [Bundle.read(path) for path in args.bundles]
    found = [size.size_of(bundle.files, bundle.manifest) for bundle in read]
    one, other = found[0], found[1] if len(found) == 2 else None
    columns = args.bundles if other is None else (*args.bundles, "change")
    for bundle, path in zip(read, args.bundles, strict=True):
        console.fact("bundle", f"{path} · {bundle.manifest['name']} for "
                     f"{bundle.manifest['target']}")
    console.table(("memory", "part", *columns), size.totals(one, other))
    console.line()
    rows = size.symbols(one, other)
    console.table(("part", "symbol", *columns), rows if args.all else rows[:MOST_SYMBOLS])
    if len(rows) > MOST_SYMBOLS and not args.all:
        console.line(f"and {len(rows) - MOST_SYMBOLS} more: --all shows them")
    console.value({"bundles": [{"file": path, **sizes}
                               for path, sizes in zip(args.bundles, found, strict=True)]})
    return 0
