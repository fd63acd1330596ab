"""edgecc.toml in the working directory: a project's target, boards and toolchain.

    target = "raspberry-pi-5"
    boards = "site/boards.toml"

    [toolchain]
    cc = "aarch64-linux-gnu-gcc"         # or env = "environment-setup-..." or buildroot-host
    sysroot = "sysroot"
    cflags = ["-mtune=cortex-a76"]
    ldflags = []
    libc = "glibc"

    [knobs]
    tiles = "tiles.json"                 # or a table: tiles = {conv_1 = "4x16"}
    fusion-max-operators = 4
    fusion-min-score = 0.2
    parallel-chunk = 20000
    unroll = 150

Paths are relative to the file. Arguments of a command go before it.
"""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgecc.cli.knobs import NUMBERS, Knobs
from edgecc.cli.toolchains import Choice
from edgecc.errors import ConfigError

FILE = Path("edgecc.toml")
KEYS: dict[str, type | tuple[type, ...]] = {"target": str, "boards": str, "toolchain": dict,
                                           "knobs": dict}
TOOLCHAIN: dict[str, type | tuple[type, ...]] = {
    "cc": (str, list), "env": str, "buildroot-host": str, "sysroot": str, "cflags": list,
    "ldflags": list, "libc": str,
}
KNOBS: dict[str, type | tuple[type, ...]] = {
    "tiles": (str, dict), **{
        name.replace("_", "-"): (int, float) if kind is float else int
        for name, kind in NUMBERS.items()}}
WORDS = {int: "a whole number", (int, float): "a number", (str, dict): "a file or a table",
         str: "a string", list: "a list of strings", dict: "a table",
         (str, list): "a string or a list of strings"}


@dataclass(frozen=True)
class Project:
    """What the file says; all of it may be absent."""

    target: str | None = None
    boards: Path | None = None
    toolchain: Choice = Choice()
    knobs: Knobs = Knobs()


def read(file: Path = FILE) -> Project:
    """The project, empty where there is no file. Raises ConfigError for anything unexpected."""
    table = _table(file)
    _check(table, KEYS, str(file))
    chain, where = table.get("toolchain", {}), f"{file}: [toolchain]"
    _check(chain, TOOLCHAIN, where)
    return Project(table.get("target"), _path(file, table, "boards"), Choice(
        cc=_command(chain.get("cc"), where),
        env=_path(file, chain, "env"),
        buildroot_host=_path(file, chain, "buildroot-host"),
        sysroot=str(sysroot) if (sysroot := _path(file, chain, "sysroot")) else None,
        cflags=tuple(chain.get("cflags", ())), ldflags=tuple(chain.get("ldflags", ())),
        libc=chain.get("libc"),
    ).check(where), _knobs(file, table.get("knobs", {})))


def _knobs(file: Path, table: Mapping[str, Any]) -> Knobs:
    _check(table, KNOBS, f"{file}: [knobs]")
    tiles = table.get("tiles", {})
    named = isinstance(tiles, str)
    return Knobs(_path(file, table, "tiles") if named else None, {} if named else tiles,
                 **{name: table.get(name.replace("_", "-")) for name in NUMBERS})


def _table(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:  # pragma: no cover
        import tomli as tomllib
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(file)) from error


def _check(table: Mapping[str, Any], keys: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            raise ConfigError(f"unknown key {key!r}", where=where, advice=(
                f"did you mean {near[0]}?" if near else f"known keys are {', '.join(keys)}"))
        words = isinstance(value, list) and all(isinstance(word, str) for word in value)
        wrong = not isinstance(value, keys[key]) or isinstance(value, bool)
        if wrong or (isinstance(value, list) and not words) or (
                value == "" or value == [] and key == "cc"):
            raise ConfigError(f"{key} = {value!r} is not {WORDS[keys[key]]}", where=where)


def _path(file: Path, table: Mapping[str, Any], key: str) -> Path | None:
    return file.parent / Path(table[key]).expanduser() if key in table else None


def _command(value: str | list[str] | None, where: str) -> tuple[str, ...] | None:
    if value is None or isinstance(value, list):
        return None if value is None else tuple(value)
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise ConfigError(f"cc = {value!r}: {error}", where=where) from error
