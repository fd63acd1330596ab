"""The header's helpers between real and quantized values: NumPy's results, in every compiler."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from edgecc.bundle.ports import dequantize, quantize
from edgecc.lower.c_header import _shared_types
from edgecc.lower.c_quantize import TEXT

pytestmark = pytest.mark.host
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wcast-align", "-pedantic")
SOURCE = """
void all(const float *x, int32_t n, float scale, int32_t zero, int8_t *q, uint8_t *u, float *r);
void all(const float *x, int32_t n, float scale, int32_t zero, int8_t *q, uint8_t *u, float *r) {
  edgecc_tensor tensor;
  int32_t i;
  tensor.scale = scale;
  tensor.zero_point = zero;
  for (i = 0; i < n; i++) {
    q[i] = edgecc_quantize_int8(&tensor, x[i]);
    u[i] = edgecc_quantize_uint8(&tensor, x[i]);
    r[i] = edgecc_dequantize(&tensor, q[i]);
  }
}
"""


@pytest.fixture(scope="module", params=[
    ("gcc", "-O2"), ("gcc", "-O3", "-ffast-math", "-march=native"), ("clang", "-O2"),
    ("tcc",)], ids=" ".join)
def library(request, tmp_path_factory):
    compiler, *flags = request.param
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    folder = tmp_path_factory.mktemp("c")
    text = "#include <stddef.h>\n#include <stdint.h>\n" + _shared_types() + TEXT + SOURCE
    (folder / "q.c").write_text(text)
    # Linked without the flags: gcc adds a constructor for -ffast-math that flushes the subnormals
    # of the whole process which loads the library.
    for step in (["-std=c99", *STRICT, *flags, "-fPIC", "-c", "q.c", "-o", "q.o"],
                 ["-shared", "q.o", "-o", "q.so"]):
        subprocess.run([compiler, *step], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "q.so"))


def values(scale: float, zero: int) -> np.ndarray:
    """Every half step around the range, the floats beside them, and far values."""
    halves = (np.arange(-600, 600) / 2 * np.float32(scale)).astype(np.float32)
    beside = [np.nextafter(halves, np.float32(sign * np.inf)) for sign in (-1, 1)]
    far = np.float32([0, -0.0, 1e-30, 1e30, -1e30, 3.4e38, -3.4e38, 2.2e9 * scale])
    random = np.random.default_rng(zero + 999).normal(0, 90 * scale, 2000).astype(np.float32)
    return np.concatenate([halves, *beside, far, random])


@pytest.mark.parametrize("scale, zero", [(0.05, -3), (1.0, 0), (0.0078125, -128), (3.7e-5, 127)])
def test_quantize_and_dequantize_are_numpys(library, scale, zero, request):
    x = values(scale, zero)
    q, u, r = (np.zeros(len(x), dtype) for dtype in (np.int8, np.uint8, np.float32))
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, q, u, r)]
    library.all(pointers[0], len(x), ctypes.c_float(scale), zero, *pointers[1:])
    port = {"scale": scale, "zero_point": zero}
    if "fast-math" in request.node.name:  # a reciprocal may round differently: never by more
        assert np.abs(q.astype(int) - quantize({**port, "dtype": "int8"}, x)).max() <= 1
        return
    np.testing.assert_array_equal(q, quantize({**port, "dtype": "int8"}, x))
    np.testing.assert_array_equal(u, quantize({**port, "dtype": "uint8"}, x))
    np.testing.assert_array_equal(r, dequantize(port, q))


def test_nan_gives_the_lowest_value(library, request):
    if "fast-math" in request.node.name:
        pytest.skip("the compiler was told that there is no NaN")
    x, q, u, r = np.float32([np.nan]), *(np.zeros(1, t) for t in (np.int8, np.uint8, np.float32))
    library.all(*(ctypes.c_void_p(x.ctypes.data), 1, ctypes.c_float(0.1), 0),
                *(ctypes.c_void_p(a.ctypes.data) for a in (q, u, r)))
    assert q[0] == -128 and u[0] == 0
