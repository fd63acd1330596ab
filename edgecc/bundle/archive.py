"""The archive: a mapping of paths to bytes as a deterministic zip, and back under suspicion.

Same mapping, same bytes. Nothing read is trusted: entries, sizes, ratios, names and kinds are
checked before a byte is unpacked, and nothing is ever unpacked to disk.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from edgecc.errors import BundleError

MAX_ENTRIES = 4096
MAX_TOTAL_BYTES = 4 << 30
MAX_RATIO = 100  # deflate reaches 1032; the writer stores what would shrink further
RATIO_FREE_BYTES = 1 << 16
DEFLATE_LEVEL = 6
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can hold
EXECUTABLE = frozenset({"runner/runner"})
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*")


def pack(files: Mapping[str, bytes]) -> bytes:
    """The zip of `files`, sorted by name, with fixed times, permissions and compression."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            archive.writestr(_entry(name, files[name]), files[name], compresslevel=DEFLATE_LEVEL)
    return buffer.getvalue()


def _entry(name: str, data: bytes) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.create_system = 3  # Unix, whatever runs this
    entry.external_attr = (0o100755 if name in EXECUTABLE else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_STORED if _shrinks_too_well(data) else zipfile.ZIP_DEFLATED
    return entry


def _shrinks_too_well(data: bytes) -> bool:
    if len(data) <= RATIO_FREE_BYTES:
        return False
    return len(zlib.compress(data, DEFLATE_LEVEL)) * (MAX_RATIO - 1) < len(data)


def unpack(data: bytes, where: str) -> dict[str, bytes]:
    """The files of a zip. Raises BundleError for anything a bundle never contains."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            check_entries(entries, len(data), where)
            return {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise BundleError(
            f"damaged or cut off: {error}", where=where, advice="copy or build it again"
        ) from error


def check_entries(entries: list[zipfile.ZipInfo], archive_bytes: int, where: str) -> None:
    """Raises BundleError unless the entries are plain files within all limits."""
    if len(entries) > MAX_ENTRIES:
        raise BundleError("too many files", where=where, needed=f"{len(entries)} files",
                          available=f"{MAX_ENTRIES} files")
    total = sum(entry.file_size for entry in entries)
    if total > MAX_TOTAL_BYTES:
        raise BundleError("too large when unpacked", where=where, needed=f"{total:,} B",
                          available=f"{MAX_TOTAL_BYTES:,} B")
    if sum(entry.compress_size for entry in entries) > archive_bytes:
        raise BundleError("entries overlap", where=where)
    seen: set[str] = set()
    for entry in entries:
        check_name(entry.filename, where)
        if entry.filename in seen:
            raise BundleError(f"holds {entry.filename!r} twice", where=where)
        seen.add(entry.filename)
        _check_kind(entry, where)


def check_name(name: str, where: str) -> None:
    """Raises BundleError for an absolute path, a '..', a drive, a backslash or a hidden file."""
    if len(name) > 200 or not NAME.fullmatch(name):
        raise BundleError(f"holds a file with the unsafe name {name[:80]!r}", where=where)


def _check_kind(entry: zipfile.ZipInfo, where: str) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or entry.flag_bits & 1:
        raise BundleError(f"{entry.filename!r} is not a plain file", where=where)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BundleError(f"{entry.filename!r} is packed in an unknown way", where=where)
    if entry.file_size > max(RATIO_FREE_BYTES, MAX_RATIO * entry.compress_size):
        raise BundleError(
            f"{entry.filename!r} unpacks to too much", where=where,
            needed=f"{entry.file_size:,} B from {entry.compress_size:,} B",
            available=f"{MAX_RATIO} times",
        )


def write_atomically(path: Path, data: bytes) -> None:
    """All of `data` at `path`, or nothing: a temporary file beside it, then a rename.

    What is there and no plain file (a pipe, /dev/stdout) is written to, not replaced. Raises
    BundleError when the folder is missing, read-only or full.
    """
    if path.exists() and not path.is_file():
        _write_into(path, data)
        return
    path = path.resolve() if path.is_symlink() else path
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise BundleError(f"cannot be written: {error.strerror}", where=str(path)) from error
    finally:
        draft.unlink(missing_ok=True)


def _write_into(path: Path, data: bytes) -> None:
    try:
        with open(path, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise BundleError(f"cannot be written: {error.strerror}", where=str(path)) from error
