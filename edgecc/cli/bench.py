"""`edgecc bench`: deploy a bundle, replay its golden vectors, measure."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgecc.cli import arguments
from edgecc.cli.console import Console, record
from edgecc.errors import ConfigError, EdgeccError

HEAD = ("board", "golden", "p50 us", "p90 us", "p99 us", "instructions", "memory B", "verdict")


def add(commands: Any) -> argparse.ArgumentParser:
    command = commands.add_parser("bench", help="run a bundle on a board, verify and measure it")
    command.add_argument("bundle", metavar="BUNDLE")
    arguments.add_board_options(command, several=True)
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
    boards = arguments.boards(args, bundle.manifest, args.board or [])
    if len(boards) > 1:
        return run_several(bundle, boards, args, console)
    report = measured(bundle, boards[0], args, console)
    console.close()
    shown = report if args.profile else replace(report, steps=())
    console.line(shown.to_text())
    write_pages(args, bundle.manifest, report, console)
    console.value(report.to_json())
    return 0


def measured(bundle: Any, board: Any, args: argparse.Namespace, console: Console) -> Any:
    console.working(f"bench on {board.name}")
    # The report says all that progress would: only its own lines are shown.
    context = replace(arguments.context(args, console), progress=lambda verb, line: None)
    return bundle.bench(board, count=args.count, warmup=args.warmup, profile=args.profile,
                        context=context)


def run_several(bundle: Any, boards: list[Any], args: argparse.Namespace,
                console: Console) -> int:
    """One board after the other; one that fails does not take the others' results along."""
    found = [outcome(bundle, board, args, console) for board in boards]
    console.close()
    console.table(HEAD, [cells(board.name, result) for board, result in
                         zip(boards, found, strict=True)])
    failed = [result for result in found if isinstance(result, EdgeccError)]
    for result in found:
        if isinstance(result, EdgeccError):
            console.line(f"{type(result).__name__}: {result}")
        elif args.profile:
            console.line("\n" + result.to_text())
    console.value({"boards": [
        {"board": board.name, "error": record(result)} if isinstance(result, EdgeccError)
        else result.to_json() for board, result in zip(boards, found, strict=True)]})
    return failed[0].exit_code if failed else 0


def outcome(bundle: Any, board: Any, args: argparse.Namespace, console: Console) -> Any:
    """The Report, or the error."""
    try:
        return measured(bundle, board, args, console)
    except EdgeccError as error:
        return error


def cells(board: str, result: Any) -> tuple[str, ...]:
    if isinstance(result, EdgeccError):
        return (board, *["-"] * (len(HEAD) - 2), type(result).__name__)
    figures = (result.p50_us, result.p90_us, result.p99_us, result.instructions,
               result.peak_rss_bytes)
    return (board, result.golden, *map(figure, figures), result.verdict)


def figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def check(args: argparse.Namespace) -> None:
    """Raises ConfigError for figures and files that cannot work, before anything runs."""
    if args.count < 1 or args.warmup < 0:
        raise ConfigError(f"--count {args.count} --warmup {args.warmup}: runs cannot be counted",
                          advice="give --count 1 or more and --warmup 0 or more")
    if len(args.board or []) > 1 and (args.html or args.trace):
        raise ConfigError("--html and --trace show one board", advice="name one board")
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
