"""Files of a board over SSH: through sftp, or through `cat` and friends where there is no sftp.

Both forms raise OSError with the board's reason.
"""

from __future__ import annotations

import errno
import posixpath
import secrets
from collections.abc import Callable
from typing import Any, Protocol

from edgecc.errors import BoardError
from edgecc.rpc.transport.base import CHUNK_BYTES

WRITE = 'umask 077; cat > "$1" && chmod "$2" "$1"'
SIZE = 'if test -f "$1"; then wc -c < "$1"; fi'
READ = 'head -c "$2" < "$1"'
Sent = Callable[[int], None]


class Files(Protocol):
    """What an upload needs."""

    def make_folders(self, path: str) -> None: ...

    def write(self, path: str, data: bytes, mode: int, sent: Sent) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def read(self, path: str, limit_bytes: int) -> bytes: ...

    def size(self, path: str) -> int | None: ...

    def remove(self, path: str) -> None: ...


class Upload:
    """One file on its way: to a draft first, then renamed, so it is whole or not there."""

    def __init__(self, path: str, content: bytes, executable: bool):
        self.path, self.content = path, content
        self.folder, name = posixpath.split(path)
        self.draft = posixpath.join(self.folder, f".{name}.{secrets.token_hex(6)}.part")
        self.mode = 0o700 if executable else 0o600
        self.sent_bytes = 0

    def send(self, files: Files) -> None:
        files.make_folders(self.folder)
        files.write(self.draft, self.content, self.mode, self._sent)
        arrived = files.size(self.draft)
        if arrived != len(self.content):
            raise OSError(errno.EIO, f"only {arrived or 0:,} of {len(self.content):,} B arrived")
        files.rename(self.draft, self.path)

    def _sent(self, count: int) -> None:
        self.sent_bytes += count

    def explain(self, error: BaseException, free_bytes: int | None, board: str) -> BoardError:
        """Why a living board did not take the file."""
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        needed = len(self.content)
        if "No space left" in reason or (free_bytes is not None and free_bytes < needed):
            available = "unknown" if free_bytes is None else f"{free_bytes:,} B"
            return BoardError(f"the disk is full, {self.path} was not written", where=board,
                              needed=f"{needed:,} B", available=available,
                              advice="free some space, or set workdir of the board elsewhere")
        if getattr(error, "errno", None) == errno.EACCES or "ermission denied" in reason:
            return BoardError(f"no permission to write {self.path}", where=board,
                              advice="set workdir of the board to a folder you may write to")
        return BoardError(f"cannot write {self.path}: {reason}", where=board,
                          needed=f"{needed:,} B",
                          advice="check quota and workdir of the board")


class SftpFiles:
    """Through an sftp session."""

    def __init__(self, sftp: Any):
        self._sftp = sftp

    def make_folders(self, path: str) -> None:
        missing = []
        while path and path != "/" and not self._exists(path):
            missing.append(path)
            path = posixpath.dirname(path)
        for folder in reversed(missing):
            try:
                self._sftp.mkdir(folder, 0o700)
            except OSError:
                if not self._exists(folder):  # another session may have been faster
                    raise

    def _exists(self, path: str) -> bool:
        try:
            self._sftp.stat(path)
        except FileNotFoundError:
            return False
        return True

    def write(self, path: str, data: bytes, mode: int, sent: Sent) -> None:
        with self._sftp.open(path, "wx") as file:
            file.chmod(mode)
            file.set_pipelined(True)
            for start in range(0, len(data), CHUNK_BYTES):
                chunk = data[start : start + CHUNK_BYTES]
                file.write(chunk)
                sent(len(chunk))

    def rename(self, old: str, new: str) -> None:
        try:
            self._sftp.posix_rename(old, new)
        except OSError:  # an old server: plain rename does not replace
            self.remove(new)
            self._sftp.rename(old, new)

    def read(self, path: str, limit_bytes: int) -> bytes:
        with self._sftp.open(path, "rb") as file:
            return file.read(limit_bytes)

    def size(self, path: str) -> int | None:
        try:
            return self._sftp.stat(path).st_size
        except FileNotFoundError:
            return None

    def remove(self, path: str) -> None:
        try:
            self._sftp.remove(path)
        except FileNotFoundError:
            return


class ShellFiles:
    """Through the login shell's commands; `transport` is the SshTransport."""

    def __init__(self, transport: Any):
        self._transport = transport

    def _do(self, *argv: str) -> bytes:
        code, out, err = self._transport.answer(argv)
        _check(code, err)
        return out

    def make_folders(self, path: str) -> None:
        self._do("mkdir", "-p", "--", path)

    def write(self, path: str, data: bytes, mode: int, sent: Sent) -> None:
        process = self._transport.run(["sh", "-c", WRITE, "edgecc", path, f"{mode:o}"])
        try:
            for start in range(0, len(data), CHUNK_BYTES):
                chunk = data[start : start + CHUNK_BYTES]
                self._send(process, chunk)
                sent(len(chunk))
            process.close_stdin()
            while process.read(CHUNK_BYTES):
                pass
            _check(process.wait(), process.stderr())
        finally:
            process.close()

    def _send(self, process: Any, chunk: bytes) -> None:
        try:
            process.write(chunk)
        except BoardError as error:  # cat has ended: its own words are the reason
            if process.wait(1.0) is not None:
                _check(process.wait(), process.stderr())
            raise OSError(errno.EIO, error.what) from error

    def rename(self, old: str, new: str) -> None:
        self._do("mv", "-f", "--", old, new)

    def read(self, path: str, limit_bytes: int) -> bytes:
        process = self._transport.run(["sh", "-c", READ, "edgecc", path, str(limit_bytes)])
        try:
            data = bytearray()
            while chunk := process.read(CHUNK_BYTES):
                data += chunk
            _check(process.wait(), process.stderr())
            return bytes(data)
        finally:
            process.close()

    def size(self, path: str) -> int | None:
        text = self._do("sh", "-c", SIZE, "edgecc", path).strip()
        return int(text) if text.isdigit() else None

    def remove(self, path: str) -> None:
        self._do("rm", "-f", "--", path)


def _check(code: int | None, stderr: bytes) -> None:
    if code != 0:
        words = stderr.decode(errors="replace").strip().splitlines()
        raise OSError(errno.EIO, words[-1] if words else f"exit code {code}")
