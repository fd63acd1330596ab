"""What the verbs may use besides their values: folders, seed, progress. The CLI fills it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Progress = Callable[[str, str], None]  # (verb, one line of what it did)


def default_cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "edgecc"


@dataclass(frozen=True)
class Asking:
    """`ask`, with the answers of one command: a board that is opened twice asks once. Whoever
    finds a known answer refused asks again."""

    ask: Callable[[str], str]
    known: dict[str, str] = field(default_factory=dict, repr=False)

    def __call__(self, prompt: str) -> str:
        self.known[prompt] = self.ask(prompt)
        return self.known[prompt]


@dataclass(frozen=True)
class Context:
    """Passed to every verb: no verb reads the environment, prints, or keeps globals.

    `progress(verb, line)` is called once per verb with its summary line. `ask(prompt)` gives a
    secret (a board's password); None where there is nobody to be asked. An `Asking` remembers.
    """

    cache_dir: Path = field(default_factory=default_cache_dir)
    seed: int = 0
    dump_dir: Path | None = None
    progress: Progress = lambda verb, line: None
    ask: Callable[[str], str] | None = None
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("edgecc"))
