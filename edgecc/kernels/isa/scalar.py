"""One number at a time: for cores without vectors, and for the portable C form.

`SoftScalar` is for cores without an FPU: it reproduces the float32 product of the requantization
in 32-bit integers, rounding exactly where IEEE 754 does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa


class Scalar(Isa):
    """A column per accumulator, an FPU for the end."""

    name: ClassVar[str] = "scalar"
    wants: ClassVar[frozenset[str]] = frozenset({"fpu"})
    lanes: ClassVar[int] = 1
    turns: ClassVar[int] = 2
    registers: ClassVar[int] = 24


class SoftScalar(Scalar):
    """No FPU: the end is done in integers."""

    name: ClassVar[str] = "scalar_soft"
    requires: ClassVar[frozenset[str]] = frozenset({"soft-float"})
    wants: ClassVar[frozenset[str]] = frozenset()
    turns: ClassVar[int] = 1
    registers: ClassVar[int] = 10

    def scaled(self, acc: Any, scale: Any) -> Any:
        """rint(float32(float32(acc) * scale)) as int32, at most 2^24 in magnitude."""
        from edgecc.kernels import tir

        return rounded_product(tir.T.cast(acc, "int32"), tir.T.reinterpret("uint32", scale))

    def inner(self, value: Any, params: Any) -> Any:
        from edgecc.kernels import tir

        low, high = params.inner_low, params.inner_high
        return tir.T.cast(tir.T.max(tir.T.min(value, high), low), "float32")

    def narrow_scaled(
        self, values: Sequence[Any], params: Any, clamp: bool
    ) -> list[tuple[Any, int]]:
        from edgecc.kernels import tir

        out = []
        for value in values:
            shifted = value + params.zero_point
            bounded = tir.T.max(tir.T.min(shifted, params.high), params.low)
            out.append((tir.T.cast(bounded, "int8"), 1))
        return out


def rounded_product(acc: Any, scale_bits: Any) -> Any:
    """rint(float32(acc) * scale) for an int32 and the bits of a positive normal float32.

    Three roundings, each half to even: acc to 24 bits, the product to 24 bits, and to an integer.
    Products of 12-bit halves keep everything in 32 bits.
    """
    from edgecc.kernels import tir

    T, let, u = tir.T, _kept, _unsigned
    acc = _kept(acc, "int32")
    size = let(T.cast(T.Select(acc < 0, -acc, acc), "uint32"))
    zeros = let(T.cast(T.clz(T.reinterpret("int32", T.bitwise_or(size, u(1)))), "uint32"))
    right = let(u(8) - T.min(zeros, u(8)))
    half = let(T.shift_right(T.shift_left(u(1), right), u(1)))
    odd = T.bitwise_and(T.shift_right(size, right), u(1))
    carry = T.Select(right == u(0), u(0), half - u(1) + odd)
    whole = let(T.shift_left(T.shift_right(size + carry, right), T.max(zeros, u(8)) - u(8)))
    fraction = let(T.bitwise_or(T.bitwise_and(scale_bits, u(0x7FFFFF)), u(0x800000)))
    high, low = _product(whole, fraction)
    top = let(T.shift_right(high, u(23)))  # 1: the product has 48 bits, else 47
    kept = let(T.Select(top == u(0), T.bitwise_or(T.shift_left(high, u(1)),
                                                  T.shift_right(low, u(23))), high))
    rest = let(T.Select(top == u(0), T.bitwise_and(T.shift_left(low, u(1)), u(0xFFFFFF)), low))
    up = T.Or(rest > u(0x800000),
              T.And(rest == u(0x800000), T.bitwise_and(kept, u(1)) == u(1)))
    product = let(kept + T.Select(up, u(1), u(0)))
    exponent = T.cast(T.shift_right(T.bitwise_and(scale_bits, u(0x7F800000)), u(23)), "int32")
    power = exponent - 150 + 8 - T.cast(zeros, "int32") + 23 + T.cast(T.Select(
        top == u(0), u(0), u(1)), "int32")
    magnitude = _integer(product, _kept(power, "int32"))
    signed = T.Select(acc < 0, -magnitude, magnitude)
    return _kept(T.Select(size == u(0), T.int32(0), signed), "int32")


def _kept(value: Any, dtype: str = "uint32") -> Any:
    """`value` through a register of its own: TVM's simplifier would look through a `let`, again
    and again for every use."""
    from edgecc.kernels import tir

    held = tir.local(1, dtype)
    tir.store(held, 0, value)
    return held[0]


def _unsigned(value: int) -> Any:
    from edgecc.kernels import tir

    return tir.T.uint32(value)


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """a * b of two numbers of 24 bits (2^24 itself allowed): (upper, lower 24 bits)."""
    from edgecc.kernels import tir

    T, let, u = tir.T, _kept, _unsigned
    a_high, a_low = let(T.shift_right(a, u(12))), let(T.bitwise_and(a, u(0xFFF)))
    b_high, b_low = let(T.shift_right(b, u(12))), let(T.bitwise_and(b, u(0xFFF)))
    middle = let(a_high * b_low + a_low * b_high)
    low = let(a_low * b_low + T.shift_left(T.bitwise_and(middle, u(0xFFF)), u(12)))
    high = let(a_high * b_high + T.shift_right(middle, u(12)) + T.shift_right(low, u(24)))
    return high, let(T.bitwise_and(low, u(0xFFFFFF)))


def _integer(product: Any, power: Any) -> Any:
    """rint(product * 2^power) as int32, saturated at 2^24: far above any int8 bound."""
    from edgecc.kernels import tir

    T, let, u = tir.T, _kept, _unsigned
    right = let(T.cast(T.max(T.min(-power, 30), 1), "uint32"))
    odd = T.bitwise_and(T.shift_right(product, right), u(1))
    down = T.shift_right(product + (T.shift_left(u(1), right - u(1)) - u(1) + odd), right)
    return _kept(T.Select(power >= 0, T.int32(1 << 24), T.cast(down, "int32")), "int32")
