"""Labels: the right answers for a data set, from files, folder names or arrays.

Which number a class has is never guessed: it comes from a list of names, from numbers in a file,
or from folders that are called by their number.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgecc.data.pictures import Picture
from edgecc.errors import ConfigError

MAX_BYTES = 256 << 20


def class_names(path: Path) -> list[str]:
    """One name per line, in the order of the model's outputs. Raises ConfigError."""
    names = [line.strip() for line in _text(path).splitlines()]
    while names and not names[-1]:
        names.pop()
    if not names or not all(names) or len(set(names)) != len(names):
        raise ConfigError("is no list of different class names, one per line", where=str(path))
    return names


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError("is too large for a file of labels", where=str(path),
                              available=f"{MAX_BYTES:,} B")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"labels cannot be read: {error}", where=str(path)) from error


def of_pictures(pictures: Sequence[Picture], source: Any, folder: Path) -> np.ndarray | None:
    """A class number per picture; None where nothing tells.

    `source`: a list of names (.txt) for subfolders, a .csv of `file,number`, an array in the
    order of the pictures, or None. Raises ConfigError.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix == ".csv":
            return _from_table(pictures, path)
        return _from_folders(pictures, class_names(path), f"{folder} by {path}")
    if source is not None:
        return of_arrays(source, {}, len(pictures))
    names = {picture.folder for picture in pictures}
    if names == {None}:
        return None
    if None in names or not all(str(name).isdecimal() for name in names):
        found = sorted(str(name) for name in names if name)
        raise ConfigError(
            "which class has which number is not declared", where=str(folder),
            needed="a file with one class name per line, in the order of the model's outputs",
            available=f"folders {', '.join(found[:8])}{' ...' if len(found) > 8 else ''}",
            advice="give it as labels (--labels names.txt)")
    return np.array([int(str(picture.folder)) for picture in pictures], np.int64)


def _from_folders(pictures: Sequence[Picture], names: list[str], where: str) -> np.ndarray:
    numbers = {name: i for i, name in enumerate(names)}
    for picture in pictures:
        if picture.folder not in numbers:
            raise ConfigError(f"{picture.path.name} lies in no folder that is called by a class",
                              where=where, needed=", ".join(names[:8]),
                              available=picture.folder or "no subfolder")
    return np.array([numbers[str(picture.folder)] for picture in pictures], np.int64)


def _from_table(pictures: Sequence[Picture], path: Path) -> np.ndarray:
    rows = {row[0]: row[-1] for row in _rows(path) if len(row) > 1}
    found = []
    for picture in pictures:
        name = "/".join(filter(None, (picture.folder, picture.path.name)))
        if name not in rows:
            raise ConfigError(f"has no row for {name}", where=str(path),
                              needed="rows of file,class number")
        found.append(_number(rows[name], path))
    return np.array(found, np.int64)


def _rows(path: Path) -> list[list[str]]:
    """Rows of a .csv; a first row without a number at its end is a head."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(_text(path).splitlines()) if row]
    return rows[1:] if rows and not rows[0][-1].lstrip("-").isdecimal() else rows


def _number(text: str, path: Path) -> int:
    if not text.isdecimal():
        raise ConfigError(f"label {text[:40]!r} is no class number", where=str(path),
                          advice="number the classes in the order of the model's outputs, from 0")
    return int(text)


def of_arrays(source: Any, arrays: Mapping[str, Any], count: int | None) -> np.ndarray | None:
    """One label per sample: `source` is the name of one of `arrays`, a .csv whose rows end in a
    class number, an array, or None. Raises ConfigError."""
    if source is None:
        return None
    if isinstance(source, str) and source in arrays:
        found = np.asarray(arrays[source])
    elif isinstance(source, str | Path):
        found = _from_rows(Path(source), arrays)
    else:
        found = np.asarray(source)
    if not found.ndim or (count is not None and len(found) != count):
        raise ConfigError("the labels do not go with the samples", where="labels",
                          needed=f"{count} labels", available=f"an array of {found.shape}")
    return found


def _from_rows(path: Path, arrays: Mapping[str, Any]) -> np.ndarray:
    if path.suffix != ".csv":
        raise ConfigError(f"{str(path)!r} is neither an array of the data nor a .csv",
                          where="labels", available=", ".join(arrays) or "no arrays")
    return np.array([_number(row[-1], path) for row in _rows(path)], np.int64)
