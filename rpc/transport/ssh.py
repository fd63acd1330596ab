"""SshTransport: a board over SSH. Only the modules ssh*.py beside it know paramiko.

A server that refuses a second channel on a connection gets a new connection per channel.
"""

from __future__ import annotations

import hashlib
import logging
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import paramiko

from edgecc.errors import BoardError
from edgecc.rpc.board import Board
from edgecc.rpc.transport.base import read_all
from edgecc.rpc.transport.ssh_connect import LOG, Ask, Login
from edgecc.rpc.transport.ssh_files import Files, SftpFiles, ShellFiles, Upload
from edgecc.rpc.transport.ssh_process import SshProcess

SAY_PID = 'echo "edgecc-pid $$" >&2; exec "$@"'
SAY_PID_WITH_INPUT = 'echo "edgecc-pid $$" >&2; file="$1"; shift; exec "$@" < "$file"'
ANSWER_BYTES = 1 << 16


class SshTransport:
    """Programs and files of a board over SSH. `ask` gives a secret for a prompt, where somebody
    can be asked. Raises BoardError when it cannot log in."""

    def __init__(self, board: Board, ask: Ask | None = None):
        logging.getLogger(LOG).addHandler(logging.NullHandler())
        self.board = board
        self.workdir = board.workdir or ".cache/edgecc"
        self._login = Login(board, ask)
        self._clients = [self._login.connect()]
        self._processes: list[SshProcess] = []
        self._file_access: Files | None = None

    def run(self, argv: Sequence[str], *, stdin_path: str | None = None) -> SshProcess:
        script = [SAY_PID_WITH_INPUT, "edgecc", stdin_path] if stdin_path else [SAY_PID, "edgecc"]
        process = self._start(shlex.join(["sh", "-c", *script, *argv]))
        self._processes.append(process)
        return process

    def _start(self, command: str) -> SshProcess:
        channel, release = self._channel()
        try:
            channel.exec_command(command)
        except (paramiko.SSHException, OSError, EOFError) as error:
            release()
            raise self._dropped("while a program was started", error) from error
        return SshProcess(self.board, channel, self._kill, release)

    def _channel(self) -> tuple[paramiko.Channel, Callable[[], None]]:
        """A new channel, and what to call when it is done with."""
        try:
            channel = self._open_session(self._clients[0])
            return channel, channel.close
        except paramiko.ChannelException:  # busy, and the server allows one per connection
            return self._channel_of_its_own()

    def _open_session(self, client: paramiko.SSHClient) -> paramiko.Channel:
        transport = client.get_transport()
        try:
            if transport is None:
                raise EOFError("closed")
            return transport.open_session(timeout=self.board.timeout_s)
        except paramiko.ChannelException:
            raise
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise self._dropped("before a program was started", error) from error

    def _channel_of_its_own(self) -> tuple[paramiko.Channel, Callable[[], None]]:
        client = self._login.connect()
        self._clients.append(client)
        try:
            channel = self._open_session(client)
        except BoardError:
            self._hang_up(client)
            raise
        except paramiko.ChannelException as error:
            self._hang_up(client)
            raise BoardError(f"the server opens no session: {error}", where=self.board.name,
                             advice="check the login shell and the limits of the user") from error
        return channel, lambda: self._hang_up(client)

    def _hang_up(self, client: paramiko.SSHClient) -> None:
        client.close()
        if client in self._clients:
            self._clients.remove(client)

    def _dropped(self, when: str, error: BaseException) -> BoardError:
        return BoardError(f"the connection dropped {when} ({error or type(error).__name__})",
                          where=self.board.name, advice="check power and network, then try again")

    def _kill(self, pid: int) -> None:
        self.answer(["sh", "-c", 'kill -KILL "$1"', "edgecc", str(pid)])

    def answer(self, argv: Sequence[str], stdin: bytes = b"") -> tuple[int | None, bytes, bytes]:
        """Runs a short command to its end: (exit code, stdout, stderr)."""
        process = self._start(shlex.join(argv))
        try:
            process.write(stdin)
            process.close_stdin()
            out = read_all(process, ANSWER_BYTES)
            return process.wait(), out, process.stderr()
        finally:
            process.abandon()

    @property
    def _files(self) -> Files:
        """File access over sftp, or through `cat` when the server has no sftp."""
        if self._file_access is None:
            channel, release = self._channel()
            channel.settimeout(self.board.timeout_s)
            try:
                channel.invoke_subsystem("sftp")
                self._file_access = SftpFiles(paramiko.SFTPClient(channel))
            except (paramiko.SSHException, EOFError, OSError) as error:
                if not self._alive():
                    raise self._dropped("while sftp was started", error) from error
                release()
                self._file_access = ShellFiles(self)
        return self._file_access

    def _alive(self) -> bool:
        transports = [client.get_transport() for client in self._clients]
        return all(transport is not None and transport.is_active() for transport in transports)

    def put(self, data: bytes | Path, path: str, *, executable: bool = False) -> None:
        content = data.read_bytes() if isinstance(data, Path) else data
        upload = Upload(path, content, executable)
        try:
            upload.send(self._files)
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise self._upload_error(upload, error) from error
        except BoardError as error:
            if not self._alive():
                raise self._upload_error(upload, error) from error
            self._discard(upload.draft)
            raise
        except BaseException:
            self._discard(upload.draft)
            raise

    def _upload_error(self, upload: Upload, error: BaseException) -> BoardError:
        free = self._free_bytes(upload.folder) if self._alive() else None
        # Asked again: sftp hears of a lost connection before paramiko, as the end of its channel.
        alive = self._alive() and not isinstance(error, EOFError)
        self._discard(upload.draft)
        if not alive:
            return self._dropped(f"after {upload.sent_bytes:,} of {len(upload.content):,} B of "
                                 f"{upload.path}", error)
        return upload.explain(error, free, self.board.name)

    def _free_bytes(self, folder: str) -> int | None:
        try:
            _, out, _ = self.answer(["df", "-Pk", "--", folder])
        except BoardError:
            return None
        fields = out.decode(errors="replace").splitlines()[-1:] or [""]
        numbers = fields[0].split()
        return int(numbers[3]) * 1024 if len(numbers) > 4 and numbers[3].isdigit() else None

    def _discard(self, draft: str) -> None:
        """Removes a half-written file, over a new connection if need be: also where the old one
        seemed alive until it was asked."""
        removal = ["rm", "-f", "--", draft]
        with suppress(BoardError):
            if self._alive():
                self.answer(removal)
                return
        try:
            self._connect_again()
            self.answer(removal)
        except BoardError as error:
            logging.getLogger(LOG).warning("%s was left on the board: %s", draft, error)

    def _connect_again(self) -> None:
        for client in self._clients:
            client.close()
        self._clients, self._file_access = [self._login.connect()], None

    def get(self, path: str, limit_bytes: int) -> bytes:
        data = self._ask(lambda: self._files.read(path, limit_bytes + 1), f"read {path}")
        if len(data) > limit_bytes:
            raise BoardError(f"{path} is too large", where=self.board.name,
                             available=f"{limit_bytes:,} B")
        return data

    def size(self, path: str) -> int | None:
        return self._ask(lambda: self._files.size(path), f"look at {path}")

    def sha256(self, path: str) -> str:
        code, out, _ = self.answer(["sha256sum", "--", path])
        digest = out.split(b" ", 1)[0].lstrip(b"\\").decode(errors="replace")
        if code == 0 and len(digest) == 64:
            return digest
        return hashlib.sha256(self.get(path, self.size(path) or 0)).hexdigest()

    def remove(self, path: str) -> None:
        self._ask(lambda: self._files.remove(path), f"remove {path}")

    def _ask(self, question: Callable, doing: str):
        try:
            return question()
        except (OSError, EOFError, paramiko.SSHException) as error:
            if not self._alive():
                raise self._dropped(f"while edgecc tried to {doing}", error) from error
            reason = getattr(error, "strerror", None) or str(error)
            raise BoardError(f"cannot {doing}: {reason}", where=self.board.name) from error

    def close(self) -> None:
        try:
            for process in self._processes:
                process.close()
        finally:
            self._processes.clear()
            for client in list(self._clients):
                client.close()

    def __enter__(self) -> SshTransport:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

