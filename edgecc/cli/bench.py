"""`edgecc bench`: deploy a bundle, replay its golden vectors, measure."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgecc.cli import arguments
from edgecc.cli.console import Console
from edgecc.errors import ConfigError


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("bench", help="run a bundle on a board, verify and measure it")
    command.add_argument("bundle", metavar="BUNDLE")
    arguments.add_board_options(command)
    command.add_argument("--count", type=int, default=100, help="timed runs (default 100)")
    command.add_argument("--warmup", type=int, default=10, help="runs before them (default 10)")
    command.add_argument("--profile", action="store_true", help="figures of every step")
    command.add_argument("--html", type=Path, metavar="FILE", help="write a report page")
    command.add_argument("--trace", type=Path, metavar="FILE", help="write a Perfetto trace "
                         "(with --profile)")
    return command


def run(args: argparse.Namespace, console: Console) -> int:
    from edgecc.bundle import Bundle

    check(args)
    bundle = Bundle.read(args.bundle)
    board = arguments.board(args, bundle.manifest)
    console.working(f"bench on {board.name}")
    # The report says all that progress would: only its own lines are shown.
    report = bundle.bench(board, count=args.count, warmup=args.warmup, profile=args.profile)
    console.close()
    shown = report if args.profile else replace(report, steps=())
    console.line(shown.to_text())
    write_pages(args, bundle.manifest, report, console)
    console.value(report.to_json())
    return 0


def check(args: argparse.Namespace) -> None:
    """Raises ConfigError for figures and files that cannot work, before anything runs."""
    if args.count < 1 or args.warmup < 0:
        raise ConfigError(f"--count {args.count} --warmup {args.warmup}: runs cannot be counted",
                          advice="give --count 1 or more and --warmup 0 or more")
    if args.trace and not args.profile:
        raise ConfigError("--trace needs the figures of every step", advice="add --profile")
    for path in filter(None, (args.html, args.trace)):
        arguments.check_output(path)


def write_pages(args: argparse.Namespace, manifest: dict[str, Any], report: Any,
                console: Console) -> None:
    from edgecc import report as pages
    from edgecc.bundle.archive import write_atomically

    if args.html:
        write_atomically(args.html, pages.html_report(manifest, report.to_json()).encode())
        console.fact("report", str(args.html))
    if args.trace:
        trace = pages.perfetto_trace(manifest, report.to_json())
        text = trace if isinstance(trace, str) else json.dumps(trace)
        write_atomically(args.trace, text.encode())
        console.fact("trace", str(args.trace))
