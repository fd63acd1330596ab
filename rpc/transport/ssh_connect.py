"""Logging in over SSH: host keys, keys and agents, passwords, jump hosts.

Host keys are verified against the user's known_hosts and the board's own, on the jump host and
behind it; nothing is ever accepted on trust. Secrets are asked for only when keys do not do, and
live no longer than the Login, or the command that asks (`Asking`).
"""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import paramiko

from edgecc.errors import BoardError
from edgecc.rpc.board import JUMP, SSH_PORT, Board
from edgecc.rpc.transport import host_key
from edgecc.rpc.transport.ssh_config import with_ssh_config

LOG = "edgecc.ssh"
ASKED_TIMES = 3
TYPED = ("password", "keyboard-interactive")
BROKEN = (OSError, EOFError, paramiko.SSHException, ValueError)
Ask = Callable[[str], str]
"""A prompt to a secret."""


class UnknownHostKey(paramiko.SSHException):
    """The server's key is in no known_hosts file."""

    def __init__(self, key: paramiko.PKey):
        super().__init__("unknown host key")
        self.key = key


class _Refuse(paramiko.MissingHostKeyPolicy):
    def missing_host_key(self, client, hostname, key):
        raise UnknownHostKey(key)


class _Client(paramiko.SSHClient):
    """A connection that ends the one which carries it, too."""

    gateway: paramiko.SSHClient | None = None

    def close(self) -> None:
        super().close()
        if self.gateway is not None:
            self.gateway.close()


class Login:
    """A way to log in to one board, again and again. `ask` is None where nobody can be asked."""

    def __init__(self, board: Board, ask: Ask | None = None):
        self._board = with_ssh_config(board) if board.ssh_config else board
        self._ask = ask
        self._secrets: dict[str, Any] = {}
        self._tried: set[str] = set()  # prompts whose known answer did not do
        gateway = gateway_of(self._board)
        self._gateway = Login(gateway, ask) if gateway else None

    def connect(self) -> paramiko.SSHClient:
        """A logged-in connection. Raises BoardError saying which of the many things went wrong."""
        secrets = self._secrets
        for attempt in range(ASKED_TIMES + 1):
            client = self._client()
            try:
                self._log_in(client, secrets)
            except BROKEN as error:
                asked = self._asked(client, error) if attempt < ASKED_TIMES else None
                client.close()
                if asked is None:
                    raise _connect_error(self._board, error) from error
                secrets = asked
            except BaseException:
                client.close()
                raise
            else:
                self._secrets = secrets
                return client
        raise AssertionError("the last attempt returns or raises")

    def _client(self) -> _Client:
        client = _Client()
        client.set_log_channel(LOG)
        client.set_missing_host_key_policy(_Refuse())
        _load_known_hosts(client, self._board)
        client.gateway = self._gateway.connect() if self._gateway else None
        return client

    def _log_in(self, client: _Client, secrets: dict[str, Any]) -> None:
        board = self._board
        keys = {"key_filename": _key_of(board), "allow_agent": True,
                "look_for_keys": board.key is None}
        client.connect(
            str(board.host), board.port, board.user or getpass.getuser(),
            timeout=board.connect_timeout_s, banner_timeout=board.connect_timeout_s,
            auth_timeout=board.connect_timeout_s, sock=self._way(client), **(keys | secrets),
        )

    def _way(self, client: _Client) -> paramiko.Channel | None:
        """A channel through the jump host to the board; None for a plain connection."""
        board = self._board
        transport = client.gateway.get_transport() if client.gateway else None
        if transport is None:
            return None
        try:
            return transport.open_channel("direct-tcpip", (str(board.host), board.port),
                                          ("127.0.0.1", 0), timeout=board.connect_timeout_s)
        except BROKEN as error:
            raise BoardError(
                f"jump host {board.jump} does not reach {board.host}:{board.port}: {error}",
                where=board.name, advice="check host and port of the board, and whether the jump "
                "host allows forwarding (AllowTcpForwarding)",
            ) from error

    def _asked(self, client: _Client, error: Exception) -> dict[str, Any] | None:
        """Secrets that the user gave for another attempt; None when there is nothing to ask."""
        if self._ask is None:
            return None
        if isinstance(error, paramiko.PasswordRequiredException):
            return {"passphrase": self._secret(f"Passphrase of {self._board.key or 'your key'}: ")}
        user = self._board.user or getpass.getuser()
        if not _is_refusal(error) or not set(TYPED) & set(_allowed(client, user)):
            return None
        password = self._secret(f"{user}@{self._board.host}'s password: ")
        return {"password": password, "key_filename": None, "allow_agent": False,
                "look_for_keys": False}

    def _secret(self, prompt: str) -> str:
        """What was answered before, or for another board of this command; else what is now."""
        assert self._ask is not None
        known: dict[str, str] = getattr(self._ask, "known", {})
        if prompt in known and prompt not in self._tried:
            self._tried.add(prompt)
            return known[prompt]
        self._tried.add(prompt)
        return self._ask(prompt)


def gateway_of(board: Board) -> Board | None:
    """The jump host as a board of its own; None for a board that is reached directly."""
    found = JUMP.fullmatch(board.jump or "")
    if found is None:
        return None
    return replace(board, name=f"{board.name} (jump host)", jump=None, user=found["user"],
                   host=found["host"].strip("[]"), port=int(found["port"] or SSH_PORT))


def connect(board: Board, ask: Ask | None = None) -> paramiko.SSHClient:
    """One connection. Raises BoardError."""
    return Login(board, ask).connect()


def _is_refusal(error: Exception) -> bool:
    """Whether the server let nobody in; paramiko has no class for a user without any key."""
    return isinstance(error, paramiko.AuthenticationException) or (
        isinstance(error, paramiko.SSHException) and "authentication methods" in str(error))


def _allowed(client: paramiko.SSHClient, user: str) -> list[str]:
    """How the server would let the user log in."""
    transport = client.get_transport()
    if transport is None or not transport.is_active():
        return []
    try:
        transport.auth_none(user)
    except paramiko.BadAuthenticationType as error:
        return error.allowed_types
    except BROKEN:
        return []
    return []


def _load_known_hosts(client: paramiko.SSHClient, board: Board) -> None:
    users = Path("~/.ssh/known_hosts").expanduser()
    if users.is_file():
        client.load_system_host_keys(str(users))
    if board.known_hosts:
        if not Path(board.known_hosts).is_file():
            raise BoardError(f"known_hosts file {board.known_hosts} does not exist",
                             where=board.name)
        client.load_host_keys(board.known_hosts)


def _key_of(board: Board) -> str | None:
    if board.key and not Path(board.key).is_file():
        raise BoardError(f"key file {board.key} does not exist", where=board.name)
    return board.key


def _connect_error(board: Board, error: Exception) -> BoardError:
    address = f"{board.host}:{board.port}"
    match error:
        case UnknownHostKey():
            what, advice = host_key.unknown(board, error.key)
        case paramiko.BadHostKeyException():
            what, advice = host_key.changed(board, error.key, error.expected_key)
        case paramiko.PasswordRequiredException():
            what, advice = f"key {board.key or ''} has a passphrase", "add it to ssh-agent"
        case _ if _is_refusal(error):
            what = f"{address} refused to let {board.user or 'you'} log in"
            advice = ("check user and key of the board, and authorized_keys on it; a password is "
                      "asked for on a terminal only")
        case socket.gaierror():
            what, advice = f"host name {board.host} is unknown", "check host of the board"
        case TimeoutError():
            what = f"{address} did not answer within {board.connect_timeout_s:g} s"
            advice = "check power, network and host of the board"
        case OSError():
            reason = getattr(error, "strerror", None) or str(error)
            what, advice = f"{address} cannot be reached: {reason}", "check power, network and port"
        case _:
            what, advice = f"{address} does not speak SSH as expected: {error}", "check port"
    return BoardError(what, where=board.name, advice=advice)
