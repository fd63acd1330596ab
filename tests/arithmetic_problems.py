"""Problems for broadcasts, rows of constants, reductions, norms, products of two matrices, and
transpositions: (spec, inputs, constants), with work for several threads."""

import grouped_problems
import numpy as np
from kernel_problems import float32, int8

from edgecc.kernels.math_spec import (
    ArgReduce,
    Broadcast,
    Choose,
    Compare,
    MatMul,
    Normalize,
    Reduce,
    Rowwise,
)
from edgecc.kernels.runs import DTYPES as COPIED
from edgecc.kernels.spec import Recentre, Transpose

DTYPES = ("int8", "float32")
NUMBERS = {
    "input_scale": np.float32(0.1), "output_scale": np.float32(0.2), "input_zero_point": 3,
    "output_zero_point": -7, "a_zero_point": 4, "b_zero_point": -2, "ratio": np.float32(0.7),
    "residual_ratio": np.float32(0.4), "scale": np.float32(0.002), "lo": -100, "hi": 90,
    "epsilon": np.float32(1e-5), "floor": np.float32(0.3),
}


def values(rng, dtype, *shape):
    return int8(rng, *shape) if dtype == "int8" else float32(rng, *shape)


def broadcast(seed=0):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        for kind in ("add", "mul"):
            for shape, a, b in (((7, 5, 19), (95, 19, 1), (0, 1, 0)),
                                ((6, 70), (70, 1), (1, 0)), ((9, 33), (0, 1), (33, 1))):
                spec = Broadcast(dtype, kind, shape, a, b)
                yield spec, [values(rng, dtype, n) for n in spec.sizes], NUMBERS


ROWS = ((9, 33), (33, 1), (0, 1))  # a shape, strides of a whole operand and of a row


def compare(seed=0):
    rng, (shape, whole, row) = np.random.default_rng(seed), ROWS
    spec = Compare("float32", "less", shape, whole, row)
    for _ in range(2):
        yield spec, [rng.integers(-3, 4, n).astype(np.float32) for n in (9 * 33, 33)], {}
        truths = [rng.random(n) < 0.5 for n in (9 * 33, 33)]
        yield Compare("bool", "and", shape, whole, row), truths, {}


def choose(seed=0):
    rng, (shape, whole, row) = np.random.default_rng(seed), ROWS
    for dtype in DTYPES:
        for _ in range(2):
            yield Choose(dtype, shape, whole, whole, row), [
                rng.random(9 * 33) < 0.5, values(rng, dtype, 9 * 33), values(rng, dtype, 33)], {}


def rowwise(seed=0):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        for kind in ("affine", "prelu"):
            for outer, n, inner in ((9, 17, 1), (3, 5, 37)):
                rows = {name: rng.random(n).astype(np.float32) for name in ("slope", "shift")}
                rows["scale"] = rows["slope"] + np.float32(0.5)
                yield (Rowwise(dtype, kind, outer, n, inner),
                       [values(rng, dtype, outer * n * inner)], NUMBERS | rows)


def reduce(seed=0):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        for outer, n, inner in ((9, 40, 1), (5, 7, 33), (1, 12, 300)):
            x = values(rng, dtype, outer, n, inner)
            for kind in ("mean", "max"):
                yield Reduce(dtype, kind, outer, n, inner), [x], NUMBERS
            yield ArgReduce(dtype, "max", outer, n, inner), [x], {}


def normalize(seed=0):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        for outer, n, groups, m in ((9, 1, 1, 37), (2, 30, 5, 1), (3, 20, 4, 3)):
            spec = Normalize(dtype, outer, n, groups, m)
            rows = {name: rng.random(groups * m).astype(np.float32)
                    for name in ("scale", "shift")}
            yield spec, [values(rng, dtype, spec.size)], NUMBERS | rows


def matmul(seed=0):
    rng = np.random.default_rng(seed)
    for dtype in DTYPES:
        for batch, m, k, n in (((3,), 5, 17, 20), ((), 33, 9, 20)):
            a, b = ((m * k,) if batch else ()), ((k * n,) if batch else ())
            spec = MatMul(dtype, batch, m, k, n, (*a, k, 1), (*b, n, 1))
            count = spec.batches
            yield spec, [values(rng, dtype, count * m * k), values(rng, dtype, count * k * n)], (
                NUMBERS)


def grouped_products(seed=0):
    yield from grouped_problems.products(seed)
    yield from grouped_problems.rounded(seed)


def transposes(seed=0):
    """Every dtype: runs, and planes."""
    rng = np.random.default_rng(seed)
    for dtype in COPIED:
        x = rng.integers(0, 2, (3, 17, 20)).astype(dtype)
        for permutation in ((1, 0, 2), (0, 2, 1)):
            yield Transpose(dtype, x.shape, permutation), [x], {}


def recentre(seed=0):
    x = np.random.default_rng(seed).integers(0, 256, 1000, dtype=np.uint8)
    yield Recentre("int8", x.size), [x], {}
