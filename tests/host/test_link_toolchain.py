"""Compilers found, named, missing and failing; objects that are not kernels; the same bytes."""

import dataclasses
import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import link_models
import pytest

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ToolchainError
from edgecc.link import ElfInfo, describe
from edgecc.link.linux import check_runner
from edgecc.link.toolchain import driver_for
from edgecc.targets import Toolchain, get_target

pytestmark = pytest.mark.host
HOST = get_target("host")
TOOLCHAINS = [None, ("gcc",), ("clang",)]


def needs(argv):
    if argv and not shutil.which(argv[0]):
        pytest.skip(f"needs {argv[0]}")
    return CompileConfig(toolchain=argv)


def other_cache(folder: Path) -> Context:
    """Nothing made before is found, but zig need not build its libc again."""
    folder.mkdir()
    zig = Context().cache_dir / "zig"
    zig.mkdir(parents=True, exist_ok=True)
    (folder / "zig").symlink_to(zig)
    return Context(cache_dir=folder)


@pytest.mark.parametrize("argv", TOOLCHAINS, ids=str)
def test_the_same_bytes_wherever_they_are_built(argv, tmp_path, monkeypatch):
    config, made = needs(argv), []
    for name in ("one", "another-folder-of-another-length"):
        context = other_cache(tmp_path / name)
        (tmp_path / f"cwd-{name}").mkdir()
        monkeypatch.chdir(tmp_path / f"cwd-{name}")
        monkeypatch.setenv("CPATH", str(tmp_path / name))
        model = link_models.fake(HOST, context, config=config)
        made.append(link_models.link(model, HOST, context, config=config))
        assert os.listdir() == []
        assert not any(n.startswith("build-") for n in os.listdir(context.cache_dir))
    assert made[0] == made[1]
    assert sorted(made[0]) == ["include/tiny.h", "lib/libtiny.a", "lib/libtiny.so",
                               "python/tiny.py", "runner/runner", "src/tiny.c"]
    for path, data in made[0].items():
        assert str(tmp_path).encode() not in data and b"/root" not in data, path


def test_what_was_made_is_kept(tmp_path, monkeypatch):
    context = other_cache(tmp_path / "cache")
    driver = driver_for(HOST, CompileConfig(), context)
    first = driver.compile("a.c", {"a.c": "int a;\n"})
    monkeypatch.setattr("edgecc.link.toolchain.run_tool", None)
    assert driver.compile("a.c", {"a.c": "int a;\n"}) == first
    with pytest.raises(TypeError):
        driver.compile("a.c", {"a.c": "int b;\n"})


@pytest.mark.parametrize("argv", TOOLCHAINS, ids=str)
def test_libraries_hold_the_model_and_nothing_else(argv, monkeypatch):
    config = needs(argv)
    with monkeypatch.context() as patch:
        patch.setattr("edgecc.link.toolchain.COMPILE", ("-g", "-O2", "-fPIC"))
        model = model_with_extras(config)
    assert all(b".debug_info" in code for code in model.objects.code.values())
    files = link_models.link(model, HOST, Context(), config=config)
    shared = describe(files["lib/libtiny.so"])
    assert shared.defined_symbols == tuple(sorted(
        f"tiny_{n}" for n in ("error", "init_as", "input", "input_info", "output", "output_info",
                              "run", "run_step", "set_profile", "step_name", "version")))
    assert set(shared.undefined_symbols) == {"memcpy"} and shared.needed == ()
    archive = files["lib/libtiny.a"]
    assert b"__truncsfhf2" not in archive and b".debug_" not in archive


@pytest.mark.parametrize("argv", TOOLCHAINS, ids=str)
def test_the_model_has_no_writable_data(argv):
    config = needs(argv)
    driver = driver_for(HOST, config, Context())
    model = link_models.fake(HOST, Context(), config=config)
    files = link_models.link(model, HOST, Context(), config=config)
    made = driver.compile("tiny.c", {"tiny.c": files["src/tiny.c"].decode(),
                                     "tiny.h": files["include/tiny.h"].decode()})
    size = subprocess.run(["size", "-A", "/dev/stdin"], input=made, capture_output=True,
                          check=False).stdout.decode() if shutil.which("size") else ""
    writable = [line.split()[:2] for line in size.splitlines()
                if line.startswith((".data", ".bss", ".tdata")) and ".rel.ro" not in line]
    assert all(bytes_ == "0" for _, bytes_ in writable), writable


def model_with_extras(config):
    """With what TVM leaves in its objects: an unused weak function in a section of its own; and
    with a copy that is too long to be inlined."""
    model = link_models.fake(HOST, Context(), config=config)
    driver = driver_for(HOST, config, Context())
    weak = ('__attribute__((weak, section(".text.tvm.fp16.conv"))) int __truncsfhf2(int a)'
            "{ return a + 1; }\n")
    code = {name: driver.compile("k.c", {"k.c": weak + long_copy(name[:-2])})
            for name in model.objects.code}
    return model.change("objects", code=code)


def long_copy(symbol):
    return ("#include <string.h>\n"
            f"void {symbol}(char *x, char *w, char *y, int *args, int begin, int end)"
            "{ (void)args; (void)begin; (void)w; memcpy(y, x, (size_t)end * 8); }\n")


@pytest.mark.skipif(not shutil.which("ar"), reason="needs ar")
def test_the_archive_is_what_ar_reads(tmp_path):
    model = link_models.fake(HOST, Context(), name="a model with a long name")
    files = link_models.link(model, HOST, Context(), name="a model with a long name")
    library = tmp_path / "lib.a"
    library.write_bytes(files["lib/liba_model_with_a_long_name.a"])
    listed = subprocess.run(["ar", "tv", library], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == ["rw-r--r--", "0/0", *listed.stdout.split()[2:7],
                                     "a_model_with_.o"]
    index = subprocess.run(["nm", "-s", library], capture_output=True, text=True, check=True)
    assert "a_model_with_a_long_name_run in a_model_with_.o" in index.stdout


def test_a_compiler_that_is_not_there():
    with pytest.raises(ToolchainError, match="'no-such-gcc' was not found on PATH.*apt-get"):
        driver_for(HOST, CompileConfig(toolchain=("no-such-gcc",)), Context())


@pytest.mark.parametrize("chain", [Toolchain("none", ()), Toolchain("msvc", ("cl",))])
def test_a_target_without_a_compiler(chain):
    target = dataclasses.replace(HOST, toolchain=chain)
    with pytest.raises(ToolchainError, match="host: no C compiler is known.*name one"):
        driver_for(target, CompileConfig(), Context())


def test_an_empty_command():
    with pytest.raises(ToolchainError, match="no C compiler is known"):
        driver_for(HOST, CompileConfig(toolchain=()), Context())


def test_ziglang_not_installed(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(ToolchainError, match="pip install ziglang"):
        driver_for(HOST, CompileConfig(), Context())


def test_a_zig_of_the_users_own(tmp_path):
    zig = tmp_path / "zig"
    zig.write_text(f"#!/bin/sh\nexec {sys.executable} -m ziglang \"$@\"\n")
    zig.chmod(0o755)
    config = CompileConfig(toolchain=(str(zig), *HOST.toolchain.argv[1:]))
    model = link_models.fake(HOST, Context(), config=config)
    files = link_models.link(model, HOST, Context(), config=config)
    assert files == link_models.link(link_models.fake(HOST, Context()), HOST, Context())


def test_flags_and_sysroot_of_the_target():
    chain = dataclasses.replace(HOST.toolchain, flags=("-DX=1",), sysroot="/s")
    target = dataclasses.replace(HOST, toolchain=chain)
    assert driver_for(target, CompileConfig(), Context()).argv[-2:] == ("--sysroot=/s", "-DX=1")


@pytest.mark.parametrize("libc", ["musl", "glibc-2.5"])
def test_a_compiler_with_another_c_library(libc):
    config = dataclasses.replace(needs(("gcc",)), libc=libc)
    with pytest.raises(ToolchainError, match=f"host: the compiler has another C library than was "
                       f"asked for .needed {libc}, available glibc-2"):
        driver_for(HOST, config, Context())


def test_a_runner_for_the_boards_own_c_library():
    config = dataclasses.replace(needs(("gcc",)), libc="glibc")
    model = link_models.fake(HOST, Context(), config=config)
    files = link_models.link(model, HOST, Context(), config=config)
    elf = describe(files["runner/runner"])
    assert not elf.static and elf.interpreter and "libc.so.6" in elf.needed
    assert "tiny_run" in elf.defined_symbols


def test_a_toolchain_without_a_static_c_library_links_dynamically(tmp_path):
    needs(("gcc",))
    compiler = tmp_path / "sdk-gcc"
    compiler.write_text('#!/bin/sh\n[ "$1" = -print-file-name=libc.a ] && echo libc.a && exit\n'
                        'exec gcc "$@"\n')
    compiler.chmod(0o755)
    assert driver_for(HOST, CompileConfig(toolchain=(str(compiler),)), Context()).dynamic
    assert not driver_for(HOST, CompileConfig(toolchain=("gcc",)), Context()).dynamic


def test_a_changed_sysroot_is_another_toolchain(tmp_path):
    needs(("gcc",))
    config = CompileConfig(toolchain=("gcc",), sysroot=str(tmp_path))
    first = driver_for(HOST, config, Context()).identity
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "libc.so").write_text("new")
    assert driver_for(HOST, config, Context()).identity != first


@pytest.mark.parametrize(("name", "floats", "static", "fits"), [
    ("armv7-neon", "hard", True, True), ("armv7-neon", "soft", True, False),
    ("armv7-neon", None, True, False), ("armv7-neon", "hard", False, False),
    ("riscv64-generic", "double", True, True), ("riscv64-generic", "soft", True, False)])
def test_a_runner_must_pass_floats_as_the_target_does(name, floats, static, fits):
    target = get_target(name)
    machine = {"armv7-neon": "arm"}.get(name, "riscv64")
    elf = ElfInfo(machine, 32, "executable", static, (), (), (), floats)
    if fits:
        check_runner(elf, target, driver_for(target, CompileConfig(), Context()))
    else:
        with pytest.raises(ToolchainError, match="wrong kind .needed static (arm hard|riscv64 "
                           "double), available .*-mfloat-abi"):
            check_runner(elf, target, driver_for(target, CompileConfig(), Context()))


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolchainError, match="cannot build in .*Not a directory.*cache folder"):
        link_models.fake(HOST, Context(cache_dir=tmp_path / "file"))


def test_what_the_compiler_said():
    with pytest.raises(ToolchainError, match="(?s)host: .*failed with exit status 1:.*bad.c:1"):
        driver_for(HOST, CompileConfig(), Context()).compile("bad.c", {"bad.c": "int x = ;\n"})


def test_an_object_for_another_machine():
    model = link_models.fake(get_target("raspberry-pi-5"), Context())
    host = dataclasses.replace(HOST, architecture="x86_64")
    with pytest.raises(ToolchainError, match="tiny_scale.o: .*not for this target .needed "
                       "relocatable x86_64, available relocatable aarch64"):
        link_models.link(model, host, Context())


def test_a_kernel_that_calls_what_it_may_not():
    driver = driver_for(HOST, CompileConfig(), Context())
    source = "float expf(float); void k(float *x); void k(float *x) { *x = expf(*x); }"
    model = link_models.fake(HOST, Context())
    code = {**model.objects.code, "k.o": driver.compile("k.c", {"k.c": source})}
    with pytest.raises(ToolchainError, match="k.o: .*needed expf, available memcpy"):
        link_models.link(model.change("objects", code=code), HOST, Context())


def test_a_library_that_depends_on_more(monkeypatch):
    shared = type(driver_for(HOST, CompileConfig(), Context())).shared
    monkeypatch.setattr("edgecc.link.toolchain.Driver.shared", lambda self, objects, *more: shared(
        self, {**objects, "z.o": self.compile("z.c", {"z.c": "int puts(char *);"
                                                      "int tiny_more(void) { return puts(0); }"})},
        ["tiny_more"], more[1]))
    with pytest.raises(ToolchainError, match="host: the library depends on puts"):
        link_models.link(link_models.fake(HOST, Context()), HOST, Context())


def test_a_runner_of_the_wrong_kind(monkeypatch):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    monkeypatch.setattr("edgecc.link.toolchain.Driver.executable", lambda self, objects, *_, **__: (
        self.make(objects, [*self.argv, *sorted(objects), "-o", "made"])))
    config = CompileConfig(toolchain=("gcc",))
    with pytest.raises(ToolchainError, match="runner of the wrong kind .needed static .*dynamic"):
        link_models.link(link_models.fake(HOST, Context(), config=config), HOST, Context(),
                         config=config)
