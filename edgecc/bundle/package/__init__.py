"""package: a bundle as a folder that another build system takes as it stands.

Formats: cmake and make bring the compiled library; c-source brings C99 (a folder) and, chosen by
a macro, the fast kernels as assembly; c-file is one C file and its header.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from edgecc.context import Context
from edgecc.errors import BundleError, ConfigError

Files = dict[str, bytes]


def formats() -> dict[str, Callable[[Any, Context], Files]]:
    """Every format by name."""
    from edgecc.bundle.package.c_file import files as c_file
    from edgecc.bundle.package.c_source import files as c_source
    from edgecc.bundle.package.cmake import files as cmake
    from edgecc.bundle.package.make import files as make

    return {"cmake": cmake, "make": make, "c-source": c_source, "c-file": c_file}


def package(bundle: Any, format: str, *, context: Context | None = None) -> Files:
    """The package's files by path. The same bundle gives the same bytes.

    Raises ConfigError for an unknown format, and for one that the bundle's target has no use for.
    """
    known = formats()
    if format not in known:
        near = difflib.get_close_matches(format, known, n=1)
        raise ConfigError(f"unknown format {format!r}",
                          advice=f"did you mean {near[0]}?" if near
                          else f"formats are {', '.join(known)}")
    return dict(sorted(known[format](bundle, context or Context()).items()))


def write(files: Files, folder: Path) -> None:
    """Writes a package into a new or an empty folder. Raises BundleError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BundleError("the folder is not empty", where=str(folder),
                              advice="name a new one")
        for path, data in files.items():
            target = folder / PurePosixPath(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    except OSError as error:
        raise BundleError(f"cannot be written: {error.strerror}", where=str(folder)) from error
