"""Boards by name: built-in ones, and those of boards.toml files.

A file holds one table per board; its keys are Board's fields:

    [pi5]
    transport = "ssh"
    target = "raspberry-pi-5"
    host = "192.168.1.40"
    user = "pi"

Paths in a file are relative to the file; `~` is the home folder.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from edgecc.errors import BoardError
from edgecc.rpc.board import JUMP, KINDS, Board
from edgecc.targets import all_targets, get_target

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

TYPES: dict[str, tuple[type, ...]] = {
    "transport": (str,), "target": (str,), "host": (str,), "port": (int, str), "user": (str,),
    "key": (str,), "known_hosts": (str,), "jump": (str,), "ssh_config": (bool,),
    "workdir": (str,), "emulator": (list,), "cpus": (list,), "baud": (int,), "flash": (list,),
    "cpu": (int,),
    "timeout_s": (int, float), "connect_timeout_s": (int, float),
}
WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
ITEMS: dict[str, type] = {"emulator": str, "flash": str, "cpus": int}
SERIAL_ONLY = ("baud", "flash")
PATHS = ("key", "known_hosts")
MOST_CPUS = 1024
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def built_in_boards() -> dict[str, Board]:
    """`host`, `emulated-<target>` for every target that QEMU can run, and `fake` for tests."""
    boards = [Board("host", "local", "host"), Board("fake", "fake", "null")]
    for target in all_targets().values():
        if target.emulator:
            boards.append(Board(f"emulated-{target.name}", "emulator", target.name,
                                emulator=target.emulator))
    return {board.name: board for board in boards}


def load_boards(files: Iterable[Path | str] = ()) -> dict[str, Board]:
    """Built-in boards and those of the files; a file that does not exist is passed over, and the
    first file that names a board wins (so name the project's file before the user's).

    Raises BoardError for a damaged file, an unknown key, or a value of the wrong type.
    """
    boards = built_in_boards()
    reserved = set(boards)
    for file in map(Path, files):
        for name, table in _tables(file).items():
            where = f"{file}: [{name}]"
            if name in reserved:
                raise BoardError(f"{name!r} is a built-in board", where=where,
                                 advice="give yours another name")
            board = _board(name, table, file, where)
            boards.setdefault(name, board)
    return boards


def get_board(name: str, files: Iterable[Path | str] = ()) -> Board:
    """Raises BoardError with near matches for an unknown name."""
    boards = load_boards(files)
    if name in boards:
        return boards[name]
    near = difflib.get_close_matches(name, boards, n=3, cutoff=0.4)
    raise BoardError(
        f"unknown board {name!r}",
        advice=f"did you mean {' or '.join(near)}?" if near else "`edgecc boards` lists them",
    )


def _tables(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BoardError(f"cannot be read: {error}", where=str(file)) from error


def _board(name: str, table: Any, file: Path, where: str) -> Board:
    if not isinstance(table, dict) or not NAME.fullmatch(name):
        raise BoardError("is not a board: expected a table named with letters, digits, '-', '_'",
                         where=where, advice='write [my-board] and below it transport = "ssh"')
    for key, value in table.items():
        _check_type(key, value, where)
    values = {key: _place(key, value, file) for key, value in table.items()}
    _check_values(values, where)
    get_target(values["target"])
    if values["transport"] == "serial":
        values = _serial(values, where)
    if "cpu" in values:  # the short form for one
        values["cpus"] = (values.pop("cpu"),)
    return Board(name=name, **values)


def _serial(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The port's path, and the baud of the target's programs where the file says none."""
    target = get_target(values["target"])
    own = target.serial
    if own is None:
        raise BoardError(f"no program of {target.name} speaks over a serial line", where=where,
                         advice="its target has no `serial`: see targets/README.md")
    if values.get("baud", own.baud) != own.baud:
        raise BoardError(f"programs of {target.name} speak at another baud rate", where=where,
                         needed=f"{own.baud:,} baud", available=f"{values['baud']:,} baud",
                         advice="leave out baud, or change `serial` of the target")
    return {**{k: v for k, v in values.items() if k != "port"}, "line": values["port"],
            "baud": own.baud}


def _check_type(key: str, value: Any, where: str) -> None:
    if key not in TYPES:
        near = difflib.get_close_matches(key, TYPES, n=1)
        raise BoardError(
            f"unknown key {key!r}", where=where,
            advice=f"did you mean {near[0]}?" if near else f"known keys are {', '.join(TYPES)}",
        )
    fits = isinstance(value, TYPES[key]) and isinstance(value, bool) == (TYPES[key] == (bool,))
    kinds = TYPES[key][-1:] if float in TYPES[key] else TYPES[key]
    words = " or ".join(WORDS.get(kind, "") for kind in kinds)
    if key in ITEMS:
        fits = fits and bool(value) and all(type(v) is ITEMS[key] and v != "" for v in value)
        words = f"a list of {'strings' if ITEMS[key] is str else 'whole numbers'}"
    if not fits:
        raise BoardError(f"{key} = {value!r} is not {words}", where=where)


def _place(key: str, value: Any, file: Path) -> Any:
    if key in PATHS:
        return str(file.parent / Path(value).expanduser())
    return tuple(value) if isinstance(value, list) else value


def _check_values(values: Mapping[str, Any], where: str) -> None:
    for key in ("transport", "target"):
        if key not in values:
            raise BoardError(f"{key} is missing", where=where)
    kind = values["transport"]
    if kind not in KINDS:
        raise BoardError(f"transport = {kind!r} is not implemented", where=where,
                         advice=f"choose one of {', '.join(KINDS)}")
    for key, needed_by in (("host", "ssh"), ("emulator", "emulator"), ("port", "serial")):
        if kind == needed_by and not values.get(key):
            raise BoardError(f'{key} is missing (transport = "{kind}" needs it)', where=where)
    if not JUMP.fullmatch(values.get("jump", "x")):
        raise BoardError(f"jump = {values['jump']!r} is not one host", where=where,
                         advice='write jump = "user@gateway" or "user@gateway:port"')
    _check_serial(values, where)
    if kind != "serial" and not 0 < values.get("port", 22) < 65536:
        raise BoardError(f"port = {values['port']} is outside 1 to 65535", where=where)
    if {"cpu", "cpus"} <= values.keys():
        raise BoardError("has both cpu and cpus", where=where, advice="keep one of them")
    if not 0 <= values.get("cpu", 0) < MOST_CPUS:
        raise BoardError(f"cpu = {values['cpu']} is outside 0 to {MOST_CPUS - 1}", where=where)
    if not all(0 <= cpu < MOST_CPUS for cpu in values.get("cpus", ())):
        raise BoardError(f"cpus = {list(values['cpus'])} are not all from 0 to {MOST_CPUS - 1}",
                         where=where)
    for key in ("timeout_s", "connect_timeout_s"):
        if not 0 < values.get(key, 1) < 1e6:
            raise BoardError(f"{key} = {values[key]} is not between 0 and 1,000,000", where=where)


def _check_serial(values: Mapping[str, Any], where: str) -> None:
    is_serial = values["transport"] == "serial"
    if "port" in values and isinstance(values["port"], str) != is_serial:
        raise BoardError(f"port = {values['port']!r} is no port of such a board", where=where,
                         advice='write port = "/dev/ttyACM0" with transport = "serial", and a '
                         "number otherwise")
    for key in () if is_serial else SERIAL_ONLY:
        if key in values:
            raise BoardError(f'{key} is for boards with transport = "serial"', where=where)
    for key in ("emulator", "host") if is_serial else ():
        if key in values:
            raise BoardError(f'{key} is not for boards with transport = "serial"', where=where)
    if not any("{elf}" in word for word in values.get("flash", ("{elf}",))):
        raise BoardError("flash does not say what to flash", where=where,
                         advice="put {elf} where the command takes the program's file")
