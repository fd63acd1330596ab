"""A QEMU that knows RISC-V's Zvfh (8 or newer), where there is one: the system's, the program that
EDGECC_QEMU_RISCV64 names, or the one that scripts/newer-qemu.sh keeps in edgecc's cache."""

import os
import shutil
import subprocess
from dataclasses import replace
from functools import cache

import pytest

from edgecc.context import default_cache_dir
from edgecc.targets import get_target

CPU = "rv64,v=true,vlen={},vext_spec=v1.0,zfh=true,zvfh=true"
NARROW = "zvfh-128"  # a target of these tests: no chip that edgecc knows has it


def knows(program):
    """This file is no program of RISC-V, but an old QEMU stops at the processor already."""
    try:
        done = subprocess.run([program, "-cpu", CPU.format(256), __file__], capture_output=True,
                              text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "not found" not in done.stderr


@cache
def program():
    """Its path, or None."""
    places = (shutil.which("qemu-riscv64"), os.environ.get("EDGECC_QEMU_RISCV64"),
              str(default_cache_dir() / "qemu" / "qemu-riscv64"))
    return next((place for place in places if place and knows(place)), None)


def needed():
    """Its path; skips where there is none."""
    return program() or pytest.skip(
        "needs a QEMU that knows Zvfh: 8 or newer, EDGECC_QEMU_RISCV64, or scripts/newer-qemu.sh")


def emulated(target):
    """The target, with that QEMU."""
    return replace(target, emulator=(needed(), *target.emulator[1:]))


def narrow():
    """128-bit vectors with Zvfh, emulated."""
    chip = get_target("riscv64-generic-v")
    return replace(chip, name=NARROW, features=chip.features | {"zvfh"},
                   attributes=(*chip.attributes, "+zfh", "+zvfh"),
                   emulator=("qemu-riscv64", "-cpu", CPU.format(128)))
