"""Transcendental functions of float32 vectors: polynomials, the same operations everywhere.

Within a few ulp of the exact value; nothing is called. Source of the coefficients: Cephes math
library (S. Moshier), expf and tanhf.
"""

from __future__ import annotations

from typing import Any

from edgecc.kernels.elementwise import MAGIC

LOG2E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693359375, -2.12194440e-4
EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
       5.0000001201e-1)
TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
        -3.33332819422e-1)


def constant(value: float, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.splat(tir.T.float32(value), lanes)


def polynomial(x: Any, coefficients: tuple[float, ...], lanes: int) -> Any:
    """Horner's rule, highest power first."""
    value = constant(coefficients[0], lanes)
    for c in coefficients[1:]:
        value = value * x + constant(c, lanes)
    return value


def _reduced(x: Any, lanes: int) -> tuple[Any, Any]:
    """exp of the remainder, and MAGIC + n as bits, where x = n ln 2 + remainder."""
    from edgecc.kernels import tir

    magic = constant(MAGIC, lanes)
    total = x * constant(LOG2E, lanes) + magic  # fenced: TVM takes a sum's last term back out
    biased = tir.let(tir.fenced(total, tir.vector("float32", lanes)))
    n = tir.let(biased - magic)
    r = tir.let(x - n * constant(LN2_HIGH, lanes) - n * constant(LN2_LOW, lanes))
    p = polynomial(r, EXP, lanes) * (r * r) + r + constant(1.0, lanes)
    return p, tir.let(tir.T.reinterpret(tir.vector("int32", lanes), biased))


def _power_of_two(n: Any, lanes: int) -> Any:
    """2^n; bits of `n` above the exponent field do not matter."""
    from edgecc.kernels import tir

    one = tir.splat(tir.T.int32(127), lanes)
    bits = tir.T.shift_left(n + one, tir.splat(tir.T.int32(23), lanes))
    return tir.T.reinterpret(tir.vector("float32", lanes), bits)


def exp_negative(x: Any, lanes: int) -> Any:
    """exp(x) for x <= 0; below -87 as at -87."""
    from edgecc.kernels import tir

    bounded = tir.let(tir.T.max(x, constant(-87.0, lanes)))
    p, bits = _reduced(bounded, lanes)
    return tir.let(p * _power_of_two(bits, lanes))


def exp(x: Any, lanes: int) -> Any:
    """exp(x) of the whole range, denormal and infinite results included."""
    from edgecc.kernels import tir

    low = tir.T.max(x, constant(-104.0, lanes))
    p, bits = _reduced(tir.let(tir.T.min(low, constant(89.0, lanes))), lanes)
    shift = tir.splat(tir.T.int32(10), lanes)  # n alone: the magic bits shifted out and back
    n = tir.let(tir.T.shift_right(tir.T.shift_left(bits, shift), shift))
    half = tir.let(tir.T.shift_right(n, tir.splat(tir.T.int32(1), lanes)))
    return p * _power_of_two(half, lanes) * _power_of_two(n - half, lanes)


def sigmoid(x: Any, lanes: int) -> Any:
    """1 / (1 + exp(-x)) without overflow."""
    from edgecc.kernels import tir

    e = exp_negative(_minus(magnitude(x, lanes), lanes), lanes)
    one = constant(1.0, lanes)
    return tir.T.Select(x >= constant(0.0, lanes), one, e) / (one + e)


def tanh(x: Any, lanes: int) -> Any:
    """Odd polynomial below 0.625, (1 - e) / (1 + e) with e = exp(-2|x|) above."""
    from edgecc.kernels import tir

    size = tir.let(magnitude(x, lanes))
    z = tir.let(x * x)
    small = polynomial(z, TANH, lanes) * z * x + x
    e = exp_negative(size * constant(-2.0, lanes), lanes)
    one = constant(1.0, lanes)
    large = tir.let((one - e) / (one + e))
    signed = tir.T.Select(x < constant(0.0, lanes), _minus(large, lanes), large)
    return tir.T.Select(size < constant(0.625, lanes), small, signed)


def magnitude(x: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.llvm(tir.vector("float32", lanes), "llvm.fabs", x)


def square_root(x: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.llvm(tir.vector("float32", lanes), "llvm.sqrt", x)


def _minus(x: Any, lanes: int) -> Any:
    return x * constant(-1.0, lanes)
