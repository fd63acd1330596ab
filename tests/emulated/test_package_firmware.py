"""Packages build as they stand, with the commands of their README, and give the golden answers:
on bare chips in QEMU, from library, portable C and assembly, by GNU compilers and by ziglang."""

import re
import shutil
import subprocess
import sys

import pipeline_models
import pytest

import edgecc
from edgecc.bundle.package import package, write
from edgecc.context import Context
from edgecc.rpc.boards import built_in_boards

pytestmark = pytest.mark.emulated
GNU = {"cortex-m0plus": "arm-none-eabi-gcc", "cortex-m4f": "arm-none-eabi-gcc",
       "cortex-m55": "arm-none-eabi-gcc", "rv32imc": "riscv64-unknown-elf-gcc"}
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-pedantic")


@pytest.fixture(scope="module")
def bundles():
    return {target: edgecc.compile(pipeline_models.network(), target=target, name="net",
                                   quantization="int8",
                                   calibration={"x": pipeline_models.samples()})
            for target in GNU}


def unpacked(bundle, format, folder):
    write(package(bundle, format), folder)
    return folder


def run(folder, command):
    done = subprocess.run(command, cwd=folder, shell=False, capture_output=True, text=True,
                          timeout=300, check=False, env=environment())
    assert done.returncode == 0, f"{command}:\n{done.stdout[-1500:]}{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def environment():
    zig = str(Context().cache_dir / "zig")
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "ZIG_GLOBAL_CACHE_DIR": zig,
            "ZIG_LOCAL_CACHE_DIR": zig, "HOME": "/tmp"}


def needs(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"needs {tool}")


def commands(folder):
    """What the README says, one line each."""
    text = (folder / "README.md").read_text()
    block = re.search(r"self-test:\n\n((?:    .*\n)+)", text)[1]
    return [line.strip() for line in block.splitlines()]


@pytest.mark.parametrize("target", GNU)
def test_cmake_builds_with_its_one_liner(bundles, tmp_path, target):
    needs("cmake", GNU[target], "qemu-system-arm")
    folder = unpacked(bundles[target], "cmake", tmp_path / "out")
    said = "".join(run(folder, ["sh", "-ec", line]) for line in commands(folder))
    assert "net: self-test passed" in said and "warning" not in said


@pytest.mark.parametrize("target", GNU)
def test_make_builds_with_its_one_liner(bundles, tmp_path, target):
    needs("make", GNU[target], "qemu-system-arm")
    folder = unpacked(bundles[target], "make", tmp_path / "out")
    assert commands(folder) == ["make check"]
    assert "net: self-test passed" in run(folder, ["make", "check"])


@pytest.mark.parametrize("target", ["cortex-m4f", "rv32imc"])
def test_make_with_ziglang_alone(bundles, tmp_path, target):
    needs("make", "qemu-system-arm")
    folder = unpacked(bundles[target], "make", tmp_path / "out")
    said = re.search(r'CC="zig (cc [^"]*)" CHIP= LIBS=', (folder / "README.md").read_text())[1]
    compiler = f"{sys.executable} -m ziglang {said}"
    assert "self-test passed" in run(folder, ["make", "check", f"CC={compiler}", "CHIP=", "LIBS="])


@pytest.mark.parametrize("fast", [False, True], ids=["portable", "assembly"])
@pytest.mark.parametrize("target", GNU)
def test_source_for_a_chip(bundles, tmp_path, target, fast):
    needs(GNU[target], "qemu-system-arm")
    folder = unpacked(bundles[target], "c-source", tmp_path / "out")
    port = package(bundles[target], "make")
    for path in (p for p in port if p.startswith("port/")):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(port[path])
    flags = list(edgecc.targets.get_target(target).toolchain.gnu_flags)
    sources = [str(p) for pattern in ("src/*.c", "src/*.S") for p in sorted(folder.glob(pattern))]
    objects = []
    for source in sources:
        objects.append(f"{source}.o")
        strict = STRICT if source.endswith(".c") else ()
        run(folder, [GNU[target], *flags, *strict, "-std=c99", "-O2", "-ffreestanding",
                     "-DEDGECC_BAREMETAL", *(["-DNET_FAST"] if fast else []), "-Iinclude", "-c",
                     source, "-o", objects[-1]])
    ports = [str(p) for p in sorted(folder.glob("port/*.c"))]
    libraries = [] if GNU[target].startswith("arm") else ["-nodefaultlibs", "-lgcc"]
    run(folder, [GNU[target], *flags, "-O2", "-ffreestanding", "-DEDGECC_BAREMETAL",
                 *(["-DNET_FAST"] if fast else []), "-Iinclude", "-Iport", "-nostartfiles",
                 "-Wl,--gc-sections", "-T", "port/net.ld", *objects, *ports, "example/main.c",
                 *libraries, "-o", "app"])
    board = built_in_boards()[f"emulated-{target}"]
    assert "self-test passed" in run(folder, list(board.command(["./app"])))
