"""SDK scripts are read, not run; Buildroot folders are looked into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgecc.config import CompileConfig
from edgecc.errors import ConfigError, ToolchainError
from edgecc.link import environment, sdk
from edgecc.link.chain import chosen
from edgecc.targets import get_target

PATH = {"PATH": "/usr/bin:/bin"}
WHERE = "environment-setup"


def values(text, **inherited):
    found, notes = environment.read(text, WHERE, inherited)
    return {name: value for name, value in found.items() if name not in inherited}, notes


@pytest.mark.parametrize(("line", "value"), [
    ("export A=word", "word"),
    ("A=word", "word"),
    ("  export A=word # a comment", "word"),
    ("export A='$B `x` \"' ", '$B `x` "'),
    ('export A="a  b"', "a  b"),
    ('export A="$B/x:${B}y"', "bee/x:beey"),
    ("export A=$B/x", "bee/x"),
    ('export A=a"b c"\'d e\'f', "ab cd ef"),
    ('export A="\\$B \\"q\\" \\\\ \\n"', '$B "q" \\ \\n'),
    ("export A=a\\ b", "a b"),
    ('export A="one \\\ntwo"', "one two"),
    ('export A="one\ntwo"', "one\ntwo"),
    ("export A=${NONE:-x}${B:-y}${EMPTY:-z}${EMPTY-w}", "xbeez"),
    ("export A=${B:+x}${NONE+y}${NONE:+z}", "x"),
    ("export A=$NONE", ""),
    ("export A=", ""),
    ("export A=cost$ B=1", "cost$"),
    ("export A=first; A=second", "second"),
    ("export A=1 A=2", "2"),
])
def test_assignments_are_followed_as_a_shell_does(line, value):
    found, notes = values(f"{line}\n", B="bee", EMPTY="")
    assert found["A"] == value and notes == ()


def test_what_follows_sees_what_was_set_before():
    text = "X=/a\nexport Y=$X/b\nexport PATH=$Y:$PATH\nunset X\nexport Z=[$X]\n"
    found, _ = values(text, PATH="p")
    assert found == {"Y": "/a/b", "Z": "[]"}
    assert environment.read("export PATH=x:$PATH", WHERE, {"PATH": "p"})[0]["PATH"] == "x:p"


@pytest.mark.parametrize(("text", "lines"), [
    ("export A=$(date)\nexport B=1\n", "1"),
    ("export A=`date`\nexport B=1\n", "1"),
    ('export A="x $(date)"\nexport B=1\n', "1"),
    ("export A=1 | tee x\nexport B=1\n", "1"),
    ("export A=1 && rm x\nexport B=1\n", "1"),
    ("export A=$1\nexport B=1\n", "1"),
    ("touch x\n\nalias a='if x'\nexport B=1\n. other.sh\nsource other.sh\n", "1, 3, 5-6"),
    ("if [ -d x ]; then\n export A=1\nfi\nexport B=1\n", "1-3"),
    ("if a; then if b; then\n A=1; fi\n echo 'fi' \"fi\" # fi\nfi\nexport B=1\n", "1-4"),
    ("for f in *; do\n  . $f\ndone\nexport B=1\n", "1-3"),
    ("case $x in\n a) A=1;;\nesac\nexport B=1\n", "1-3"),
    ("f() {\n export A=1\n}\nexport B=1\n", "1-3"),
    ("if x; then A=1; fi\nexport B=1\n", "1"),
    ("echo one \\\n two\nexport B=1\n", "1-2"),
    ("export -f x\nexport B=1\n", "1"),
    ("export B=1\ntouch x", "2"),
])
def test_commands_have_no_effect_and_are_named(text, lines):
    found, notes = values(text)
    assert found == {"B": "1"}
    assert notes == (f"{WHERE}: read, not run: commands in line {lines} had no effect",)


def test_names_alone_and_empty_lines_are_nothing():
    assert values("\n  # x\nexport A B\nunset C\nexport A=1\r\n") == ({"A": "1"}, ())


@pytest.mark.parametrize(("text", "message"), [
    ("export A=1\nexport B='x\n", "line 2: a quote ' has no end"),
    ('\n\nexport B="x\n', 'line 3: a quote " has no end'),
    ("export A=${B%x}\n", "line 1: only .NAME"),
    ("export B=1\nif x; then\nexport A=1\n", "line 2: `if` has no end"),
])
def test_what_cannot_be_read_is_named_by_its_line(text, message):
    with pytest.raises(ToolchainError, match=f"{WHERE}: {message}"):
        values(text)


@given(st.text(alphabet="export A=B$(){}'\"`\\\n;#if fi", max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        found, notes = values(text)
    except ToolchainError:
        return
    assert all(isinstance(value, str) for value in found.values()) and len(notes) <= 1


# Yocto


def script(folder, **lines):
    compiler = folder / "bin" / "arm-fake-linux-gcc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    (folder / "root").mkdir()
    text = {"SDKTARGETSYSROOT": f"{folder}/root", "PATH": f"{folder}/bin:$PATH",
            "CC": "'arm-fake-linux-gcc -mthumb --sysroot=$SDKTARGETSYSROOT'".replace("'", '"'),
            "CFLAGS": '" -O2 -pipe "', "CPPFLAGS": '"-DX"', "LDFLAGS": '"-Wl,-O1"'} | lines
    file = folder / "environment-setup-fake"
    file.write_text("".join(f"export {k}={v}\n" for k, v in text.items() if v is not None))
    return file


def test_a_yocto_sdk(tmp_path):
    chain, notes = sdk.from_yocto(script(tmp_path), PATH)
    assert chain.argv == (f"{tmp_path}/bin/arm-fake-linux-gcc", "-mthumb",
                          f"--sysroot={tmp_path}/root")
    assert (chain.kind, chain.sysroot, chain.libc) == ("gcc", f"{tmp_path}/root", "")
    assert (chain.flags, chain.link_flags) == (("-DX", "-O2", "-pipe"), ("-Wl,-O1",))
    assert notes == ()


def test_the_sysroot_has_two_names(tmp_path):
    file = script(tmp_path, SDKTARGETSYSROOT=None, OECORE_TARGET_SYSROOT=str(tmp_path))
    assert sdk.from_yocto(file, PATH)[0].sysroot == str(tmp_path)


@pytest.mark.parametrize(("lines", "message"), [
    ({"CC": None}, "sets no CC.*environment-setup script"),
    ({"CC": "$(which gcc)"}, "sets no CC"),
    ({"CC": "no-such-gcc"}, "'no-such-gcc' is not on the PATH that it sets"),
    ({"SDKTARGETSYSROOT": "/no/such"}, "sysroot /no/such does not exist"),
    ({"CFLAGS": "\\'"}, "CFLAGS cannot be split into words"),
])
def test_scripts_that_are_of_no_use(lines, message, tmp_path):
    with pytest.raises(ToolchainError, match=message):
        sdk.from_yocto(script(tmp_path, **lines), PATH)


def test_files_that_are_no_scripts(tmp_path):
    with pytest.raises(ToolchainError, match="cannot be read: .*No such file"):
        sdk.from_yocto(tmp_path / "none", PATH)
    (tmp_path / "image").write_bytes(b"\xff\xfe\0")
    with pytest.raises(ToolchainError, match="cannot be read"):
        sdk.from_yocto(tmp_path / "image", PATH)
    (tmp_path / "long").write_text("#" * (sdk.MOST_SCRIPT_BYTES + 1))
    with pytest.raises(ToolchainError, match="too long"):
        sdk.from_yocto(tmp_path / "long", PATH)


# Buildroot


def host(folder, *tuples, compilers=None):
    (folder / "bin").mkdir()
    for name in tuples:
        (folder / name / "sysroot").mkdir(parents=True)
    for name in tuples if compilers is None else compilers:
        (folder / "bin" / f"{name}-gcc").touch()
    return folder


def test_a_buildroot_host_folder(tmp_path):
    chain = sdk.from_buildroot(host(tmp_path, "arm-buildroot-linux-gnueabihf"))
    assert chain.argv == (f"{tmp_path}/bin/arm-buildroot-linux-gnueabihf-gcc",)
    assert chain.sysroot == f"{tmp_path}/arm-buildroot-linux-gnueabihf/sysroot"


@pytest.mark.parametrize(("tuples", "compilers", "available"), [
    ((), None, "none"), (("a-linux", "b-linux"), None, "a-linux, b-linux"),
    (("a-linux",), (), "a-linux/sysroot alone")])
def test_folders_that_are_none(tuples, compilers, available, tmp_path):
    with pytest.raises(ToolchainError, match=f"not one Buildroot toolchain.*available {available}"):
        sdk.from_buildroot(host(tmp_path, *tuples, compilers=compilers))


# The choice


@pytest.mark.parametrize(("target", "libc", "triple", "named"), [
    ("raspberry-pi-4", "musl", "aarch64-linux-musl", "musl"),
    ("raspberry-pi-4", "glibc-2.28", "aarch64-linux-gnu.2.28", "glibc-2.28"),
    ("raspberry-pi-4", "glibc", "aarch64-linux-gnu.2.31", "glibc-2.31"),
    ("armv7-neon", "glibc-2.36", "arm-linux-gnueabihf.2.36", "glibc-2.36"),
    ("riscv64-generic", None, "riscv64-linux-musl", "musl"),
])
def test_zig_has_every_c_library(target, libc, triple, named):
    chain = chosen(get_target(target), CompileConfig(libc=libc))
    assert chain.argv[3] == triple and chain.libc == named


@pytest.mark.parametrize(("triple", "libc"), [
    ("arm-linux-gnueabihf.2.31", "glibc-2.31"), ("arm-linux-gnueabihf", "glibc"),
    ("x86_64-linux-musl", "musl"), ("aarch64-macos", "")])
def test_the_c_library_of_a_zig_command(triple, libc):
    config = CompileConfig(toolchain=("/opt/zig", "cc", "-target", triple))
    assert chosen(get_target("host"), config).libc == libc


def test_a_zig_command_without_a_target():
    config = CompileConfig(toolchain=("zig", "cc"), libc="glibc")
    with pytest.raises(ToolchainError, match="host: zig cannot be told to use glibc"):
        chosen(get_target("host"), config)


def test_flags_are_added_and_the_sysroot_replaced():
    config = CompileConfig(toolchain=("gcc",), sysroot="/s", cflags=("-a",), ldflags=("-b",))
    chain = chosen(get_target("host"), config)
    assert (chain.sysroot, chain.flags, chain.link_flags) == ("/s", ("-a",), ("-b",))
    assert chain.libc == ""


@pytest.mark.parametrize("libc", ["uclibc", "glibc-3", "glibc-2", "musl-1.2", ""])
def test_libraries_that_are_not_known(libc):
    with pytest.raises(ConfigError, match="libc=.* is not implemented.*choose musl"):
        CompileConfig(libc=libc)
