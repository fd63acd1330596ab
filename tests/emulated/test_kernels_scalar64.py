"""Two sums in one register, as long and as large as they may be, come apart exactly."""

import numpy as np
import pytest
from kernel_harness import Case, run_cases

from edgecc.kernels.isa.scalar64 import MOST_PRODUCTS
from edgecc.kernels.reference import reference
from edgecc.kernels.registry import find
from edgecc.kernels.spec import Conv2d

pytestmark = pytest.mark.emulated
COLUMNS = 8


@pytest.mark.parametrize("exact", [0, 1])
@pytest.mark.parametrize("rows", [(-128, 127), (127, -128), (-128, -128), (0, -128), (-128, 0)])
def test_the_largest_sums_of_either_sign(rows, exact):
    """Half of the columns weigh -128, the others 127. Biases bring one row's sums down to where
    int8 tells every unit."""
    spec = Conv2d("int8", 1, 1, 2, MOST_PRODUCTS, COLUMNS, 1, 1, wide_weights=True)
    weights = np.empty((COLUMNS, 1, 1, MOST_PRODUCTS), np.int8)
    weights[::2], weights[1::2] = -128, 127
    sums = rows[exact] * weights.sum(axis=(1, 2, 3), dtype=np.int64)
    constants = {"weights": weights, "bias": (np.arange(COLUMNS) - sums).astype(np.int32),
                 "scale": np.ones(COLUMNS, np.float32), "input_zero_point": 0,
                 "output_zero_point": 0, "lo": -128, "hi": 127}
    x = np.repeat(np.array(rows, np.int8), MOST_PRODUCTS)
    wanted = reference(spec, [x], constants)[0]
    case = Case(find("int8_conv2d_2x8__scalar64"), spec, [x], constants,
                [(wanted.shape, "int8")])
    (found,), = run_cases([case], "riscv64-generic")
    assert np.array_equal(wanted.reshape(2, COLUMNS)[exact], np.arange(COLUMNS))
    assert np.array_equal(found.ravel(), wanted.ravel())
