"""Packages for this machine, and the source forms under every strict compiler and sanitizer."""

import re
import shutil
import subprocess

import pipeline_models
import pytest

import edgecc
from edgecc.bundle.package import package, write
from edgecc.cli.main import main
from edgecc.errors import BundleError, ConfigError
from edgecc.link import describe
from edgecc.lower.runner_glue import runtime_text

pytestmark = pytest.mark.host
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-Wshadow", "-pedantic")


@pytest.fixture(scope="module", params=["int8", "none"])
def bundle(request):
    more = {"quantization": "int8", "calibration": {"x": pipeline_models.samples()}} if (
        request.param == "int8") else {}
    return edgecc.compile(pipeline_models.network(), target="host", name="net", **more)


def needs(tool):
    return shutil.which(tool) or pytest.skip(f"needs {tool}")


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-1500:]}{done.stderr[-3000:]}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("compiler", [
    ("gcc", "-O2"), ("clang", "-O2"), ("tcc",), ("gcc", "-O3", "-march=native"),
    ("gcc", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"),
], ids=" ".join)
def test_c_source_builds_without_a_word(bundle, tmp_path, compiler):
    needs(compiler[0])
    write(package(bundle, "c-source"), tmp_path / "out")
    line = "cc -std=c99 -O2 -Iinclude src/*.c example/main.c -o selftest && ./selftest"
    assert line in (tmp_path / "out" / "README.md").read_text()
    words = " ".join([*compiler, *(STRICT if compiler[0] != "tcc" else ("-Wall", "-Werror"))])
    said = run(tmp_path / "out", "sh", "-ec", line.replace("cc ", f"{words} ", 1))
    assert said == "net: self-test passed\n"


@pytest.mark.parametrize("compiler", ["gcc", "clang", "tcc"])
def test_the_single_file_builds_without_a_word(bundle, tmp_path, compiler):
    needs(compiler)
    files = package(bundle, "c-file")
    assert {"net.c", "net.h", "main.c", "README.md"} <= set(files)
    write(files, tmp_path / "out")
    said = run(tmp_path / "out", compiler, "-std=c99", *STRICT, "net.c", "net_selftest.c",
               "main.c", "-o", "app")
    assert said == "" and run(tmp_path / "out", "./app") == "net: self-test passed\n"


def test_headers_are_c_plus_plus(bundle, tmp_path):
    needs("g++")
    write(package(bundle, "c-source"), tmp_path / "out")
    (tmp_path / "out" / "baremetal.h").write_text(runtime_text("baremetal/baremetal.h"))
    (tmp_path / "out" / "all.cpp").write_text("".join(
        f'#include "{name}.h"\n' for name in ("net", "net_weights", "net_selftest", "baremetal"))
        + "void use();\nvoid use() { edgecc_fill_memory(); edgecc_say(\"\"); }\n")
    run(tmp_path / "out", "g++", "-std=c++17", *STRICT, "-Iinclude", "-c", "all.cpp", "-o", "o.o")
    assert "edgecc_say" in describe((tmp_path / "out" / "o.o").read_bytes()).undefined_symbols


@pytest.mark.parametrize("format, lines", [
    ("cmake", ["cmake -B build && cmake --build build", "cmake --build build --target check"]),
    ("make", ["make check"]),
])
def test_library_packages_build_with_their_one_liner(bundle, tmp_path, format, lines):
    needs(format)
    write(package(bundle, format), tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    said = ""
    for line in lines:
        assert f"    {line}\n" in text
        said += run(tmp_path / "out", "sh", "-ec", line)
    assert "net: self-test passed" in said


def test_a_wrong_answer_fails_the_self_test(bundle, tmp_path):
    files = package(bundle, "c-file")
    changed = re.sub(rb"(output_0_0\[\] = \{\n +\d+, \d+, \d+, )\d+", rb"\g<1>191",
                     files["net_selftest.c"])  # of a float: its sign and exponent
    write({**files, "net_selftest.c": changed}, tmp_path / "out")
    run(tmp_path / "out", "gcc", "-std=c99", "net.c", "net_selftest.c", "main.c", "-o", "app")
    done = subprocess.run(["./app"], cwd=tmp_path / "out", capture_output=True, check=False)
    assert done.returncode == 1 and done.stdout == b"net: self-test FAILED\n"


def test_the_same_bundle_gives_the_same_package(bundle):
    assert package(bundle, "c-source") == package(bundle, "c-source")


def test_wrong_requests_are_refused(bundle, tmp_path, capsys):
    with pytest.raises(ConfigError, match="unknown format 'cmaek'; did you mean cmake"):
        package(bundle, "cmaek")
    with pytest.raises(ConfigError, match="formats are cmake, make, c-source, c-file"):
        package(bundle, "zzz")
    (tmp_path / "x").write_text("taken")
    with pytest.raises(BundleError, match="the folder is not empty"):
        write({}, tmp_path)
    with pytest.raises(BundleError, match="cannot be written"):
        write({"a": b""}, tmp_path / "x" / "y")
    path = bundle.save(tmp_path / "net.ecb")
    assert main(["package", str(path), "--format", "make", "-o", str(tmp_path / "out")]) == 0
    assert "README.md says how to build it" in capsys.readouterr().out


def test_a_bundle_without_a_library_has_source_forms_only():
    plain = edgecc.compile(pipeline_models.network(), target="null", name="net")
    with pytest.raises(ConfigError, match="no library, so --format make has nothing to pack"):
        package(plain, "make")
    assert "src/net_portable_run.c" in package(plain, "c-source")
