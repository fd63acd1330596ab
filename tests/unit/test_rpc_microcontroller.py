"""Bundles for bare chips on boards that cannot run them, and chips without memory for a program."""

import dataclasses
import struct

import bundle_maker
import pytest

from edgecc.errors import BoardError, TargetError
from edgecc.link.linker_script import base_of, layout_of, linker_script
from edgecc.rpc import microcontroller
from edgecc.rpc.board import Board
from edgecc.rpc.boards import get_board
from edgecc.rpc.transport import open_transport
from edgecc.targets import get_target
from edgecc.targets.target import Region

M4 = get_target("cortex-m4f")


def program(address, size=0x1000):
    """An ELF file of one segment, loaded to `address`."""
    head = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, 40, 1, address, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    return {"runner/runner": head + struct.pack("<8I", 1, 0, address, address, 0, size, 5, 4)}


def manifest(target):
    info = {"architecture": target.architecture, "features": sorted(target.features),
            "runner": target.runner}
    return bundle_maker.manifest(target=target.name, target_info=info)


def identify(board, target=M4, files=None):
    return microcontroller.identify(board, files or program(0), manifest(target))


def test_a_board_that_fits():
    for name in ("cortex-m4f", "cortex-m33"):  # with all that the other has
        info = identify(get_board(f"emulated-{name}"), files=program(
            layout_of(get_target(name)).code.base))
        assert info.architecture == get_target(name).architecture
    assert identify(get_board("emulated-cortex-m4f"), get_target("cortex-m3")).features


@pytest.mark.parametrize("board, words", [
    (get_board("host"), "host: the bundle is for a microcontroller, cortex-m4f .needed a board "
     "that is or emulates one, available host.; try --board emulated-cortex-m4f"),
    (get_board("emulated-raspberry-pi-5"), "is for a microcontroller"),
    (Board("desk", "ssh", "cortex-m4f", host="h", emulator=M4.emulator),
     "desk: a microcontroller is emulated on this machine only; try --board emulated-cortex-m4f"),
    (get_board("emulated-cortex-m3"), "the board lacks dsp, fpu32; bundle 'tiny' cannot run on "
     "it .*; compile for the board's own target, cortex-m3"),
    (get_board("emulated-rv32imc"), "the board is another machine; bundle 'tiny'"),
])
def test_boards_that_cannot_run_it(board, words):
    with pytest.raises(BoardError, match=words):
        identify(board)


def test_a_program_must_lie_in_the_chips_memories():
    with pytest.raises(BoardError, match="the program lies where cortex-m4f has no memory .needed "
                       "0xf0000000 to 0xf0001000, available flash at 0x0, ram at 0x"):
        identify(get_board("emulated-cortex-m4f"), files=program(0xF0000000))


def test_a_missing_system_emulator_is_named_with_its_package(tmp_path):
    for emulator, name in (("qemu-system-armv9", "qemu-system-arm"),
                           ("qemu-system-riscv99", "qemu-system-misc")):
        board = dataclasses.replace(get_board("emulated-cortex-m4f"), emulator=(emulator,))
        with pytest.raises(BoardError, match=f"{emulator} is not installed; install the {name} "):
            open_transport(board, tmp_path)


@pytest.mark.parametrize("memories, available", [
    ((), "none"),
    ((Region("ram", 1 << 20, base=0, may_hold=("arena",)),), "ram"),
    ((Region("flash", 1 << 20, base=0, may_hold=("weights",)),), "flash"),
    ((Region("flash", 1, base=0, may_hold=("code", "weights")), Region("ram", 1)), "flash, ram"),
])
def test_memories_that_hold_no_program(memories, available):
    target = dataclasses.replace(M4, memories=memories)
    with pytest.raises(TargetError, match="cortex-m4f: the memories cannot hold a program .needed "
                       f"regions with base addresses .*, available {available}."):
        layout_of(target)


def test_a_memory_without_an_address_has_no_place():
    with pytest.raises(TargetError, match="linker script: memory 'ram' has no base address"):
        base_of(Region("ram", 1))


def test_the_plan_chooses_the_memory_of_the_arena():
    chip = get_target("corstone-300")
    assert [layout_of(chip, name).ram.name for name in (None, "dtcm", "isram")] == [
        "dtcm", "dtcm", "isram"]
    text = linker_script(layout_of(chip, "isram"), stack_bytes=100, arena_bytes=1000, align=16)
    assert "edgecc_stack_end = 0x31000070;" in text and "edgecc_arena = 0x313ffc10;" in text
    assert "edgecc_arena_end = 0x313ffff8;" in text and "edgecc_ram_end = 0x31400000;" in text
