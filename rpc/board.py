"""Board: a thing on a desk, as passive site facts. The verbs that use it live elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

# no devices but the chip; the program's streams are this process's own, through semihosting
MACHINE = ("-display", "none", "-monitor", "none", "-serial", "none", "-parallel", "none",
           "-no-reboot", "-semihosting-config", "enable=on,target=native", "-kernel")
KINDS = ("ssh", "local", "emulator", "serial", "fake")
SSH_PORT = 22
JUMP = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[^]\s]+\]|[^:@,\s]+)"
                  r"(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class Board:
    """Where a program runs and how it gets there.

    `transport` is ssh, local (this machine), emulator (this machine, through `emulator`), serial
    (a bare chip at the port `line` of this machine, at `baud`; `flash` is the argv that puts a
    program, `{elf}` in it, on the chip) or fake.
    `target` names the chip. `emulator` is put before every program of the target, also over ssh.
    `jump` ("user@gateway:port") is a host that leads to it; key and known_hosts serve both.
    `ssh_config`: ~/.ssh/config completes what is not said here.
    `key` and `known_hosts` are paths on this machine; `workdir` is a folder on the board (None:
    `.cache/edgecc` in the login folder over ssh, a folder in edgecc's cache otherwise).
    `cpus` pins the runner: its threads to these cores, one after the other (a runner of one
    thread to the first). `timeout_s` bounds every single answer of the board.
    """

    name: str
    transport: str
    target: str
    host: str | None = None
    port: int = SSH_PORT
    user: str | None = None
    key: str | None = None
    known_hosts: str | None = None
    jump: str | None = None
    ssh_config: bool = False
    workdir: str | None = None
    emulator: tuple[str, ...] = ()
    line: str | None = None
    baud: int | None = None
    flash: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    timeout_s: float = 60.0
    connect_timeout_s: float = 10.0

    @property
    def emulated(self) -> bool:
        """Whether the board's time is an emulator's: no latency is claimed then."""
        return bool(self.emulator) or self.transport in ("emulator", "fake")

    @property
    def is_machine(self) -> bool:
        """Whether the emulator is a whole machine, which runs one program and has no files."""
        return bool(self.emulator) and PurePath(self.emulator[0]).name.startswith("qemu-system-")

    def command(self, program: Sequence[str], options: Sequence[str] = ()) -> tuple[str, ...]:
        """The argv that runs a program of the target on this board. `options` are further ones
        of the emulator."""
        if self.is_machine:
            return (self.emulator[0], *options, *self.emulator[1:], *MACHINE, program[0])
        return (*self.emulator[:1], *options, *self.emulator[1:], *program)
