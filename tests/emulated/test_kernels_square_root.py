"""Square roots on cores without an FPU: the bytes that IEEE 754 asks for, whatever the number."""

import bare_metal
import numpy as np
import pytest
from kernel_harness import Case

from edgecc.kernels.registry import find
from edgecc.kernels.spec import Unary

pytestmark = pytest.mark.emulated
CORES = ("cortex-m3", "cortex-m0plus", "rv32imc")
SPECIAL = (0.0, -0.0, 1.0, 2.0, 3.0, 0.25, -1.0, np.inf, -np.inf, np.nan, 1e-45, 1e-40, 2.0**-126,
           3.4028235e38, 1 - 2.0**-24, 1 + 2.0**-23)


def numbers():
    """Of every exponent, subnormal ones among them, squares and their neighbours."""
    generator = np.random.default_rng(0)
    any_bits = generator.integers(0, 0x7F800000, 1500, np.uint32).view(np.float32)
    small = generator.integers(1, 1 << 23, 200, np.uint32).view(np.float32)
    squares = np.square(generator.integers(1, 4096, 100).astype(np.float32))
    near = [np.nextafter(squares, np.float32(way)) for way in (0, np.inf)]
    return np.concatenate([np.array(SPECIAL, np.float32), any_bits, small, squares, *near])


@pytest.mark.parametrize("core", CORES)
def test_every_root_is_rounded_right(core):
    x = numbers()
    with np.errstate(invalid="ignore"):
        wanted = np.sqrt(x)
    spec = Unary("float32", "sqrt", x.size)
    case = Case(find("float32_unary_vector__generic"), spec, [x], {}, [((x.size,), "float32")])
    found = np.asarray(bare_metal.run_bare_metal([case], core)[0][0]).ravel()
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    told = ~np.isnan(wanted)
    wrong = found.view(np.uint32)[told] != wanted.view(np.uint32)[told]
    assert not wrong.any(), (x[told][wrong][:5], found[told][wrong][:5])
