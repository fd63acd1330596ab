"""One bundle source, five toolchains: built, linked into an application and run under QEMU; and
what a board's C library cannot run is refused before it is sent."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import debian_sysroot
import link_models
import pytest

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import BoardError
from edgecc.link import describe, sdk
from edgecc.link.elf_dynamic import requirements
from edgecc.link.toolchain import driver_for
from edgecc.lower.run_function import generate
from edgecc.rpc.bench import prepare
from edgecc.rpc.boards import get_board
from edgecc.rpc.probe import probe
from edgecc.rpc.transport import open_transport
from edgecc.targets import get_target

pytestmark = [pytest.mark.emulated, pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64")]
APP = Path(__file__).parents[1] / "link_app.c"
TARGET = get_target("raspberry-pi-4")
BOARD = get_board("emulated-raspberry-pi-4")
GCC = "aarch64-linux-gnu-gcc"
CROSS = Path("/usr/aarch64-linux-gnu")
LOADER = "/lib/ld-linux-aarch64.so.1"
INPUT = bytes(range(150, 214))
MANIFEST = {"name": "tiny", "target": TARGET.name,
            "target_info": {"architecture": "aarch64", "features": ["neon"]}}
YOCTO = """\
# Check for LD_LIBRARY_PATH being set, which can break SDK and generally is a bad practice
if [ ! -z "${{LD_LIBRARY_PATH:-}}" ]; then
    echo "Your environment is misconfigured, you probably need to 'unset LD_LIBRARY_PATH'"
    return 1
fi
export SDKTARGETSYSROOT={sysroot}
export PATH={bin}:"$PATH"
export OECORE_NATIVE_SYSROOT="/nowhere"
export OECORE_TARGET_SYSROOT="$SDKTARGETSYSROOT"
export OECORE_TARGET_ARCH="aarch64"
export OECORE_TARGET_OS="linux"
unset command_not_found_handle
export CC="aarch64-fake-linux-gcc  -mcpu=cortex-a72 -fstack-protector-strong  -O2 \\
-D_FORTIFY_SOURCE=2 -Wformat -Werror=format-security --sysroot=$SDKTARGETSYSROOT"
export CFLAGS=" -O2 -pipe -g -feliminate-unused-debug-types "
export CPPFLAGS=""
export LDFLAGS="-Wl,-O1 -Wl,--hash-style=gnu -Wl,--as-needed  -Wl,-z,relro,-z,now"
alias configure="configure --target=aarch64-fake-linux"
touch {bin}/was-run
if [ -d "$OECORE_NATIVE_SYSROOT/environment-setup.d" ]; then
    for envfile in $OECORE_NATIVE_SYSROOT/environment-setup.d/*.sh; do
        . $envfile
    done
fi
"""


def gcc():
    return shutil.which(GCC) or pytest.skip(f"needs {GCC}")


def wrapper(folder, name):
    """A compiler that an SDK ships: the cross compiler under another name."""
    folder.mkdir(parents=True)
    script = folder / name
    script.write_text(f'#!/bin/sh\nexec {gcc()} "$@"\n')
    script.chmod(0o755)


def zig_musl(folder):
    return {}


def zig_glibc(folder):
    return {"libc": "glibc-2.31"}


def debian_gcc(folder):
    gcc()
    return {"toolchain": (GCC,)}


def debian_gcc_dynamic(folder):
    return {**debian_gcc(folder), "libc": "glibc"}


def clang_and_sysroot(folder):
    if not (shutil.which("clang") and shutil.which("aarch64-linux-gnu-ld")):
        pytest.skip("needs clang and aarch64-linux-gnu-ld")
    return {"toolchain": ("clang", "--target=aarch64-linux-gnu"), "libc": "glibc",
            "sysroot": str(debian_sysroot.sysroot())}


def yocto(folder):
    wrapper(folder / "sdk", "aarch64-fake-linux-gcc")
    script = folder / "environment-setup-cortexa72-fake-linux"
    script.write_text(YOCTO.format(sysroot="/", bin=folder / "sdk"))
    chain, notes = sdk.from_yocto(script, {"PATH": "/usr/bin:/bin"})
    assert notes == (f"{script}: read, not run: commands in line 2-5, 18-24 had no effect",)
    assert not (folder / "sdk" / "was-run").exists()
    return fields(chain)


def buildroot(folder):
    wrapper(folder / "host" / "bin", "aarch64-buildroot-linux-gnu-gcc")
    (folder / "host" / "aarch64-buildroot-linux-gnu").mkdir()
    (folder / "host" / "aarch64-buildroot-linux-gnu" / "sysroot").symlink_to("/")
    return fields(sdk.from_buildroot(folder / "host"))


def fields(chain):
    return {"toolchain": chain.argv, "sysroot": chain.sysroot, "cflags": chain.flags,
            "ldflags": chain.link_flags}


CHAINS = (zig_musl, zig_glibc, debian_gcc, debian_gcc_dynamic, clang_and_sysroot, yocto, buildroot)
DYNAMIC = {"zig_glibc", "debian_gcc_dynamic", "clang_and_sysroot"}


def libraries(name):
    """QEMU's -L: where a dynamic program's loader is."""
    if name not in DYNAMIC:
        return ()
    if name == "clang_and_sysroot":
        return ("-L", str(debian_sysroot.sysroot()))
    gcc()
    return ("-L", str(CROSS))


@pytest.fixture(params=CHAINS, ids=lambda chain: chain.__name__)
def built(request, tmp_path):
    """(name, driver, linked files, their folder)."""
    config = CompileConfig(target=TARGET.name, **request.param(tmp_path))
    model = link_models.fake(TARGET, Context(), config=config)
    files = link_models.link(model, TARGET, Context(), config=config)
    folder = link_models.unpack_bundle(files, tmp_path / "bundle")
    other = generate(model.program, model.plan, model.objects, prefix="other", version="2")
    (folder / "include" / "other.h").write_text(other["include/other.h"])
    return request.param.__name__, driver_for(TARGET, config, Context()), files, folder


def test_the_same_source_builds_and_runs(built):
    name, driver, files, folder = built
    emulator = (*TARGET.emulator, *libraries(name))
    elf = describe(files["runner/runner"])
    assert (elf.machine, elf.static) == ("aarch64", name not in DYNAMIC)
    assert link_models.infer(folder, INPUT, emulator) == link_models.reference(INPUT)
    assert application(driver, folder, emulator) == link_models.reference(INPUT)
    driver.compile("tiny.c", {"tiny.c": files["src/tiny.c"].decode(),
                              "tiny.h": files["include/tiny.h"].decode()},
                   "-Wall", "-Wextra", "-Werror", "-pedantic")
    plain = link_models.link(link_models.fake(TARGET, Context()), TARGET, Context())
    for path in ("src/tiny.c", "include/tiny.h"):
        assert files[path] == plain[path]


def application(driver, folder, emulator):
    """A user's program, built by their own compiler from include/ and lib/."""
    app, zig = folder / "app", str(Context().cache_dir / "zig")
    static = [] if driver.dynamic else ["-static"]
    subprocess.run([*driver.argv, *driver.link_flags, *static, f"-I{folder / 'include'}",
                    APP, folder / "lib" / "libtiny.a", "-o", app], check=True,
                   timeout=600, env={"PATH": "/usr/bin:/bin", "ZIG_GLOBAL_CACHE_DIR": zig,
                                     "ZIG_LOCAL_CACHE_DIR": zig})
    done = subprocess.run([*emulator, app, folder / "weights.bin"], input=INPUT,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


# What a board has


def with_libraries(folder):
    """The emulated board with the C library in `folder`."""
    program, *options = BOARD.emulator
    return dataclasses.replace(BOARD, emulator=(program, "-L", str(folder), *options))


def libc_of_release(folder, release, machine=183):
    """A folder with a loader and a libc.so.6 whose banner names a release, far into the file."""
    lib = folder / "lib" / "aarch64-linux-gnu"
    lib.mkdir(parents=True)
    (folder / LOADER[1:]).write_bytes(b"")
    head = b"\x7fELF\x02\x01" + bytes(12) + machine.to_bytes(2, "little")
    (lib / "libc.so.6").write_bytes(
        head + b"r" * 4090 + b"rerelease version" + bytes(5000)
        + b"GNU C Library (Fake GLIBC) stable release version " + release + b".\nCopyright")
    return with_libraries(folder)


def linked(**chosen):
    config = CompileConfig(target=TARGET.name, **chosen)
    files = link_models.link(link_models.fake(TARGET, Context(), config=config), TARGET,
                             Context(), config=config)
    return {**files, "weights.bin": link_models.WEIGHTS}


def ready(board, files, cache):
    context = Context(cache_dir=cache)
    with open_transport(board, cache) as transport:
        _, deployment = prepare(transport, files, MANIFEST, context)
        return deployment


def sent(cache, files):
    runner = files["runner/runner"]
    return [path for path in cache.glob("boards/**/blobs/*") if path.read_bytes() == runner]


@pytest.mark.parametrize(("release", "machine", "expected"), [
    (b"2.31", 183, "2.31"), (b"2.41.9000", 183, "2.41.9000"), (b"2.31", 62, None)])
def test_the_probe_tells_the_c_library(release, machine, expected, tmp_path):
    board = libc_of_release(tmp_path / "root", release, machine)
    with open_transport(board, tmp_path) as transport:
        info = probe(transport, "aarch64", tmp_path, LOADER)
    assert (info.glibc, info.loader) == (expected, True)


def test_the_probe_of_a_board_without_a_c_library(tmp_path):
    with open_transport(BOARD, tmp_path) as transport:
        assert probe(transport, "aarch64", tmp_path, LOADER).loader is False
        info = probe(transport, "aarch64", tmp_path)
    assert (info.glibc, info.loader) == (None, None)


def test_a_newer_glibc_is_refused_by_symbol_before_anything_is_sent(tmp_path):
    gcc()
    files, cache = linked(toolchain=(GCC,), libc="glibc"), tmp_path / "cache"
    assert any("__libc_start_main" in need.symbols and need.version == "GLIBC_2.34"
               for need in requirements(files["runner/runner"]))
    with pytest.raises(BoardError, match=r"newer glibc than the board has: .*GLIBC_2.34 for "
                       r"__libc_start_main \(needed glibc 2.34, available glibc 2.31\); "
                       r"compile with --libc glibc-2.31"):
        ready(libc_of_release(tmp_path / "old", b"2.31"), files, cache)
    assert not sent(cache, files)
    assert ready(libc_of_release(tmp_path / "new", b"2.36"), files, cache).uploaded_bytes
    assert sent(cache, files)


def test_zig_links_for_the_glibc_of_the_board(tmp_path):
    files = linked(libc="glibc-2.31")
    assert ready(libc_of_release(tmp_path / "old", b"2.31"), files, tmp_path).uploaded_bytes
    versions = [tuple(map(int, need.version.removeprefix("GLIBC_").split(".")))
                for need in requirements(files["runner/runner"])]
    assert versions and max(versions) <= (2, 31)
    with pytest.raises(BoardError, match="newer glibc than the board has: GLIBC_2.17 for "):
        ready(libc_of_release(tmp_path / "older", b"2.5"), files, tmp_path)


def test_a_board_without_the_loader(tmp_path):
    files = linked(libc="glibc-2.31")
    with pytest.raises(BoardError, match=f"no loader for the runner.*needed {LOADER}, available "
                       "no C library for it.*--libc musl"):
        ready(BOARD, files, tmp_path)
    assert not sent(tmp_path, files)


def test_a_static_runner_asks_for_nothing(tmp_path):
    assert ready(libc_of_release(tmp_path / "old", b"2.0"), linked(), tmp_path).uploaded_bytes
