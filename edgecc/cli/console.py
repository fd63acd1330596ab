"""What the user sees: plain lines, a spinner on a terminal, or one JSON object."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

from edgecc.errors import EdgeccError

VERBS = ("load", "quantize", "schedule", "plan", "lower", "link")
TIME_COLUMN = 92
NUMBER = re.compile(r"-|[\d,.]+")
FACTS = ("what", "where", "needed", "available", "advice")


class Console:
    """Standard output for results, standard error for errors and the spinner.

    With `as_json`, standard output holds one JSON object and nothing else.
    """

    def __init__(self, as_json: bool = False):
        self.as_json = as_json
        self._started = time.monotonic()
        self._spinner: Any = None

    def line(self, text: str = "", stream: TextIO | None = None) -> None:
        """One line for people; nothing when JSON is asked for."""
        if not self.as_json:
            print(text, file=stream or sys.stdout, flush=True)

    def fact(self, name: str, text: str) -> None:
        self.line(f"{name:<9} {text}")

    def value(self, value: Any) -> None:
        """The JSON object; nothing otherwise."""
        if self.as_json:
            print(json.dumps(value, indent=1, sort_keys=True, allow_nan=False))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Columns as wide as their widest cell; numbers (and dashes for none) to the right."""
        cells = [[str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        right = [all(NUMBER.fullmatch(row[i]) for row in cells) for i in range(len(head))]
        for row in [list(head), *cells]:
            padded = [cell.rjust(width) if to_right else cell.ljust(width)
                      for cell, width, to_right in zip(row, widths, right, strict=True)]
            self.line("  ".join(padded).rstrip())

    def progress(self, verb: str, text: str) -> None:
        """A verb's summary and the seconds since the last one; then the next verb begins."""
        seconds = time.monotonic() - self._started
        line = f"{verb:<9} {text}"
        timed = f"{line:<{TIME_COLUMN}} {seconds:5.1f} s" if seconds >= 0.05 else line
        self.line(timed)
        self._started = time.monotonic()
        place = VERBS.index(verb) + 1 if verb in VERBS else len(VERBS)
        self.working(VERBS[place] if place < len(VERBS) else "pack")

    def working(self, what: str) -> None:
        """Shows `what` beside a spinner, if standard error is a terminal."""
        if self.as_json or not (sys.stderr.isatty() and sys.stdout.isatty()):
            return
        if self._spinner is None:
            from rich.console import Console as RichConsole

            self._spinner = RichConsole(stderr=True).status(what)
            self._spinner.start()
        self._spinner.update(f"{what} …")

    def close(self) -> None:
        """Stops the spinner; safe to call twice."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def error(self, text: str) -> None:
        self.close()
        print(f"error: {text}", file=sys.stderr)

    def failure(self, error: EdgeccError) -> None:
        """`error: Class: message`; as JSON also the facts, on standard output."""
        self.error(f"{type(error).__name__}: {error}")
        self.value({"error": record(error)})


def record(error: EdgeccError) -> dict[str, Any]:
    """An error as JSON: what it says, and the same facts one by one."""
    return {"class": type(error).__name__, "message": str(error), "exit_code": error.exit_code,
            **{fact: getattr(error, fact) for fact in FACTS}}
