"""Portable C of every kernel that needs no machine's own instructions: strict compilers take it
without a word, it computes the references' results, and it does nothing that C leaves undefined.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import grouped_problems
import kernel_checks
import kernel_harness
import kernel_problems as problems
import math_problems
import movement_problems
import numpy as np
import pytest
from kernel_checks import check

from edgecc.errors import UnsupportedModel
from edgecc.kernels import (
    binary,
    conv2d_float,
    conv2d_int8,
    depthwise_float,
    depthwise_int8,
    fully_connected_float,
    fully_connected_int8,
    matmul_int8,
    pool2d,
    quantize,
    recentre,
    registry,
    softmax,
    table,
    tir,
    transpose,
    unary,
)
from edgecc.lower.portable import c_source
from edgecc.targets import get_target

pytestmark = pytest.mark.host
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-Wshadow",
          "-pedantic")
COMPILERS = ("gcc", "clang", "tcc")
TRAPS = ("-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
PLAIN = "host-sse2"  # no feature at all, and run natively


@pytest.fixture
def through_c(monkeypatch):
    """Makes the kernel harness compile C, with every warning an error and traps for undefined
    behaviour; now and then every other compiler looks at it too."""
    counted = []

    def compiled(func, target):
        text = c_source(func).encode()
        counted.append(text)
        if len(counted) % 10 == 1:
            for compiler in filter(shutil.which, COMPILERS):
                compile_with(compiler, text, "-O2")
        return compile_with("gcc", text, *TRAPS)

    monkeypatch.setattr(kernel_harness, "object_bytes", compiled)
    return counted


def compile_with(compiler, text, *flags):
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "k.c", Path(folder) / "k.o"
        source.write_bytes(text)
        done = subprocess.run([compiler, *STRICT, *flags, "-c", source, "-o", made],
                              capture_output=True, check=False, timeout=120)
        assert done.returncode == 0, f"{compiler}: {done.stderr.decode()[:1500]}"
        return made.read_bytes()


FAMILIES = {
    "elementwise": (lambda: [*problems.unary(), *problems.table(), *problems.binary(),
                             *problems.softmax()], [unary, table, binary, softmax]),
    "other": (lambda: [*problems.quantize(), *problems.recentre(), *problems.transpose(),
                       *problems.pool2d()], [quantize, recentre, transpose, pool2d]),
    "float products": (lambda: [*problems.convolution(
        [*problems.conv_specs(), *problems.depthwise_specs()]), *problems.fully_connected()],
        [conv2d_float, depthwise_float, fully_connected_float]),
    "int8 products": (lambda: list(problems.int8_product()),
                      [conv2d_int8, depthwise_int8, fully_connected_int8]),
    "math": (lambda: [*math_problems.every(), *math_problems.matmul_int8()], None),
    "four bits": (lambda: [*grouped_problems.products(), *grouped_problems.rounded()], None),
    "movement": (lambda: [*movement_problems.takes(), *movement_problems.fixed(),
                          *movement_problems.interpolations()], None),
}


@pytest.mark.parametrize("share", [9, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_equal_their_references(through_c, family, share):
    found, modules = FAMILIES[family]
    check(found()[::share], PLAIN, modules or [registry_of_all()],
          in_place=family == "elementwise")
    assert through_c


def registry_of_all():
    class Everything:
        KERNELS = registry.all_kernels()

    return Everything


def test_the_soft_float_kernels_too(through_c, monkeypatch):
    soft = kernel_checks.replace(get_target("null"), name="host", emulator=(),
                                 features=frozenset({"soft-float"}))
    monkeypatch.setattr(kernel_checks, "named", lambda name: soft)
    found = [*list(problems.int8_product())[::9], *list(math_problems.matmul_int8())[::6]]
    check(found, "soft", [conv2d_int8, depthwise_int8, fully_connected_int8, matmul_int8])


def test_a_kernel_of_one_machine_is_refused():
    record = next(r for r in registry.all_kernels() if r.requires == frozenset({"neon"})
                  and r.op == "conv2d" and r.dtype == "int8")
    spec = next(s for s, _, _ in problems.int8_product()
                if s.op == "conv2d" and record.accepts(s) is None)
    with pytest.raises(UnsupportedModel, match="portable C has no"):
        c_source(record.build(spec, "k", get_target("raspberry-pi-5")))


def test_half_floats_are_refused():
    with tir.kernel("k", inputs=[("float16", 4)], outputs=[("float16", 4)], weights=False) as k:
        tir.store(k.outputs[0], 0, tir.load(k.inputs[0], 0))
    with pytest.raises(UnsupportedModel, match="portable C has no type float16"):
        c_source(k.func)


@pytest.mark.parametrize("operation", ["round", "floor", "ceil", "trunc", "sqrt"])
def test_rounding_and_roots_are_exact(operation, through_c, tmp_path):
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)
    halves = np.arange(-3000, 3000, dtype=np.float32) / 2
    x = np.concatenate([bits[np.isfinite(bits)], halves, np.float32([0.0, -0.0, 8388607.5, 0.5])])
    x = np.abs(x) if operation == "sqrt" else x
    with tir.kernel("k", inputs=[("float32", len(x))], outputs=[("float32", len(x))],
                    weights=False) as k, tir.loop(0, len(x)) as i:
        function = getattr(tir.T, operation)
        tir.store(k.outputs[0], i, function(tir.load(k.inputs[0], i)))
    text = c_source(k.func)
    (tmp_path / "k.c").write_text(text)
    subprocess.run(["gcc", *STRICT, "-O2", "-shared", "-fPIC", "k.c", "-o", "k.so"], cwd=tmp_path,
                   check=True)
    import ctypes

    y = np.zeros_like(x)
    ctypes.CDLL(str(tmp_path / "k.so")).k(
        *(ctypes.c_void_p(a.ctypes.data) for a in (x, y)), None, 0, 1)
    wanted = {"round": np.rint}.get(operation, getattr(np, operation, None))(x)
    np.testing.assert_array_equal(y.view(np.uint32), wanted.view(np.uint32))
