"""Problems for the kernels of math_spec.py: (spec, inputs, constants)."""

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
    touched,
)
from edgecc.kernels.spec import Softmax, Unary

COMMON = {"input_zero_point": 5, "output_zero_point": -7, "a_zero_point": 3, "b_zero_point": -4,
          "lo": -100, "hi": 90}
MAKERS = {"int8": int8, "float32": float32}

# shape, strides of both operands: rows, columns, both repeated, either one first
BROADCASTS = (
    ((3, 4, 17), (17, 0, 1), (0, 17, 1)), ((2, 5, 19), (95, 19, 1), (19, 0, 1)),
    ((4, 33), (1, 0), (0, 1)), ((4, 33), (33, 1), (1, 0)), ((70,), (0,), (1,)),
    ((2, 3, 2, 65), (3, 1, 0, 0), (390, 130, 65, 1)),
)


def broadcast(seed=0):
    rng = np.random.default_rng(seed)
    for number, kind in enumerate(("add", "sub", "mul", "div", "min", "max")):
        for dtype, make in MAKERS.items():
            for shape, a, b in BROADCASTS:
                spec = Broadcast(dtype, kind, shape, a, b, clamp=(len(shape) + number) % 2 == 0)
                first, second = (make(rng, n) for n in spec.sizes)
                if kind == "div":
                    second = np.where(second == -4, 1, second).astype(dtype)
                ratio = {"mul": 0.01, "div": 9.0}.get(kind, 0.7)
                yield spec, [first, second], COMMON | {
                    "ratio": np.float32(ratio), "residual_ratio": np.float32(0.33)}


def compare(seed=0):
    """Few different values, so that there are equals."""
    rng = np.random.default_rng(seed)
    for shape, a, b in BROADCASTS:
        for kind in ("less", "less_equal", "greater", "greater_equal", "equal"):
            spec = Compare("float32", kind, shape, a, b)
            sizes = [touched(shape, s) for s in (a, b)]
            yield spec, [rng.integers(-3, 4, n).astype(np.float32) for n in sizes], {}
        for kind in ("and", "or", "xor", "nor"):
            sizes = [touched(shape, s) for s in (a, b)]
            yield Compare("bool", kind, shape, a, b), [rng.random(n) < 0.5 for n in sizes], {}


def choose(seed=0):
    rng = np.random.default_rng(seed)
    for dtype, make in MAKERS.items():
        for shape, a, b in BROADCASTS:
            for condition in (a, b):
                spec = Choose(dtype, shape, condition, a, b)
                yield spec, [rng.random(touched(shape, condition)) < 0.5,
                             make(rng, touched(shape, a)), make(rng, touched(shape, b))], {}


def rowwise(seed=0):
    rng = np.random.default_rng(seed)
    sizes = ((3, 17, 1), (2, 5, 33), (1, 1, 70), (40, 64, 1), (2, 7, 129))
    for dtype, make in MAKERS.items():
        for kind in ("affine", "prelu", *(() if dtype == "int8" else ("min", "max", "rdiv"))):
            for outer, n, inner in sizes:
                rows = {"affine": ("scale", "shift"), "prelu": ("slope",)}.get(kind, ("operand",))
                constants = COMMON | {name: float32(rng, n) / np.float32(4) for name in rows}
                constants["ratio"] = np.float32(0.6)
                spec = Rowwise(dtype, kind, outer, n, inner, clamp=outer == 3)
                yield spec, [make(rng, spec.size)], constants


def affine_ties():
    """Every byte at scales whose products an FMA would round differently."""
    x = np.arange(-128, 128).astype(np.int8)
    for scale, shift in ((0.1, 0.3), (0.7, -12.45), (0.5, 0.25), (0.037, 55.5)):
        yield (Rowwise("int8", "affine", 1, 1, 256), [x], COMMON | {
            "scale": np.full(1, scale, np.float32), "shift": np.full(1, shift, np.float32)})


REDUCED = ((3, 17, 1), (2, 5, 33), (1, 1, 70), (40, 64, 1), (1, 3, 1), (2, 300, 16))


def reduce(seed=0):
    rng = np.random.default_rng(seed)
    for dtype, make in MAKERS.items():
        more = () if dtype == "int8" else ("prod", "l1", "sum_square")
        for kind in ("sum", "mean", "max", "min", *more):
            for outer, n, inner in REDUCED:
                x = make(rng, outer * n * inner)
                x = x / np.float32(4) if kind == "prod" else x
                yield Reduce(dtype, kind, outer, n, inner), [x], COMMON | {
                    "input_scale": np.float32(0.1), "output_scale": np.float32(0.3)}


def arg_reduce(seed=0):
    """Few different values, so that there are equals."""
    rng = np.random.default_rng(seed)
    for dtype in MAKERS:
        for turn, (outer, n, inner) in enumerate(REDUCED):
            for kind in ("max", "min"):
                for last in (False, True):
                    x = rng.integers(-9, 9, outer * n * inner).astype(dtype)
                    spec = ArgReduce(dtype, kind, outer, n, inner, last,
                                     "int32" if turn == 1 else "int64")
                    yield spec, [x], {}


def normalize(seed=0):
    rng = np.random.default_rng(seed)
    sizes = ((3, 1, 1, 17), (2, 7, 3, 5), (2, 9, 33, 1), (5, 1, 1, 64), (2, 1, 4, 20),
             (2, 300, 8, 4), (1, 1, 1, 1), (2, 2000, 2, 16))
    for dtype, make in MAKERS.items():
        for outer, n, groups, m in sizes:
            spec = Normalize(dtype, outer, n, groups, m)
            constants = COMMON | {
                "scale": float32(rng, groups * m) * np.float32(5),
                "shift": float32(rng, groups * m) * np.float32(3), "epsilon": np.float32(1e-5),
                "floor": np.float32(spec.count**2 * 1e-5 / 0.04**2)}
            x = make(rng, spec.size)
            if dtype == "int8" and n == 2000:
                x[:] = np.where(rng.random(spec.size) < 0.5, -128, 127)  # the largest sums
            yield spec, [x], constants


# batch, m, k, n, strides of both operands: plain, repeated and transposed ones
PRODUCTS = (
    ((), 5, 7, 19, (7, 1), (19, 1)), ((2, 3), 4, 9, 33, (108, 36, 9, 1), (891, 297, 33, 1)),
    ((2, 3), 4, 9, 33, (27, 9, 54, 1), (0, 297, 1, 9)), ((3,), 1, 16, 1, (16, 16, 1), (16, 1, 1)),
    ((2,), 6, 5, 17, (0, 1, 6), (85, 17, 1)), ((), 9, 33, 64, (33, 1), (1, 33)),
)


# around the tiles of every instruction set, b as it is and turned
LARGER_PRODUCTS = tuple(
    (batch, m, k, n, (*(m * k for _ in batch), k, 1), (*(k * n for _ in batch), *last))
    for batch, m, k, n in (((), 17, 33, 19), ((2,), 13, 40, 70), ((), 8, 4, 3), ((), 15, 200, 5),
                           ((), 21, 31, 129))
    for last in ((n, 1), (1, k))) + (((), 20, 23, 37, (1, 20), (37, 1)),)


def matmul_int8(seed=0):
    """Larger ones; the extremes that narrow sums would not hold; zero points at the ends."""
    rng = np.random.default_rng(seed)
    for number, (batch, m, k, n, a, b) in enumerate(LARGER_PRODUCTS):
        spec = MatMul("int8", batch, m, k, n, a, b, clamp=m == 13)
        inputs = [int8(rng, spec.a_size), int8(rng, spec.b_size)]
        zeros = {} if number % 3 else {"a_zero_point": -128, "b_zero_point": 127}
        if number % 4 == 3:
            inputs = [np.full_like(x, -128) for x in inputs]
        scale = 0.02 / k if number % 4 == 3 else 0.003
        yield spec, inputs, COMMON | zeros | {"scale": np.float32(scale)}


def matmul(seed=0):
    rng = np.random.default_rng(seed)
    for dtype, make in MAKERS.items():
        for batch, m, k, n, a, b in PRODUCTS:
            spec = MatMul(dtype, batch, m, k, n, a, b, clamp=m == 5)
            yield spec, [make(rng, spec.a_size), make(rng, spec.b_size)], COMMON | {
                "scale": np.float32(0.003)}


def every():
    for family in (broadcast, compare, choose, rowwise, reduce, arg_reduce, normalize, matmul):
        yield from family()
    yield from affine_ties()


WIDE = np.concatenate([np.linspace(-30, 30, 4001), np.linspace(-1.5, 1.5, 1001),
                       [0.0, 1e-3, -1e-3, 1e-7, 88, -88, -104, 200, -200]]).astype(np.float32)
POSITIVE = np.concatenate([np.exp2(np.linspace(-126, 127, 3001)), [np.inf, 1, 0, 0.99999, 1.00001]])
ANGLES = np.concatenate([np.linspace(-30000, 30000, 5001), np.linspace(-7, 7, 2001)])
RANGES = {"log": POSITIVE, "sin": ANGLES, "cos": ANGLES}


def functions():
    """Every function with polynomials of its own over its range."""
    for kind in ("log", "erf", "sin", "cos", "round", "floor", "ceil", "sign", "softplus",
                 "softsign", "mish", "gelu", "gelu_tanh", "silu", "elu", "celu", "selu",
                 "threshold"):
        x = np.asarray(RANGES.get(kind, WIDE), np.float32)
        yield Unary("float32", kind, x.size), [x], {"alpha": 0.7, "gamma": 1.05}
    for exponent in (3.0, -2.0, 2.5, -0.5, 1 / 3):
        x = WIDE[WIDE != 0]
        x = x if exponent % 1 == 0 else np.abs(x)
        yield Unary("float32", "pow", x.size), [x], {"exponent": exponent}


def log_softmax(seed=0):
    rng = np.random.default_rng(seed)
    for n in (1, 2, 7, 16, 33, 131):
        yield Softmax("float32", 3, n, log=True), [float32(rng, 3, n)], {}
