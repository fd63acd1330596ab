"""More functions of float32 vectors, from polynomials alone: logarithm, error function, sine and
cosine, roundings, and the activations made of them.

Absolute or relative errors stay within 1e-6 of the function for sine and cosine of |x| <= 30,000
and all else everywhere. Sources: Cephes math library (S. Moshier), logf, sinf, cosf, erff;
Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
"""

from __future__ import annotations

import math
from typing import Any

from edgecc.kernels import float_math as fm
from edgecc.kernels.elementwise import MAGIC
from edgecc.kernels.float_math import constant, polynomial

LOG = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
       -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
HALF_ROOT_BITS = 0x3F3504F3  # sqrt(1/2)
ERF_NEAR = (7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3,
            -2.685381193529856e-2, 1.128358514861418e-1, -3.761262582423300e-1,
            1.128379165726710e+0)
ERF_FAR = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
ERF_P = 0.3275911
SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
HALF_PI = (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8)
WHOLE = float(1 << 23)  # from here on every float32 is an integer


def _ints(value: int, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.splat(tir.T.int32(value), lanes)


def _bits(x: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.T.reinterpret(tir.vector("int32", lanes), x)


def _floats(x: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.T.reinterpret(tir.vector("float32", lanes), x)


def _select(condition: Any, a: Any, b: Any) -> Any:
    from edgecc.kernels import tir

    return tir.T.Select(condition, a, b)


def log(x: Any, lanes: int) -> Any:
    """Natural logarithm: minus infinity at 0, not a number below."""
    from edgecc.kernels import tir

    T = tir.T
    tiny = x < constant(2.0**-126, lanes)  # denormals are scaled up first
    scaled = tir.let(_select(tiny, x * constant(2.0**24, lanes), x))
    lift = _select(tiny, constant(24.0, lanes), constant(0.0, lanes))
    moved = tir.let(_bits(scaled, lanes) - _ints(HALF_ROOT_BITS, lanes))
    exponent = tir.let(T.shift_right(moved, _ints(23, lanes)))
    fraction = _bits(scaled, lanes) - T.shift_left(exponent, _ints(23, lanes))
    m = tir.let(_floats(fraction, lanes) - constant(1.0, lanes))
    e = tir.let(T.cast(exponent, tir.vector("float32", lanes)) - lift)
    z = tir.let(m * m)
    y = polynomial(m, LOG, lanes) * m * z + e * constant(fm.LN2_LOW, lanes)
    y = tir.let(m + (y - z * constant(0.5, lanes)) + e * constant(fm.LN2_HIGH, lanes))
    return _log_edges(x, y, lanes)


def _log_edges(x: Any, y: Any, lanes: int) -> Any:
    infinity, zero = _floats(_ints(0x7F800000, lanes), lanes), constant(0.0, lanes)
    y = _select(x < infinity, y, x)  # infinity and not a number stay
    below = _select(x < zero, _floats(_ints(0x7FC00000, lanes), lanes), y)
    return _select(x == zero, _floats(_ints(-0x00800000, lanes), lanes), below)


def erf(x: Any, lanes: int) -> Any:
    """Odd polynomial below 1, 1 - t(...) exp(-x^2) above."""
    from edgecc.kernels import tir

    size = tir.let(fm.magnitude(x, lanes))
    z = tir.let(x * x)
    near = polynomial(z, ERF_NEAR, lanes) * x
    one = constant(1.0, lanes)
    t = tir.let(one / (one + size * constant(ERF_P, lanes)))
    tail = polynomial(t, ERF_FAR, lanes) * t * fm.exp_negative(z * constant(-1.0, lanes), lanes)
    far = tir.let(one - tail)
    signed = _select(x < constant(0.0, lanes), far * constant(-1.0, lanes), far)
    return _select(size < one, near, signed)


def _trigonometric(x: Any, lanes: int, quarter: int) -> Any:
    """sin(x + quarter * pi / 2)."""
    from edgecc.kernels import tir

    T, magic = tir.T, constant(MAGIC, lanes)
    total = x * constant(2.0 / math.pi, lanes) + magic
    biased = tir.let(tir.fenced(total, tir.vector("float32", lanes)))
    n = tir.let(biased - magic)
    r = x
    for part in HALF_PI:
        r = r - n * constant(part, lanes)
    r = tir.let(r)
    z = tir.let(r * r)
    sine = polynomial(z, SIN, lanes) * z * r + r
    cosine = polynomial(z, COS, lanes) * (z * z) - z * constant(0.5, lanes) + constant(1.0, lanes)
    q = tir.let(_bits(biased, lanes) + _ints(quarter, lanes))
    odd = T.bitwise_and(q, _ints(1, lanes)) == _ints(0, lanes)
    value = tir.let(_select(odd, sine, cosine))
    positive = T.bitwise_and(q, _ints(2, lanes)) == _ints(0, lanes)
    return _select(positive, value, value * constant(-1.0, lanes))


def sin(x: Any, lanes: int) -> Any:
    return _trigonometric(x, lanes, 0)


def cos(x: Any, lanes: int) -> Any:
    return _trigonometric(x, lanes, 1)


def nearest(x: Any, lanes: int) -> Any:
    """The nearest integer, half to even."""
    from edgecc.kernels import tir

    shift = tir.let(_select(x < constant(0.0, lanes), constant(-WHOLE, lanes),
                            constant(WHOLE, lanes)))
    moved = tir.fenced(x + shift, tir.vector("float32", lanes))
    return _select(fm.magnitude(x, lanes) < constant(WHOLE, lanes), moved - shift, x)


def floor(x: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    near = tir.let(nearest(x, lanes))
    return _select(near > x, near - constant(1.0, lanes), near)


def ceil(x: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    near = tir.let(nearest(x, lanes))
    return _select(near < x, near + constant(1.0, lanes), near)


def sign(x: Any, lanes: int) -> Any:
    zero, one = constant(0.0, lanes), constant(1.0, lanes)
    return _select(x > zero, one, _select(x < zero, constant(-1.0, lanes), zero))


def softplus(x: Any, lanes: int) -> Any:
    """max(x, 0) + log(1 + exp(-|x|))."""
    from edgecc.kernels import tir

    e = fm.exp_negative(fm.magnitude(x, lanes) * constant(-1.0, lanes), lanes)
    more = log(tir.let(constant(1.0, lanes) + e), lanes)
    return tir.T.max(x, constant(0.0, lanes)) + more


def mish(x: Any, lanes: int) -> Any:
    """x * tanh(softplus(x)), which is x * s / (s + 2) for s = e^x (e^x + 2)."""
    from edgecc.kernels import tir

    e = tir.let(fm.exp(tir.T.min(x, constant(20.0, lanes)), lanes))
    s = tir.let(e * (e + constant(2.0, lanes)))
    return x * (s / (s + constant(2.0, lanes)))


def gelu(x: Any, lanes: int) -> Any:
    half = x * constant(0.5, lanes)
    return half + half * erf(_named(x * constant(math.sqrt(0.5), lanes)), lanes)


def gelu_tanh(x: Any, lanes: int) -> Any:
    half, root = x * constant(0.5, lanes), math.sqrt(2.0 / math.pi)
    inner = x * (constant(root, lanes) + x * x * constant(root * 0.044715, lanes))
    return half + half * fm.tanh(_named(inner), lanes)


def _named(value: Any) -> Any:
    from edgecc.kernels import tir

    return tir.let(value)


def silu(x: Any, lanes: int) -> Any:
    return x * fm.sigmoid(x, lanes)


def softsign(x: Any, lanes: int) -> Any:
    return x / (constant(1.0, lanes) + fm.magnitude(x, lanes))


def below_zero(x: Any, lanes: int, alpha: Any, stretch: Any) -> Any:
    """x, or alpha * (exp(x * stretch) - 1) for negative x."""
    from edgecc.kernels import tir

    zero = constant(0.0, lanes)
    e = fm.exp_negative(tir.let(tir.T.min(x, zero) * stretch), lanes)
    return _select(x >= zero, x, tir.splat(alpha, lanes) * (e - constant(1.0, lanes)))


def power(x: Any, lanes: int, exponent: Any, negative: Any) -> Any:
    """exp(exponent * log |x|), times `negative` (1, -1 or not a number) for negative x."""
    from edgecc.kernels import tir

    size = log(tir.let(fm.magnitude(x, lanes)), lanes)
    value = tir.let(fm.exp(tir.let(size * tir.splat(exponent, lanes)), lanes))
    return _select(x < constant(0.0, lanes), value * tir.splat(negative, lanes), value)
