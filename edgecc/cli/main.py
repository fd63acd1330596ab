"""The command line: parses arguments, runs one command, turns errors into one line and a code.

Nothing heavy is imported here: `edgecc --help` stays under 0.3 s. Each command is one file with
`add(commands)` for its arguments and `run(args, console)` for its work.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import edgecc
from edgecc.cli.console import Console
from edgecc.errors import CheckFailed, ConfigError, EdgeccError

COMMANDS = ("compile", "quantize", "bench", "run", "evaluate", "inspect", "size", "verify",
            "package", "export-torch", "matrix", "targets", "boards")
INTERRUPTED = 130
BROKEN_PIPE = 141
EPILOG = """exit codes: 0 ok · 1 a row of matrix failed · 2 arguments · 3 unsupported model ·
4 quantization · 5 does not fit · 6 target · 7 toolchain · 8 board · 9 bundle ·
70 a bug in edgecc · 130 interrupted"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours, so that they look and count like all others."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message, advice=f"`{self.prog} --help` lists the arguments")


def parser() -> Parser:
    top = Parser(prog="edgecc", description=(edgecc.__doc__ or "").removeprefix("edgecc: "),
                 epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"edgecc {edgecc.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        command = _module(name).add(commands)
        command.add_argument("--json", action="store_true", help="print one JSON object")
        command.add_argument("--debug", action="store_true", help="show tracebacks")
    return top


def _module(command: str) -> Any:
    return importlib.import_module(f"edgecc.cli.{command.replace('-', '_')}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    console = Console(as_json="--json" in arguments)
    debug = "--debug" in arguments
    try:
        args = parser().parse_args(arguments)
        command = _module(args.command)
        code = command.run(args, console)
        sys.stdout.flush()
        return code
    except EdgeccError as error:
        return _report(console, error, debug)
    except KeyboardInterrupt:
        console.error("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone: say nothing more, also not when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        return _report_bug(console, error)
    finally:
        console.close()


def _report(console: Console, error: EdgeccError, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    console.failure(error)
    return error.exit_code


def _report_bug(console: Console, error: Exception) -> int:
    traceback.print_exception(error)
    console.error(f"{type(error).__name__}: {error}")
    console.error("this is a bug in edgecc: please report it with the lines above")
    return CheckFailed.exit_code


if __name__ == "__main__":
    sys.exit(main())
