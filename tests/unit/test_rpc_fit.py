"""Whether a bundle fits a board is told from its runner's ELF and from what the probe found."""

import pytest
import test_link_elf_dynamic as made

from edgecc.errors import BoardError, BundleError
from edgecc.rpc.fit import check_fit, runner_of
from edgecc.rpc.probe import BoardInfo

NEON = frozenset({"neon", "fma"})


def info(architecture="aarch64", features=NEON, glibc="2.36", loader=True):
    return BoardInfo(architecture, frozenset(features), 4, glibc=glibc, loader=loader)


def manifest(architecture="aarch64", features=("neon",)):
    return {"name": "net", "target": "some-target",
            "target_info": {"architecture": architecture, "features": list(features)}}


def fit(board, data, about=None):
    files, about = {"runner/runner": data}, about or manifest()
    check_fit(files, about, runner_of(files, about), board, "desk")


def test_a_dynamic_runner_that_fits():
    fit(info(), made.program())
    fit(info(glibc="2.34"), made.program())
    fit(info(glibc=None), made.program())  # a C library of unknown release: its loader will tell


def test_a_script_says_nothing_of_what_it_needs():
    fit(info(loader=False), b"#!/bin/sh\n")


@pytest.mark.parametrize(("board", "message"), [
    (info(features={"fma"}), r"the board lacks neon, which bundle 'net' uses \(needed neon, "
     r"available fma\); compile for the board's own target instead of 'some-target'"),
    (info(loader=False), r"no loader for the runner.*needed /lib/ld.so, available glibc 2.36"),
    (info(loader=False, glibc=None), "available no C library for it.*--libc musl"),
    (info(glibc="2.33"), r"newer glibc than the board has: GLIBC_2.34 for start "
     r"\(needed glibc 2.34, available glibc 2.33\)"),
    (info(glibc="2.5"), "GLIBC_2.17 for puts; GLIBC_2.34 for start"),
])
def test_what_does_not_fit_is_named(board, message):
    with pytest.raises(BoardError, match=f"desk: .*{message}"):
        fit(board, made.program())


def test_a_private_version_is_no_release():
    data = made.program().replace(b"GLIBC_2.34", b"GLIBC_PRIV")
    fit(info(glibc="2.31"), data)


@pytest.mark.parametrize(("machine", "flags", "board", "fits"), [
    (40, 0x5000400, info("armv7l", {"vfp"}), True), (40, 0x5000400, info("armv7l", ()), False),
    (40, 0x5000200, info("armv7l", ()), True), (243, 5, info("riscv64", {"rv64gc"}), True),
    (243, 5, info("riscv64", {"i", "m", "f"}), False), (243, 3, info("riscv64", {"f"}), True),
    (243, 1, info("riscv64", ()), True)])
def test_floats_need_registers(machine, flags, board, fits):
    about = manifest(board.architecture, ())
    data = made.program(machine != 40, machine=machine, flags=flags, versions=False)
    if fits:
        fit(board, data, about)
    else:
        with pytest.raises(BoardError, match="runs no programs of the runner's kind .needed .*"
                           "float, available"):
            fit(board, data, about)


def test_a_runner_for_another_machine_than_the_manifests():
    with pytest.raises(BundleError, match="runner/runner: the runner is not for the bundle's "
                       "target .needed aarch64, available arm of 32 bits"):
        fit(info(), made.program(False, machine=40))


def test_a_board_of_another_machine():
    with pytest.raises(BoardError, match="needed aarch64 of 64 bits, available x86_64"):
        fit(info("x86_64", ()), made.program(), manifest(features=()))
