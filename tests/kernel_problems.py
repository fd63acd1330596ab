"""Problems for the kernels: (spec, inputs, constants), sizes around vectors, tiles and tails."""

import numpy as np

from edgecc.kernels.spec import (
    Binary,
    Conv2d,
    Dequantize,
    FullyConnected,
    Pool2d,
    Quantize,
    Recentre,
    Softmax,
    Table,
    Transpose,
    Unary,
)
from edgecc.kernels.unary import FUNCTIONS

SIZES = (1, 7, 15, 16, 17, 31, 33, 63, 64, 65, 131, 257)
SAME = (1, 1, 1, 1)


def int8(rng, *shape):
    return rng.integers(-128, 128, shape, dtype=np.int8)


def float32(rng, *shape):
    return rng.normal(0, 4, shape).astype(np.float32)


def unary(seed=0):
    rng = np.random.default_rng(seed)
    constants = {"lo": -1.0, "hi": 2.5, "alpha": 0.2, "beta": 0.5, "gamma": 1.1, "exponent": 2.0,
                 "numerator": 2.0}
    for number, kind in enumerate(FUNCTIONS):
        for size in SIZES[number % 6::6]:
            x = float32(rng, size)
            x = np.abs(x) if kind in ("sqrt", "log") else x
            yield Unary("float32", kind, size), [x], constants


def table(seed=0):
    rng = np.random.default_rng(seed)
    for size in SIZES:
        yield Table("int8", size), [int8(rng, size)], {"table": int8(rng, 256)}
    every = np.arange(-128, 128).astype(np.int8)
    yield Table("int8", 256), [every], {"table": int8(rng, 256)}


def recentre(seed=0):
    rng = np.random.default_rng(seed)
    for size in SIZES:
        yield Recentre("int8", size), [rng.integers(0, 256, size, dtype=np.uint8)], {}


def _binary_spec(dtype, kind, broadcast, size, clamp):
    if broadcast != "channel":
        return Binary(dtype, kind, size, broadcast, clamp=clamp), size, size if (
            broadcast == "same") else 1
    return Binary(dtype, kind, 3 * size, broadcast, size, clamp), 3 * size, size


def binary(seed=0):
    rng, turn = np.random.default_rng(seed), 0
    for kind in ("add", "sub", "mul", "div", "min", "max"):
        for broadcast in ("same", "scalar", "channel"):
            for size in SIZES[turn % 2::2]:
                turn += 1
                dtype = "int8" if turn % 3 else "float32"
                spec, n, width = _binary_spec(dtype, kind, broadcast, size, turn % 2 == 0)
                make = int8 if dtype == "int8" else float32
                constants, other = _binary_constants(rng, kind), make(rng, width)
                if kind == "div":  # 0 / 0 has no integer
                    other[other == constants["b_zero_point"]] += 1
                yield spec, [make(rng, n), other], constants
    yield from _ties()


def _binary_constants(rng, kind):
    ratio = rng.uniform(0.002, 0.01) if kind == "mul" else rng.uniform(0.3, 1.5)
    zero = {f"{n}_zero_point": int(rng.integers(-128, 128)) for n in ("a", "b", "output")}
    return zero | {"ratio": np.float32(ratio), "residual_ratio": np.float32(rng.uniform(0.3, 1.5)),
                   "lo": -20, "hi": 100}


def _ties():
    """Every pair of bytes at ratios that make ties, and at ratios that an FMA would round
    differently."""
    a, b = (v.ravel().astype(np.int8) for v in np.meshgrid(*[np.arange(-128, 128)] * 2))
    for ratio, other in ((0.5, 0.5), (0.3, 0.7), (1.1, 0.037)):
        constants = {"a_zero_point": 3, "b_zero_point": -5, "output_zero_point": 1,
                     "ratio": np.float32(ratio), "residual_ratio": np.float32(other)}
        for kind in ("add", "sub", "mul"):
            scale = np.float32(1 / 128) if kind == "mul" else np.float32(1)
            yield (Binary("int8", kind, a.size), [a, b],
                   constants | {"ratio": constants["ratio"] * scale})


def quantize(seed=0):
    rng = np.random.default_rng(seed)
    for size in SIZES:
        x = float32(rng, size) * 10
        constants = {"scale": np.float32(0.25), "zero_point": int(rng.integers(-128, 128))}
        yield Quantize("int8", size), [np.round(x * 8) / 8], constants  # with ties
        yield Dequantize("int8", size), [int8(rng, size)], constants
    far = np.array([1e30, -1e30, np.inf, -np.inf, 3e9, -3e9, 40000, -40000], np.float32)
    for zero_point in (-128, 0, 127):
        yield Quantize("int8", 8), [far], {"scale": np.float32(0.5), "zero_point": zero_point}


def softmax(seed=0):
    rng = np.random.default_rng(seed)
    for n in (1, 2, 3, 7, 8, 9, 10, 12, 15, 16, 17, 31, 33, 64, 65, 131, 1000):
        scale = np.float32(rng.uniform(0.02, 0.3))
        yield Softmax("int8", 3, n), [int8(rng, 3, n)], {
            "input_scale": scale, "output_scale": np.float32(1 / 256), "output_zero_point": -128}
        yield Softmax("float32", 3, n), [float32(rng, 3, n)], {}
    yield Softmax("float32", 1, 20), [np.linspace(-300, 300, 20, dtype=np.float32)], {}


TRANSPOSES = (
    ((5,), (0,)), ((3, 4), (1, 0)), ((17, 33), (1, 0)), ((1, 1), (1, 0)),
    ((1, 3, 20, 20), (0, 2, 3, 1)),
    ((1, 20, 20, 3), (0, 3, 1, 2)), ((2, 16, 5, 7), (0, 2, 3, 1)), ((2, 3, 4, 5), (3, 2, 1, 0)),
    ((2, 3, 4, 5), (1, 0, 2, 3)), ((4, 16, 16), (2, 0, 1)), ((4, 16, 32), (1, 2, 0)),
    ((2, 33, 4, 19), (0, 2, 1, 3)), ((3, 32, 40), (0, 2, 1)),
)


def transpose(seed=0):
    rng = np.random.default_rng(seed)
    for shape, permutation in TRANSPOSES:
        yield Transpose("int8", shape, permutation), [int8(rng, *shape)], {}
        yield Transpose("float32", shape, permutation), [float32(rng, *shape)], {}


POOLS = (
    dict(h=8, w=8, kh=8, kw=8),
    dict(h=7, w=9, kh=3, kw=3, strides=(2, 2), pads=SAME),
    dict(h=7, w=9, kh=3, kw=3, strides=(2, 2), pads=SAME, count_include_pad=True),
    dict(h=6, w=6, kh=2, kw=2, strides=(2, 2)),
    dict(h=7, w=6, kh=3, kw=2, strides=(2, 3), ceil_mode=True),
    dict(h=7, w=8, kh=3, kw=2, strides=(2, 3), pads=(0, 1, 2, 0), ceil_mode=True,
         count_include_pad=True),
    dict(h=9, w=9, kh=2, kw=3, dilations=(2, 3), pads=(1, 2, 0, 1)),
    dict(h=20, w=20, kh=20, kw=20),  # more positions than an int16 sum holds
    dict(h=24, w=23, kh=17, kw=19, pads=(2, 3, 1, 0)),
    dict(h=5, w=5, kh=5, kw=5, pads=(2, 2, 2, 2)),
    dict(h=9, w=5, kh=3, kw=5, strides=(2, 1)),
)


def pool2d(seed=0):
    rng, turn = np.random.default_rng(seed), 0
    for number, geometry in enumerate(POOLS):
        for c in (1, 17, 64, 129) if number < 2 else (3, 65):
            for dtype, kind in (("int8", "max"), ("int8", "average"), ("float32", "max"),
                                ("float32", "average")):
                turn += 1
                spec = Pool2d(dtype, kind, n=1 + turn % 2, c=c, **geometry)
                yield spec, [_image(rng, spec, turn)], {
                    "input_scale": np.float32(0.1), "output_scale": np.float32(0.04 + turn / 500),
                    "input_zero_point": int(rng.integers(-128, 128)),
                    "output_zero_point": int(rng.integers(-128, 128)), "lo": -100, "hi": 120}


def _image(rng, spec, turn):
    x = (int8 if spec.dtype == "int8" else float32)(rng, spec.n, spec.h, spec.w, spec.c)
    if turn % 3 == 0:
        x[:] = -128  # the largest sums
    return x


def _conv(**more):
    defaults = {"dtype": "float32", "n": 1, "h": 5, "w": 7, "c": 5, "k": 8, "kh": 3, "kw": 3}
    return Conv2d(**(defaults | more))


def conv_specs():
    """Channels around every tile, lines around every tile, and every attribute."""
    for k in (1, 3, 7, 8, 15, 16, 17, 31, 33, 40):
        yield _conv(k=k, pads=SAME, clamp=k % 2 == 0, residual=k % 3 == 0)
    for w in (1, 2, 5, 7, 12, 13, 25):
        yield _conv(h=4, w=w, c=8, k=24, kh=1, kw=1, clamp=True)
    odd = {"n": 2, "h": 11, "w": 9, "c": 8, "k": 16, "kw": 2, "residual": True, "clamp": True}
    for strides, dilations, pads, groups in (
        ((2, 2), (1, 1), (0, 0, 1, 1), 1), ((2, 1), (2, 2), (2, 1, 2, 3), 1),
        ((1, 1), (1, 1), SAME, 2), ((2, 2), (1, 2), (1, 0, 1, 0), 4),
        ((3, 2), (1, 1), (0, 0, 0, 0), 1),
        ((1, 1), (1, 1), (0, 0, 0, 0), 8),
    ):
        yield _conv(strides=strides, dilations=dilations, pads=pads, groups=groups, **odd)
    yield _conv(h=9, w=9, c=3, k=16, kh=7, kw=7, strides=(2, 2), pads=(3, 3, 3, 3))
    yield _conv(h=9, w=9, c=4, k=16, kh=1, kw=1, strides=(2, 2))


def square(size, c, k, kernel):
    """A convolution that keeps the size of its image."""
    pad = kernel // 2
    return _conv(h=size, w=size, c=c, k=k, kh=kernel, kw=kernel, pads=(pad, pad, pad, pad))


def heavy_conv_specs():
    """Weights that no cache keeps: rows take turns over them, and the last rows are fewer."""
    yield _conv(n=2, h=14, w=14, c=64, k=130, pads=SAME)
    yield _conv(h=11, w=5, c=128, k=64, kh=2, kw=5, strides=(2, 1), pads=(1, 2, 0, 2),
                residual=True)
    yield _conv(h=9, w=20, c=32, k=520, kh=4, kw=1, dilations=(2, 1))


def long_pointwise_specs():
    """Pixels in several lines, even and not, and a multiple of 4 KiB apart."""
    for h, w, c, k in ((7, 7, 8, 70), (14, 14, 12, 40), (20, 21, 8, 33), (7, 8, 1024, 33)):
        yield _conv(h=h, w=w, c=c, k=k, kh=1, kw=1, residual=k % 2 == 0)


def depthwise_specs():
    for c in (1, 3, 8, 15, 17, 33, 64):
        yield _conv(h=7, w=6, c=c, k=c, groups=c, pads=SAME, clamp=True)
    c = {"n": 2, "h": 13, "w": 12, "c": 20, "k": 20, "groups": 20}
    yield _conv(**c, kh=5, kw=5, strides=(2, 2), pads=(2, 1, 2, 2), residual=True)
    yield _conv(**c, kh=7, kw=6, dilations=(1, 2), pads=(3, 5, 3, 5))
    yield _conv(**c, dilations=(2, 2), pads=(2, 2, 2, 2))
    yield _conv(h=25, w=5, c=16, k=16, groups=16, kh=25, kw=5)


def convolution(specs, seed=0):
    rng = np.random.default_rng(seed)
    for spec in specs:
        inputs = [float32(rng, spec.n, spec.h, spec.w, spec.c)]
        if spec.residual:
            inputs.append(float32(rng, spec.n, spec.oh, spec.ow, spec.k))
        weights = float32(rng, spec.k, spec.kh, spec.kw, spec.c // spec.groups)
        yield spec, inputs, {"weights": weights, "bias": float32(rng, spec.k),
                             "lo": -20.0, "hi": 60.0}


def fully_connected(seed=0):
    rng = np.random.default_rng(seed)
    for m, k, n in ((1, 64, 10), (1, 640, 128), (3, 17, 33), (50, 8, 40), (97, 5, 3), (1, 1, 1)):
        spec = FullyConnected("float32", m, k, n, clamp=n == 40, residual=n == 33)
        inputs = [float32(rng, m, k)] + [float32(rng, m, n)] * spec.residual
        yield spec, inputs, {"weights": float32(rng, n, k), "bias": float32(rng, n),
                             "lo": -20.0, "hi": 60.0}


def _int8_conv(n, h, w, c, k, kh=1, kw=1, **more):
    return Conv2d("int8", n, h, w, c, k, kh, kw, **more)


INT8_CONVS = (
    _int8_conv(1, 3, 3, 12, 80),  # few rows: the parallel loop runs over columns
    _int8_conv(2, 9, 7, 16, 17, clamp=True, residual=True),
    _int8_conv(1, 11, 6, 16, 24, 3, 2),  # read where it lies
    _int8_conv(2, 7, 6, 16, 17, 3, 3, pads=SAME, residual=True),
    _int8_conv(1, 13, 9, 3, 8, 5, 3, strides=(2, 2), dilations=(2, 1), pads=(4, 1, 4, 1)),
    _int8_conv(1, 6, 7, 8, 12, 3, 3, pads=SAME, groups=4),
    _int8_conv(2, 7, 9, 24, 24, 3, 3, pads=SAME, groups=24, residual=True),
    _int8_conv(1, 9, 9, 5, 5, 3, 3, strides=(2, 2), pads=SAME, groups=5, clamp=True),
    _int8_conv(2, 7, 9, 40, 40, 3, 3, pads=SAME, groups=40),
)
INT8_PRODUCTS = (FullyConnected("int8", 1, 40, 150), FullyConnected("int8", 3, 24, 70, True, True),
                 FullyConnected("int8", 29, 13, 9, True), FullyConnected("int8", 43, 642, 19))


def int8_product(seed=0):
    """int8 convolutions and matrix products, for what does not depend on their values."""
    rng = np.random.default_rng(seed)
    for spec in (*INT8_CONVS, *INT8_PRODUCTS):
        if isinstance(spec, Conv2d):
            x, y = (spec.n, spec.h, spec.w, spec.c), (spec.n, spec.oh, spec.ow, spec.k)
            w = (spec.k, spec.kh, spec.kw, spec.c // spec.groups)
        else:
            x, y, w = (spec.m, spec.k), (spec.m, spec.n), (spec.n, spec.k)
        yield (spec, [int8(rng, *x)] + [int8(rng, *y)] * spec.residual,
               _int8_constants(rng, np.maximum(int8(rng, *w), -127)))


def _int8_constants(rng, weights):
    fan = weights[0].size
    return {"weights": weights, "bias": rng.integers(-3000, 3000, len(weights), dtype=np.int32),
            "scale": (rng.uniform(0.5, 1.5, len(weights)) / (60 * fan ** 0.5)).astype(np.float32),
            "input_zero_point": 3, "output_zero_point": -7, "lo": -90, "hi": 100,
            "inner_zero_point": 5, "inner_lo": -128, "inner_hi": 120, "ratio": np.float32(0.7),
            "residual_ratio": np.float32(0.4), "residual_zero_point": -2}
