"""What the README shows is true: its commands parse, its board loads."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from edgecc.cli.main import parser
from edgecc.cli.project import read
from edgecc.rpc.boards import load_boards
from edgecc.targets import all_targets

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
TOOLCHAINS = (ROOT / "docs" / "toolchains.md").read_text("utf-8")
SERIAL = (ROOT / "docs" / "serial.md").read_text("utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("text", [README, TOOLCHAINS], ids=["README", "toolchains"])
def test_every_command_parses(text):
    lines = [line for block in blocks("", text) for line in block.splitlines()
             if line.startswith("edgecc ")]
    assert len(lines) >= 3
    for line in lines:
        assert parser().parse_args(shlex.split(line)[1:]).command


def test_board_of_the_readme_loads(tmp_path):
    (board_table,) = blocks("toml")
    (tmp_path / "boards.toml").write_text(board_table)
    board = load_boards([tmp_path / "boards.toml"])["pi5"]
    assert (board.transport, board.target, board.cpus) == ("ssh", "raspberry-pi-5", (3,))
    assert board.key == str(Path("~/.ssh/id_ed25519").expanduser())
    assert board.jump == "me@gateway" and not board.ssh_config


def test_board_at_a_serial_port_loads(tmp_path):
    (tmp_path / "boards.toml").write_text(*blocks("toml", SERIAL))
    board = load_boards([tmp_path / "boards.toml"])["nucleo"]
    assert (board.transport, board.target, board.line) == ("serial", "stm32h743", "/dev/ttyACM0")
    assert "{elf}" in board.flash[-1]
    unnamed = [t.name for t in all_targets().values() if t.serial and not t.name.startswith(
        ("cortex-m", "mps", "corstone", "rv32")) and t.name not in SERIAL]
    assert unnamed == []


def test_project_of_the_documentation_loads(tmp_path):
    (tmp_path / "edgecc.toml").write_text(blocks("toml", TOOLCHAINS)[0])
    project = read(tmp_path / "edgecc.toml")
    assert project.target == "raspberry-pi-5" and project.toolchain.libc == "glibc"
    assert project.toolchain.cc == ("clang", "--target=aarch64-linux-gnu")


def test_links_and_length_suit_a_newcomer():
    assert len(README.splitlines()) < 160
    for word in ("scripts/demo.sh", "scripts/test.sh", "targets/README.md", "CONTRIBUTING.md"):
        assert word in README
