"""Environment scripts of SDKs, read without a shell: assignments count, commands do not run.

`export NAME=value` and `NAME=value` are followed as sh does: quotes, backslashes, $NAME, ${NAME}
and ${NAME:-word}. Whatever would execute something is passed over, with a note of its lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from edgecc.errors import ToolchainError

ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=")
MORE = re.compile(r"[ \t]+([A-Za-z_]\w*)=")  # a second assignment of one export
NAMES = re.compile(r"[ \t]*(export|unset)((?:[ \t]+[A-Za-z_]\w*)*)[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
END = re.compile(r"[ \t]*(?:;|(?:#[^\n]*)?(?:\n|\Z))")
QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:^|\s)#.*")
BLOCK = re.compile(r"(?:^|[;&|]|\s)(if|for|while|until|case|fi|done|esac|\{|\})(?=$|[;&|]|\s)")
CLOSING = ("fi", "done", "esac", "}")
VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-+])([^{}]*))?\})")


class _Command(Exception):
    """A value that only a shell could tell."""


@dataclass
class _Script:
    """A script while it is read."""

    text: str
    where: str
    values: dict[str, str]
    at: int = 0
    skipped: list[tuple[int, int]] = field(default_factory=list)

    def line(self, at: int | None = None) -> int:
        return self.text.count("\n", 0, self.at if at is None else at) + 1

    def error(self, what: str, at: int) -> ToolchainError:
        return ToolchainError(f"line {self.line(at)}: {what}", where=self.where,
                              advice="correct the script, or name the compiler with --toolchain")

    def skip_line(self) -> None:
        """Past a command, and past the whole of a block that it opens."""
        first, start, depth, opened = self.line(), self.at, 0, ""
        while True:
            end = self.text.find("\n", self.at)
            line = self.text[self.at : end if end >= 0 else len(self.text)]
            words = BLOCK.findall(QUOTED.sub(" ", line))
            opened = opened or next(iter(words), "")
            depth += sum(-1 if word in CLOSING else 1 for word in words)
            self.at = end + 1 if end >= 0 else len(self.text)
            if depth <= 0 and (end < 0 or not line.endswith("\\")):
                break
            if end < 0:
                raise self.error(f"`{opened}` has no end", start)
        self.skipped.append((first, self.line(self.at - 1) if end >= 0 else self.line()))


def read(text: str, where: str,
         inherited: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Variables after the script, starting from `inherited`, and notes of what was not run.

    Raises ToolchainError with the line of what cannot be read.
    """
    script = _Script(text.replace("\r\n", "\n"), where, dict(inherited))
    while script.at < len(script.text):
        _statement(script)
    return script.values, _notes(script)


def _statement(script: _Script) -> None:
    if end := END.match(script.text, script.at):
        script.at = end.end()
    elif found := NAMES.match(script.text, script.at):
        if found[1] == "unset":
            for name in found[2].split():
                script.values.pop(name, None)
        script.at = found.end()
    elif found := ASSIGNMENT.match(script.text, script.at):
        _assign(script, found)
    else:
        script.skip_line()


def _assign(script: _Script, found: re.Match[str] | None) -> None:
    """One statement: all its assignments, or none where a command must run for one of them."""
    start, assigned = script.at, dict[str, str]()
    try:
        while found:
            script.at = found.end()
            assigned[found[1]] = _word(script)
            found = MORE.match(script.text, script.at)
        if not END.match(script.text, script.at):
            raise _Command
    except _Command:
        script.at = start
        script.skip_line()
        return
    script.values |= assigned


def _word(script: _Script) -> str:
    """A value from where the script stands to the end of the word."""
    start, made = script.at, list[str]()
    text = script.text
    while script.at < len(text) and text[script.at] not in " \t\n;":
        char = text[script.at]
        if char == "'":
            end = text.find("'", script.at + 1)
            if end < 0:
                raise script.error("a quote ' has no end", start)
            made.append(text[script.at + 1 : end])
            script.at = end + 1
        elif char == '"':
            script.at += 1
            made.append(_quoted(script))
        elif char in "&|<>()`":
            raise _Command
        else:
            made.append(_next(script, escapes=None))
    return "".join(made)


def _quoted(script: _Script) -> str:
    """What stands between double quotes, the first of which is read already."""
    start, made = script.at - 1, list[str]()
    while script.at < len(script.text):
        if script.text[script.at] == '"':
            script.at += 1
            return "".join(made)
        made.append(_next(script, escapes='"$`\\'))
    raise script.error('a quote " has no end', start)


def _next(script: _Script, escapes: str | None) -> str:
    """One character, escape or variable; `escapes`: what a backslash may stand before."""
    text, at = script.text, script.at
    script.at += 1
    if text[at] == "\\" and script.at < len(text):
        script.at += 1
        escaped = text[at + 1]
        if escaped == "\n":
            return ""
        return escaped if escapes is None or escaped in escapes else "\\" + escaped
    if text[at] == "`" or text.startswith("$(", at):
        raise _Command
    return _variable(script, at) if text[at] == "$" else text[at]


def _variable(script: _Script, at: int) -> str:
    found = VARIABLE.match(script.text, at)
    if found is None:
        if script.text.startswith("${", at):
            raise script.error("only $NAME, ${NAME}, ${NAME:-word} and ${NAME:+word} are read", at)
        if script.text[at + 1 : at + 2].strip(' "\'/'):
            raise _Command  # $1, $?, $$: only a shell knows
        return "$"
    script.at = found.end()
    value, form = script.values.get(found[1] or found[2]), found[3] or ""
    there = bool(value) if form.startswith(":") else value is not None
    if form.endswith("+"):
        return found[4] if there else ""
    return value or "" if there or not form else found[4]


def _notes(script: _Script) -> tuple[str, ...]:
    """One line for all that was passed over."""
    if not script.skipped:
        return ()
    merged: list[list[int]] = []
    for first, last in script.skipped:
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = last
        else:
            merged.append([first, last])
    lines = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in merged)
    return (f"{script.where}: read, not run: commands in line {lines} had no effect",)
