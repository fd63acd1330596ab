"""float16 in memory: what float32 kernels read and write where their operands are stored in half.

Inside `stored_in_half`, a kernel's float32 operands are float16 in memory: loads widen, stores
round to nearest even. Machines with instructions for that are asked by a cast; for others the
conversion is written out in integers, exactly, subnormal numbers included.
Source: IEEE 754-2019, binary16 and binary32.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

CONVERTING = ({"neon"}, {"armv7-neon"}, {"f16c"}, {"mve"}, {"fpu32", "thumb2"}, {"zvfh"})
"""Features of which any set is enough for instructions that convert."""

EXPONENT = 0x0F800000  # a half's exponent of ones, where float32 has its exponent
UP = 2.0**112  # from a half's exponent bias of 15 to 127
REBIAS = 0xC8000FFF  # the bias back from 127 to 15 (modulo 2^32), and just less than half a unit
LEAST_NORMAL, OVERFLOW, INFINITE = 0x38800000, 0x47800000, 0x7F800000  # 2^-14, 2^16, infinity
HALF_ULP_ONE = 0x3F000000  # 0.5, whose units are those of a half's subnormal numbers


def converts(features: Collection[str]) -> bool:
    """Whether a core has instructions between float16 and float32."""
    return any(each <= set(features) for each in CONVERTING)


def memory_type(features: Collection[str]) -> str:
    """What halves are in a kernel's buffers: float16, or their bits."""
    return "float16" if converts(features) else "uint16"


_stored: ContextVar[str | None] = ContextVar("stored", default=None)


@contextmanager
def stored_in_half(features: Collection[str]) -> Iterator[None]:
    """Kernels opened meanwhile have float16 where they say float32 operands."""
    token = _stored.set(memory_type(features))
    try:
        yield
    finally:
        _stored.reset(token)


def stored(dtype: str) -> str:
    """How an operand of `dtype` is stored."""
    kind = _stored.get()
    return kind if kind is not None and dtype == "float32" else dtype


def half_type() -> str | None:
    """How halves are stored in the kernel under construction; None where it computes in them."""
    return _stored.get()


class Halves:
    """A buffer of halves that is read and written as float32."""

    def __init__(self, buffer: Any, kind: str) -> None:
        self.buffer, self.kind = buffer, kind

    def load(self, offset: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        value = tir.load(self.buffer, offset, lanes)
        if self.kind == "float16":
            return tir.T.cast(value, tir.vector("float32", lanes))
        return widened(value, lanes)

    def store(self, offset: Any, value: Any, lanes: int) -> None:
        from edgecc.kernels import tir

        narrow = tir.T.cast(value, tir.vector("float16", lanes)) if self.kind == "float16" else (
            rounded(value, lanes))
        tir.store(self.buffer, offset, narrow, lanes)


def _held(value: Any, dtype: str, lanes: int) -> Any:
    """`value`, in registers of its own: TVM's simplifier would write it out at every use."""
    from edgecc.kernels import tir

    kept = tir.local(lanes, dtype)
    tir.store(kept, 0, value, lanes)
    return tir.load(kept, 0, lanes)


def _word(value: int, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.splat(tir.T.uint32(value), lanes)


def widened(bits: Any, lanes: int) -> Any:
    """float32 of a half's bits: its exponent and mantissa in place, times a power of two."""
    from edgecc.kernels import tir

    T, word, real = tir.T, tir.vector("uint32", lanes), tir.vector("float32", lanes)
    wide = _held(T.cast(bits, word), "uint32", lanes)
    sign = T.shift_left(T.bitwise_and(wide, _word(0x8000, lanes)), _word(16, lanes))
    rest = T.shift_left(T.bitwise_and(wide, _word(0x7FFF, lanes)), _word(13, lanes))
    rest = _held(rest, "uint32", lanes)
    scaled = T.reinterpret(real, rest) * tir.splat(T.float32(UP), lanes)
    special = T.bitwise_or(rest, _word(INFINITE, lanes))
    found = T.Select(rest >= _word(EXPONENT, lanes), special, T.reinterpret(word, scaled))
    return _held(T.reinterpret(real, T.bitwise_or(found, sign)), "float32", lanes)


def rounded(value: Any, lanes: int) -> Any:
    """A half's bits, of float32 rounded to nearest even."""
    from edgecc.kernels import tir

    T, word = tir.T, tir.vector("uint32", lanes)
    bits = _held(T.reinterpret(word, value), "uint32", lanes)
    sign = T.bitwise_and(T.shift_right(bits, _word(16, lanes)), _word(0x8000, lanes))
    rest = _held(T.bitwise_and(bits, _word(0x7FFFFFFF, lanes)), "uint32", lanes)
    found = T.Select(rest < _word(LEAST_NORMAL, lanes), _subnormal(rest, lanes),
                     _normal(rest, lanes))
    special = T.Select(rest > _word(INFINITE, lanes), _word(0x7E00, lanes), _word(0x7C00, lanes))
    found = T.Select(rest >= _word(OVERFLOW, lanes), special, found)
    return T.cast(T.bitwise_or(found, sign), tir.vector("uint16", lanes))


def _normal(rest: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    T, by = tir.T, _word(13, lanes)
    odd = T.bitwise_and(T.shift_right(rest, by), _word(1, lanes))
    return T.shift_right(rest + _word(REBIAS, lanes) + odd, by)


def _subnormal(rest: Any, lanes: int) -> Any:
    """The addition rounds to a half's least unit."""
    from edgecc.kernels import tir

    T, real = tir.T, tir.vector("float32", lanes)
    total = T.reinterpret(real, rest) + tir.splat(T.float32(0.5), lanes)
    return T.reinterpret(tir.vector("uint32", lanes), total) - _word(HALF_ULP_ONE, lanes)
