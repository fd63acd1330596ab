"""float16 bundles as C source: strict compilers take it, and its self-test reads halves."""

import re
import shutil
import subprocess

import onnx
import pipeline_models
import pytest
from onnx import numpy_helper

import edgecc
from edgecc.bundle.package import package, write
from edgecc.cli.main import main

pytestmark = pytest.mark.host
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-Wshadow", "-pedantic")


@pytest.fixture(scope="module")
def files():
    bundle = edgecc.compile(
        pipeline_models.network(), target="host", name="net", quantization="float16",
        io="float16", calibration={"x": pipeline_models.samples()})
    ports = (*bundle.manifest["inputs"], *bundle.manifest["outputs"])
    assert [port["dtype"] for port in ports] == ["float16", "float16"]
    assert "float16 · 100 % of MACs" in bundle.manifest["quantization"]["text"]
    return package(bundle, "c-file")


def answered(files, folder, compiler="gcc"):
    write(files, folder)
    built = subprocess.run(
        [compiler, "-std=c99", *STRICT, "net.c", "net_selftest.c", "main.c", "-o", "app"],
        cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-2000:]
    return subprocess.run(["./app"], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "tcc"])
def test_portable_c_answers_in_halves(files, tmp_path, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    done = answered(files, tmp_path / "out", compiler)
    assert (done.returncode, done.stdout) == (0, "net: self-test passed\n")


def test_a_wrong_half_fails_the_self_test(files, tmp_path):
    changed = re.sub(rb"(output_0_0\[\] = \{\n +\d+, )\d+", rb"\g<1>191", files["net_selftest.c"])
    done = answered({**files, "net_selftest.c": changed}, tmp_path / "out")
    assert done.returncode == 1 and "FAILED" in done.stdout


def test_the_command_line_says_what_does_not_fit(tmp_path, capsys):
    proto = pipeline_models.network()
    weights = numpy_helper.to_array(proto.graph.initializer[0]).copy()
    weights.reshape(-1)[0] = 1e5
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "w0"))
    onnx.save(proto, tmp_path / "net.onnx")
    code = main(["compile", str(tmp_path / "net.onnx"), "--target", "null", "--quantize",
                 "float16", "--shape", "x=1,3,12,12", "-o", str(tmp_path / "net.ecb")])
    said = capsys.readouterr().err
    assert code == 4 and not (tmp_path / "net.ecb").exists()
    assert "1 of 216 numbers of w0 do not fit float16" in said
    assert "100,000" in said and "65,504" in said
