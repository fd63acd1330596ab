"""Logging in: through a jump host, with an agent, with passphrases and passwords, by ssh_config."""

import contextlib
import dataclasses
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import paramiko
import pytest

from edgecc.context import Asking
from edgecc.errors import BoardError
from edgecc.rpc import loopback
from edgecc.rpc.board import Board
from edgecc.rpc.transport import open_transport
from edgecc.rpc.transport.ssh_connect import Login, connect

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(loopback.find_server() is None, reason="needs openssh-server"),
]
FORWARDING = loopback.CONFIG.replace("AllowTcpForwarding no", "AllowTcpForwarding yes")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """No keys, no agent and no known hosts but the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def server():
    with loopback.start("host", ()) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(server):
    """A second server, that takes the first one's client key and forwards."""
    with loopback.start("host", (), config=FORWARDING) as running:
        shutil.copy(server.folder / "authorized_keys", running.folder / "authorized_keys")
        yield running


def behind(gateway, server, known=True, **fields):
    """The board behind the gateway; `known`: both host keys are."""
    both = gateway.folder / "both_hosts"
    both.write_text((server.folder / "known_hosts").read_text()
                    + (gateway.folder / "known_hosts").read_text() * known)
    board = gateway.board
    return dataclasses.replace(server.board, known_hosts=str(both),
                               jump=f"{board.user}@127.0.0.1:{board.port}", **fields)


def works(board, ask=None):
    with open_transport(board, Path(), ask) as transport:
        transport.put(b"data", f"{transport.workdir}/file")
        return transport.get(f"{transport.workdir}/file", 10) == b"data"


# Jump hosts


def test_a_board_behind_a_jump_host(gateway, server):
    with open_transport(behind(gateway, server), Path()) as transport:
        assert transport.answer(["echo", "there"])[1] == b"there\n"
        transport.put(b"data", f"{transport.workdir}/file")
        client = transport._clients[0]
        assert client.gateway.get_transport().getpeername() == ("127.0.0.1", gateway.board.port)
        assert isinstance(client.get_transport().sock, paramiko.Channel)
    assert client.gateway.get_transport() is None  # both ends are closed


def test_host_keys_are_verified_on_both(gateway, server):
    with pytest.raises(BoardError, match=f"loopback .jump host.: 127.0.0.1:{gateway.board.port} "
                       "shows an unknown host key"):
        connect(behind(gateway, server, known=False))
    board = dataclasses.replace(behind(gateway, server),
                                known_hosts=str(gateway.folder / "known_hosts"))
    with pytest.raises(BoardError, match=f"loopback: 127.0.0.1:{server.board.port} shows an "
                       "unknown host key"):
        connect(board)


def test_a_jump_host_that_does_not_forward(gateway, server):
    board = behind(server, server)
    with pytest.raises(BoardError, match="jump host .* does not reach 127.0.0.1:.*prohibited.*"
                       "AllowTcpForwarding"):
        connect(board)
    closed = behind(gateway, server, port=1)
    with pytest.raises(BoardError, match="jump host .* does not reach 127.0.0.1:1: .*failed"):
        connect(closed)


def test_a_jump_host_that_is_not_there(gateway, server):
    board = dataclasses.replace(behind(gateway, server), jump="127.0.0.1:1")
    with pytest.raises(BoardError, match="jump host.: 127.0.0.1:1 cannot be reached"):
        connect(board)


# Agent and passphrase


@contextlib.contextmanager
def agent(folder, *keys):
    for tool in ("ssh-agent", "ssh-add"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    path = str(folder / "agent")
    running = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(path):
            assert running.poll() is None
        subprocess.run(["ssh-add", "-q", *keys], check=True,
                       env={**os.environ, "SSH_AUTH_SOCK": path}, stdin=subprocess.DEVNULL)
        yield path
    finally:
        running.terminate()
        running.wait()


def locked(server, folder):
    """A copy of the client's key with a passphrase."""
    key = folder / "locked"
    shutil.copy(server.folder / "client_key", key)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", key], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return str(key)


def test_an_agent_has_the_key(server, home, monkeypatch):
    board = dataclasses.replace(server.board, key=None)
    with pytest.raises(BoardError, match="refused to let"):
        connect(board)
    with agent(home, str(server.folder / "client_key")) as path:
        monkeypatch.setenv("SSH_AUTH_SOCK", path)
        assert works(board)
        assert works(dataclasses.replace(board, key=locked(server, home)))


def test_a_passphrase_is_asked_for(server, home):
    board, asked = dataclasses.replace(server.board, key=locked(server, home)), []
    with pytest.raises(BoardError, match="locked has a passphrase; add it to ssh-agent"):
        connect(board)

    def ask(prompt):
        asked.append(prompt)
        return "sesame"

    assert works(board, ask) and asked == [f"Passphrase of {board.key}: "]


# Passwords, against a server of paramiko's own: OpenSSH checks them with the system's accounts


class Door(paramiko.ServerInterface):
    def __init__(self, ways):
        self.ways = ways

    def get_allowed_auths(self, username):
        return self.ways

    def check_auth_password(self, username, password):
        right = (username, password) == ("me", "sesame")
        return paramiko.AUTH_SUCCESSFUL if right else paramiko.AUTH_FAILED


@contextlib.contextmanager
def door(folder, ways="password"):
    """The board of a server that lets `me` in with a password."""
    key, sessions = paramiko.ECDSAKey.generate(), []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    session = paramiko.Transport(listening.accept()[0])
                    session.add_server_key(key)
                    sessions.append(session)
                    with contextlib.suppress(paramiko.SSHException, EOFError):
                        session.start_server(server=Door(ways))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        known = folder / "known"
        known.write_text(f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n")
        try:
            yield Board("door", "ssh", "host", host="127.0.0.1", port=port, user="me",
                        known_hosts=str(known))
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            for session in sessions:
                session.close()


def answers(*words):
    """(ask, prompts seen): gives one word after the other."""
    prompts, left = [], list(words)

    def ask(prompt):
        prompts.append(prompt)
        return left.pop(0)

    return ask, prompts


def test_a_password_is_asked_for_until_it_is_right_and_not_again(home):
    with door(home) as board:
        ask, prompts = answers("wrong", "sesame")
        login = Login(board, ask)
        for _ in range(2):
            client = login.connect()
            assert client.get_transport().is_authenticated()
            client.close()
        assert prompts == ["me@127.0.0.1's password: "] * 2
        assert "sesame" not in repr(board)


def test_a_password_is_known_to_every_connection_of_a_command(home):
    with door(home) as board:
        ask, prompts = answers("wrong", "sesame")
        asking = Asking(ask)
        for _ in range(2):
            connect(board, asking).close()
        assert len(prompts) == 2 and "sesame" not in repr(asking)
        asking.known[prompts[0]] = "stale"
        ask, more = answers("sesame")
        connect(board, Asking(ask, asking.known)).close()
        assert more == prompts[:1]


def test_three_wrong_passwords_are_enough(home):
    with door(home) as board:
        ask, prompts = answers("a", "b", "c", "d")
        with pytest.raises(BoardError, match="refused to let me log in"):
            connect(board, ask)
        assert len(prompts) == 3


def test_nobody_to_ask(home):
    with door(home) as board, pytest.raises(BoardError, match="asked for on a terminal only"):
        connect(board)


def test_a_server_that_takes_no_passwords_is_not_asked_about_one(server, home):
    ask, prompts = answers()
    with pytest.raises(BoardError):
        connect(dataclasses.replace(server.board, key=None), ask)
    assert prompts == []


# ~/.ssh/config


def configured(home, text):
    (home / ".ssh").mkdir(exist_ok=True)
    (home / ".ssh" / "config").write_text(text)


def of_config(server, **fields):
    return Board("mine", "ssh", "host", host="desk", workdir=str(server.folder / "board"),
                 ssh_config=True, **fields)


def test_ssh_config_is_read_when_asked(server, gateway, home):
    board, way = behind(gateway, server), gateway.board
    configured(home, f"Host desk\n HostName 127.0.0.1\n Port {board.port}\n User {board.user}\n"
               f" IdentityFile /no/such/key\n IdentityFile {board.key}\n ProxyJump gate\n"
               f"Host gate\n HostName 127.0.0.1\n Port {way.port}\n User {way.user}\n"
               f"Host *\n UserKnownHostsFile {board.known_hosts}\n")
    assert works(of_config(server))
    with pytest.raises(BoardError, match="host name desk is unknown|cannot be reached"):
        connect(dataclasses.replace(of_config(server), ssh_config=False))


def test_the_board_goes_before_ssh_config(server, home):
    board = server.board
    configured(home, "Host desk\n HostName 127.0.0.1\n Port 1\n User nobody\n IdentityFile /no\n"
               "ProxyJump none\n")
    assert works(of_config(server, port=board.port, user=board.user, key=board.key,
                           known_hosts=board.known_hosts))


def test_what_ssh_config_cannot_be(server, home):
    with pytest.raises(BoardError, match="~/.ssh/config cannot be read: No such file"):
        connect(of_config(server))
    configured(home, "Host desk\n ProxyCommand nc %h %p\n")
    with pytest.raises(BoardError, match="by a ProxyCommand, which is not run.*ProxyJump"):
        connect(of_config(server))
    configured(home, "Host 'desk\n")
    with pytest.raises(BoardError, match="~/.ssh/config cannot be read: "):
        connect(of_config(server))
