"""Every way of linking a model for aarch64 gives the runner's bytes under QEMU."""

import shutil
import subprocess
import sys
from pathlib import Path

import link_models
import pytest

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.link import describe
from edgecc.lower.run_function import generate
from edgecc.rpc.protocol import Type, encode_u32
from edgecc.targets import get_target

pytestmark = pytest.mark.emulated
APP = Path(__file__).parents[1] / "link_app.c"
TARGET = get_target("raspberry-pi-5")
QEMU = TARGET.emulator
GCC = "aarch64-linux-gnu-gcc"
ZIG = (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-static", "-O2",
       "-mcpu=cortex_a76")
SYSROOT = ("-L", "/usr/aarch64-linux-gnu")
INPUT = bytes(range(150, 214))


def needs(tool):
    return shutil.which(tool) or pytest.skip(f"needs {tool}")


@pytest.fixture(scope="module", params=["zig", GCC])
def bundle(request, tmp_path_factory):
    needs(QEMU[0])
    config = CompileConfig(toolchain=None if request.param == "zig" else (needs(GCC),))
    folder, context = tmp_path_factory.mktemp("bundle"), Context()
    model = link_models.fake(TARGET, context, config=config)
    link_models.unpack_bundle(link_models.link(model, TARGET, context, config=config), folder)
    other = generate(model.program, model.plan, model.objects, prefix="other", version="2")
    (folder / "include" / "other.h").write_text(other["include/other.h"])
    return folder


def run_app(folder, compiler, *given, emulator=QEMU):
    app = folder / "app"
    subprocess.run([*compiler, f"-I{folder / 'include'}", *given, "-o", app], check=True,
                   timeout=600, env=environment())
    done = subprocess.run([*emulator, app, folder / "weights.bin"], input=INPUT,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def environment():
    zig = str(Context().cache_dir / "zig")
    return {"PATH": "/usr/bin:/bin", "ZIG_GLOBAL_CACHE_DIR": zig, "ZIG_LOCAL_CACHE_DIR": zig}


def test_the_runner(bundle):
    assert link_models.infer(bundle, INPUT, QEMU) == link_models.reference(INPUT)
    elf = describe((bundle / "runner" / "runner").read_bytes())
    assert (elf.machine, elf.bits, elf.kind, elf.static) == ("aarch64", 64, "executable", True)


def test_the_static_library_under_musl(bundle):
    made = run_app(bundle, ZIG, APP, bundle / "lib" / "libtiny.a")
    assert made == link_models.infer(bundle, INPUT, QEMU)


def test_the_static_library_under_glibc(bundle):
    made = run_app(bundle, (needs(GCC),), APP, bundle / "lib" / "libtiny.a",
                   emulator=(*QEMU, *SYSROOT))
    assert made == link_models.infer(bundle, INPUT, QEMU)


def test_the_shared_library_under_glibc(bundle):
    lib = bundle / "lib"
    made = run_app(bundle, (needs(GCC),), APP, f"-L{lib}", "-ltiny", f"-Wl,-rpath,{lib}",
                   emulator=(*QEMU, *SYSROOT))
    assert made == link_models.infer(bundle, INPUT, QEMU)
    elf = describe((lib / "libtiny.so").read_bytes())
    assert elf.needed == () and set(elf.undefined_symbols) <= {"memcpy", "memset"}


def test_the_guard_page(tmp_path):
    needs(QEMU[0])
    model = link_models.fake(TARGET, Context(), last="spill", spill=192 - 64)
    link_models.unpack_bundle(link_models.link(model, TARGET, Context()), tmp_path)
    _, said = link_models.talk(tmp_path, encode_u32(Type.RUN, 1), emulator=QEMU, code=86)
    assert "access past the end of the arena: byte 192 of TINY_ARENA_BYTES = 192" in said
    _, said = link_models.talk(tmp_path, b"", "--arena-bytes", "191", emulator=QEMU, code=4)
    assert "TINY_ARENA_BYTES is 192 (needed 192 bytes, available 191 bytes)" in said


def test_the_runner_from_zig_is_small(tmp_path):
    needs(QEMU[0])
    files = link_models.link(link_models.fake(TARGET, Context()), TARGET, Context())
    assert len(files["runner/runner"]) < 40_000
