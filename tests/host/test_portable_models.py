"""Whole models as one portable C file: strict compilers take them without a word, and the
self-test finds the golden answers."""

import shutil
import subprocess

import numpy as np
import pytest
from shared_data import shared
from test_odd_models import WORK, feeds

import edgecc
from edgecc.bundle.package import package, write
from edgecc.model import load
from edgecc.quantize.calibration import ports

pytestmark = [pytest.mark.host, pytest.mark.slow]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-Wshadow",
          "-pedantic")
COMPILERS = {"gcc": "-O1", "clang": "-O1", "tcc": "-O0"}
REAL = ("ad_autoencoder", "strww", "kws_dscnn", "vww_mobilenetv1", "resnet8_cifar10")
ODD = ("constant output", "five dimensions", "one value twice", "scalar input", "unicode names",
       "huge pads", "dilated beyond the image", "depthwise of multiplier 3", "prime sizes")


def real(name):
    """The file, and random samples: golden vectors need no accuracy."""
    path = shared(f"models/onnx_fp32/mlperf_tiny_{name}_fp32.onnx")
    generator = np.random.default_rng(0)
    inputs = ports(load(path))
    return path, [{port.name: generator.standard_normal(port.shape).astype(port.dtype)
                   for port in inputs} for _ in range(2)]


def odd(name):
    made = WORK[name]()
    return made, [feeds(made) for _ in range(2)]


@pytest.mark.parametrize("quantization, optimization", [("int8", "O2"), ("int8", "Os"),
                                                        ("none", "O2")])
@pytest.mark.parametrize("make, names", [(real, REAL), (odd, ODD)], ids=["real", "odd"])
def test_every_strict_compiler_takes_every_model(make, names, quantization, optimization,
                                                 tmp_path):
    compilers = [name for name in COMPILERS if shutil.which(name)]
    if not compilers:
        pytest.skip(f"needs one of {', '.join(COMPILERS)}")
    for name in names:
        source, samples = make(name)
        bundle = edgecc.compile(source, target="null", quantization=quantization, name="net",
                                optimization=optimization,
                                calibration=samples if quantization == "int8" else None)
        folder = tmp_path / name.replace(" ", "_")
        write(package(bundle, "c-file"), folder)
        for compiler in compilers:
            judge(compiler, folder, f"{name} {quantization}")


def judge(compiler, folder, where):
    command = [compiler, *STRICT, COMPILERS[compiler], "net.c", "net_selftest.c", "main.c",
               "-o", compiler]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          timeout=300)
    assert (made.returncode, made.stdout + made.stderr) == (0, ""), f"{where}: {made.stderr[:2000]}"
    said = subprocess.run([folder / compiler], capture_output=True, text=True, check=False,
                          timeout=300).stdout
    assert said == "net: self-test passed\n", f"{where} by {compiler}: {said}"
