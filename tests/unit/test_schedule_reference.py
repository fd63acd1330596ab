"""The references against plain loops that follow the docstrings of kernels/spec.py word by word."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgecc.kernels import reference as ref
from edgecc.kernels.spec import (
    Binary,
    Conv2d,
    Dequantize,
    FullyConnected,
    Pool2d,
    Quantize,
    Softmax,
    Table,
    Transpose,
    Unary,
)


def round_even(x):
    low = math.floor(x)
    if x - low == 0.5:
        return low if low % 2 == 0 else low + 1
    return math.floor(x + 0.5) if abs(x) < 2**40 else int(x)


def clamp(x, lo, hi):
    return max(lo, min(hi, x))


def naive_conv(s, x, r, c):
    y = np.zeros((s.n, s.oh, s.ow, s.k), np.int8)
    per_group, outputs = s.c // s.groups, s.k // s.groups
    for n, i, j, k in np.ndindex(y.shape):
        acc = int(c["bias"][k])
        for a, b, q in np.ndindex(s.kh, s.kw, per_group):
            h = i * s.strides[0] - s.pads[0] + a * s.dilations[0]
            w = j * s.strides[1] - s.pads[1] + b * s.dilations[1]
            if 0 <= h < s.h and 0 <= w < s.w:
                channel = k // outputs * per_group + q
                acc += (int(x[n, h, w, channel]) - c["input_zero_point"]) * int(
                    c["weights"][k, a, b, q])
        real = np.float32(acc) * c["scale"][k]
        lo, hi = (c["lo"], c["hi"]) if s.clamp else (-128, 127)
        if not s.residual:
            y[n, i, j, k] = clamp(round_even(float(real)) + c["output_zero_point"], lo, hi)
            continue
        inner = clamp(round_even(float(real)) + c["inner_zero_point"], c["inner_lo"],
                      c["inner_hi"])
        left = np.float32(inner - c["inner_zero_point"]) * c["ratio"]
        right = np.float32(int(r[n, i, j, k]) - c["residual_zero_point"]) * c["residual_ratio"]
        y[n, i, j, k] = clamp(round_even(float(np.float32(left + right)))
                              + c["output_zero_point"], lo, hi)
    return y


specs = st.builds(
    lambda n, h, w, group, per, out, kh, kw, s, d, pads, clamped, residual: Conv2d(
        "int8", n, h + (kh - 1) * d[0], w + (kw - 1) * d[1], group * per, group * out, kh, kw, s,
        d, pads, group, clamped, residual),
    st.integers(1, 2), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 2),
    st.integers(1, 2), st.integers(1, 3), st.integers(1, 3),
    st.tuples(st.integers(1, 2), st.integers(1, 3)), st.tuples(st.integers(1, 2), st.just(1)),
    st.tuples(*[st.integers(0, 2)] * 4), st.booleans(), st.booleans())


def conv_constants(random, s):
    return {"weights": random.integers(-128, 128, (s.k, s.kh, s.kw, s.c // s.groups), np.int8),
            "bias": random.integers(-3000, 3000, s.k, np.int32),
            "scale": random.uniform(1e-4, 2e-2, s.k).astype(np.float32),
            "input_zero_point": int(random.integers(-128, 128)),
            "output_zero_point": int(random.integers(-128, 128)), "lo": -40, "hi": 90,
            "inner_zero_point": 5, "inner_lo": -100, "inner_hi": 127, "ratio": np.float32(0.7),
            "residual_ratio": np.float32(1.3), "residual_zero_point": -9}


@settings(max_examples=60)
@given(specs, st.integers(0, 2**32 - 1))
def test_int8_convolution_equals_the_loops(s, seed):
    random = np.random.default_rng(seed)
    constants = conv_constants(random, s)
    x = random.integers(-128, 128, (s.n, s.h, s.w, s.c), np.int8)
    r = random.integers(-128, 128, (s.n, s.oh, s.ow, s.k), np.int8)
    (y,) = ref.reference(s, [x, r] if s.residual else [x], constants)
    assert y.dtype == np.int8
    assert (y == naive_conv(s, x, r, constants)).all()


def test_fully_connected_is_a_1x1_convolution():
    random = np.random.default_rng(0)
    conv = Conv2d("int8", 1, 3, 1, 10, 7, 1, 1, clamp=True, residual=True)
    constants = conv_constants(random, conv)
    x, r = random.integers(-128, 128, (3, 10), np.int8), random.integers(-128, 128, (3, 7), np.int8)
    dense = FullyConnected("int8", 3, 10, 7, True, True)
    (y,) = ref.reference(dense, [x, r], {**constants, "weights": constants["weights"][:, 0, 0]})
    assert (y == ref.reference(conv, [x, r], constants)[0].reshape(3, 7)).all()


def test_the_accumulator_wraps_at_32_bits():
    s = FullyConnected("int8", 1, 1, 1)
    constants = {"weights": np.array([[127]], np.int8), "bias": np.array([2**31 - 1], np.int32),
                 "scale": np.ones(1, np.float32), "input_zero_point": 0, "output_zero_point": 0}
    assert ref.reference(s, [np.array([[127]], np.int8)], constants)[0] == -128


def test_float_convolution_adds_the_residual_before_the_clamp():
    s = Conv2d("float32", 1, 1, 1, 1, 1, 1, 1, clamp=True, residual=True)
    constants = {"weights": np.full((1, 1, 1, 1), 2.0), "bias": np.ones(1), "lo": 0.0, "hi": 6.0}
    (y,) = ref.reference(s, [np.full((1, 1, 1, 1), 4.0), np.full((1, 1, 1, 1), -5.0)], constants)
    assert y.dtype == np.float32 and y.item() == 4.0


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("kind", ["average", "max"])
def test_pooling_equals_the_loops(kind, ceil, include):
    s = Pool2d("int8", kind, 2, 6, 7, 3, 3, 2, (2, 2), (1, 2), (1, 0, 1, 1), include, ceil)
    random = np.random.default_rng(1)
    x = random.integers(-128, 128, (2, 6, 7, 3), np.int8)
    constants = {"input_scale": np.float32(0.3), "output_scale": np.float32(0.2),
                 "input_zero_point": 4, "output_zero_point": -3, "lo": -100, "hi": 100}
    (y,) = ref.reference(s, [x], constants)
    for n, i, j, c in np.ndindex(2, s.oh, s.ow, 3):
        inside, counted = [], 0
        for a, b in np.ndindex(3, 2):
            h, w = i * 2 - 1 + a, j * 2 + b * 2
            counted += h < 6 + 1 and w < 7 + 1 if include else 0 <= h < 6 and 0 <= w < 7
            if 0 <= h < 6 and 0 <= w < 7:
                inside.append(int(x[n, h, w, c]))
        expected = max(inside)
        if kind == "average":
            ratio = np.float32(0.3) / np.float32(np.float32(0.2) * np.float32(counted))
            real = np.float32(sum(v - 4 for v in inside)) * ratio
            expected = clamp(round_even(float(real)) - 3, -100, 100)
        assert y[n, i, j, c] == expected


def test_softmax_table_never_overflows_its_sum():
    for n in (1, 2, 3, 127, 128, 1001, 70000):
        assert int(ref.softmax_table(0.1, n)[0]) * n < 2**31
    assert ref.softmax_table(0.1, 12)[0] == 2**23


def test_softmax_is_within_one_of_the_exact_one():
    x = np.random.default_rng(2).integers(-128, 128, (50, 20), np.int8)
    constants = {"input_scale": 0.07, "output_scale": 1 / 256, "output_zero_point": -128}
    (y,) = ref.reference(Softmax("int8", 50, 20), [x], constants)
    e = np.exp(x * np.float64(np.float32(0.07)))
    exact = np.rint(e / e.sum(1, keepdims=True) * 256) - 128
    assert np.abs(y - np.minimum(exact, 127)).max() <= 1
    tabled = {**constants, "table": ref.softmax_table(0.07, 20),
              "inverse_output_scale": np.float32(256)}
    assert (ref.reference(Softmax("int8", 50, 20), [x], tabled)[0] == y).all()


@pytest.mark.parametrize("kind", ["add", "sub", "mul"])
@pytest.mark.parametrize("broadcast", ["same", "channel", "scalar"])
def test_int8_arithmetic_follows_its_law(kind, broadcast):
    s = Binary("int8", kind, 24, broadcast, 6, True)
    random = np.random.default_rng(3)
    a = random.integers(-128, 128, 24, np.int8)
    b = random.integers(-128, 128, {"same": 24, "channel": 6, "scalar": 1}[broadcast], np.int8)
    c = {"ratio": np.float32(0.31), "residual_ratio": np.float32(0.77), "a_zero_point": 3,
         "b_zero_point": -9, "output_zero_point": 11, "lo": -60, "hi": 70}
    if kind == "mul":
        c["ratio"] = np.float32(0.011)
    (y,) = ref.reference(s, [a, b], c)
    for i in range(24):
        da, db = int(a[i]) - 3, int(b[i % len(b)]) + 9
        if kind == "mul":
            real = np.float32(da * db) * c["ratio"]
        else:
            left, right = np.float32(da) * c["ratio"], np.float32(db) * c["residual_ratio"]
            real = left + right if kind == "add" else left - right
        assert y[i] == clamp(round_even(float(real)) + 11, -60, 70)


@pytest.mark.parametrize("kind, expected", [
    ("add", [3, 1]), ("sub", [-1, -1.5]), ("mul", [2, -0.3125]), ("div", [0.5, -0.2])])
def test_float_arithmetic(kind, expected):
    s = Binary("float32", kind, 2, clamp=False)
    (y,) = ref.reference(s, [np.float32([1, -0.25]), np.float32([2, 1.25])], {})
    assert y == pytest.approx(expected)


FUNCTIONS = {
    "relu": [0, 0.5, 9], "clip": [-1, 0.5, 6], "sigmoid": [0.11920292, 0.62245933, 0.99987661],
    "tanh": [-0.96402758, 0.46211716, 0.99999997], "exp": [0.13533528, 1.64872127, 8103.0839],
    "hard_sigmoid": [0.1, 0.6, 1], "hard_swish": [-1 / 3, 0.29166667, 9],
    "leaky_relu": [-0.4, 0.5, 9], "neg": [2, -0.5, -9], "abs": [2, 0.5, 9]}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_float_functions(kind):
    c = {"alpha": 0.2, "beta": 0.5, "lo": -1, "hi": 6}
    (y,) = ref.reference(Unary("float32", kind, 3), [np.float32([-2, 0.5, 9])], c)
    assert y == pytest.approx(FUNCTIONS[kind], rel=1e-6)


def test_square_root():
    (y,) = ref.reference(Unary("float32", "sqrt", 2), [np.float32([0, 9])], {})
    assert y.tolist() == [0, 3]


def test_table_quantize_dequantize_transpose():
    table = np.random.default_rng(0).permutation(np.arange(-128, 128)).astype(np.int8)
    x = np.arange(-128, 128, dtype=np.int8)
    assert (ref.reference(Table("int8", 256), [x], {"table": table})[0] == table).all()
    c = {"scale": np.float32(0.5), "zero_point": -3}
    (q,) = ref.reference(Quantize("float32", 6), [np.float32([0.25, 0.75, -1, 1e30, -1e30, 1])], c)
    assert q.tolist() == [-3, -1, -5, 127, -128, -1]
    assert ref.reference(Dequantize("int8", 3), [np.int8([-3, 1, -128])], c)[0].tolist() == [
        0, 2, -62.5]
    (t,) = ref.reference(Transpose("int8", (2, 3), (1, 0)), [np.arange(6, dtype=np.int8)], {})
    assert t.tolist() == [[0, 3], [1, 4], [2, 5]]
