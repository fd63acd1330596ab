"""A chip in QEMU at a serial port of this machine: a pseudo-terminal that pyserial opens."""

import re
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import replace

import pytest

from edgecc.rpc.board import Board
from edgecc.targets import get_target

OPTIONS = ("-display", "none", "-monitor", "none", "-parallel", "none")


@contextmanager
def chip(target, elf, folder, port=0, **site):
    """A board `desk` that holds the program; its UART is the machine's serial port `port`."""
    found = get_target(target)
    if not shutil.which(found.emulator[0]):
        pytest.skip(f"needs {found.emulator[0]}")
    pytest.importorskip("serial", reason="needs pyserial")
    (folder / "program.elf").write_bytes(elf)
    lines = [word for _ in range(port) for word in ("-serial", "null")] + ["-serial", "pty"]
    child = subprocess.Popen([*found.emulator, *OPTIONS, *lines, "-kernel",
                              str(folder / "program.elf")], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = child.stdout.readline()
        path = re.search(r"redirected to (/dev/\S+)", said)
        assert path, said
        board = Board("desk", "serial", target, line=path[1], baud=found.serial.baud)
        yield replace(board, **{"timeout_s": 20.0, **site})
    finally:
        child.kill()
        child.communicate()
