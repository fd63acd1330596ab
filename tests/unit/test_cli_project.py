"""edgecc.toml and the toolchain's arguments: who wins, and what is refused."""

import types
from pathlib import Path

import pytest

from edgecc.cli import arguments, project
from edgecc.cli.main import main, parser
from edgecc.cli.toolchains import Choice
from edgecc.errors import ConfigError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(*words):
    args = parser().parse_args(["compile", "m.onnx", "-o", "o.ecb", *words])
    return arguments.config(args, target=arguments.target(args), quantization="none"), args.notes


def sdk(folder):
    (folder / "bin").mkdir()
    for name in ("bin/x-gcc", "bin/a-linux-gcc"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (folder / "a-linux" / "sysroot").mkdir(parents=True)
    (folder / "env").write_text(f'export PATH={folder}/bin:$PATH\nexport CC="x-gcc -O1"\n'
                                'export CFLAGS=-g\nexport LDFLAGS=-Wl,-O1\ntouch ran\n')


def test_a_folder_without_the_file_is_an_empty_project(folder):
    assert project.read() == project.Project()
    found, notes = config("--target", "host")
    assert (found.toolchain, found.sysroot, found.libc, found.cflags) == (None, None, None, ())
    assert notes == ()


def test_everything_the_file_may_say(folder):
    (folder / "edgecc.toml").write_text(
        'target = "raspberry-pi-5"\nboards = "site/b.toml"\n[toolchain]\ncc = "my-gcc -O1"\n'
        'sysroot = "root"\ncflags = ["-a"]\nldflags = ["-b"]\nlibc = "glibc"\n')
    found, _ = config()
    assert (found.target, found.toolchain) == ("raspberry-pi-5", ("my-gcc", "-O1"))
    assert (found.sysroot, found.cflags, found.ldflags, found.libc) == (
        "root", ("-a",), ("-b",), "glibc")
    assert project.read().boards == Path("site/b.toml")


def test_arguments_go_before_the_file(folder):
    (folder / "edgecc.toml").write_text(
        'target = "raspberry-pi-5"\n[toolchain]\ncc = ["my-gcc"]\ncflags = ["-a"]\nlibc = "musl"\n')
    found, _ = config("--target", "host", "--cflag=-c", "--cflag", "d", "--libc", "glibc",
                      "--sysroot", "/s", "--ldflag=-e")
    assert (found.target, found.toolchain, found.libc) == ("host", ("my-gcc",), "glibc")
    assert (found.cflags, found.ldflags, found.sysroot) == (("-a", "-c", "d"), ("-e",), "/s")
    found, _ = config("--toolchain", "other")
    assert (found.toolchain, found.cflags, found.libc) == (("other",), (), None)
    assert config("--toolchain", "zig")[0].toolchain is None


def test_sdks_are_looked_into_and_the_user_is_told(folder, capsys):
    sdk(folder)
    found, notes = config("--target", "host", "--toolchain-env", "env", "--cflag=-x")
    assert found.toolchain == (f"{folder}/bin/x-gcc", "-O1")
    assert (found.cflags, found.ldflags) == (("-g", "-x"), ("-Wl,-O1",))
    assert notes == ("env: read, not run: commands in line 5 had no effect",)
    found, _ = config("--target", "host", "--buildroot-host", ".")
    assert found.toolchain == (f"{folder}/bin/a-linux-gcc",)
    assert found.sysroot == f"{folder}/a-linux/sysroot"
    (folder / "edgecc.toml").write_text('[toolchain]\nenv = "env"\nsysroot = "s"\n')
    assert config("--target", "host")[0].sysroot == "s"
    assert main(["compile", "none.onnx", "--target", "host", "-o", "o.ecb"]) == 3
    assert "env: read, not run: commands in line 5" in capsys.readouterr().out
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(("text", "message"), [
    ("x", "edgecc.toml: cannot be read"),
    ("tarjet = 1", "unknown key 'tarjet'; did you mean target"),
    ("zzz = 1", "unknown key 'zzz'; known keys are target, boards, toolchain"),
    ("target = 1", "target = 1 is not a string"),
    ('toolchain = "gcc"', "toolchain = 'gcc' is not a table"),
    ("[toolchain]\nflags = []", r"edgecc.toml: \[toolchain\]: unknown key 'flags'; did you mean"),
    ("[toolchain]\ncc = []", r"cc = \[\] is not a string or a list of strings"),
    ("[toolchain]\ncflags = [1]", r"cflags = \[1\] is not a list of strings"),
    ('[toolchain]\nsysroot = ""', "sysroot = '' is not a string"),
    ('[toolchain]\ncc = "a \'"', "No closing quotation"),
    ('[toolchain]\ncc = "a"\nenv = "b"', "cc and env each name a compiler"),
])
def test_what_the_file_may_not_say(text, message, folder):
    (folder / "edgecc.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        project.read()


def test_two_compilers_in_the_arguments(folder):
    with pytest.raises(ConfigError, match="arguments: cc and buildroot-host each name a compiler"):
        config("--target", "host", "--toolchain", "gcc", "--buildroot-host", "x")


def test_no_target_at_all(folder):
    with pytest.raises(ConfigError, match="--target is missing; `edgecc targets` lists them"):
        config()


def test_boards_of_the_project(folder):
    args = types.SimpleNamespace(boards_file=None)
    (folder / "edgecc.toml").write_text('boards = "site.toml"\n')
    with pytest.raises(ConfigError, match="site.toml: no such file"):
        arguments.board_files(args)
    (folder / "site.toml").touch()
    assert arguments.board_files(args) == [Path("site.toml")]
    args.boards_file = folder / "site.toml"
    assert arguments.board_files(args) == [folder / "site.toml"]


def test_a_compiler_replaces_what_was_chosen_below():
    below = Choice(cc=("a",), cflags=("-x",), sysroot="s")
    assert Choice(env=Path("e")).over(below) == Choice(env=Path("e"))
    assert Choice(cflags=("-y",)).over(below).cflags == ("-x", "-y")
