"""The parameters of an int8 kernel, from the header of its packed constants, in registers."""

from __future__ import annotations

from copy import copy
from typing import Any

from edgecc.kernels.isa.base import Isa
from edgecc.kernels.isa.spread import spread, spread_four

FOUR = ("inner_lo", "inner_hi", "ratio", "residual_ratio")  # words 6 to 9 of the header


class Parameters:
    """The header's values as registers, loaded once per call."""

    def __init__(self, k: Any, isa: Isa, residual: bool, short: bool = False,
                 clamp: bool = False):
        from edgecc.kernels import tir

        words, floats = k.weights("int32"), k.weights("float32")
        self.pad_value = tir.let(words[0])
        self.zero_point = tir.let(words[1])
        self.lo, self.hi = tir.let(floats[2]), tir.let(floats[3])
        self.low, self.high = tir.let(words[4]), tir.let(words[5])
        self.low_byte = tir.let(tir.T.cast(self.low, "int8"))
        self.high_byte = tir.let(tir.T.cast(self.high, "int8"))
        self.zero_point_short = tir.let(tir.T.cast(words[1], "int16"))
        self.short = tir.let(floats[13]) if short else None
        self._k = k
        self._made: dict[tuple[str, int], Any] | None = None  # None: vectors are left to LLVM
        self._vectors = 1 + 2 * clamp + 5 * residual
        if residual:
            self.inner_lo, self.inner_hi = tir.let(floats[6]), tir.let(floats[7])
            self.ratio, self.residual_ratio = tir.let(floats[8]), tir.let(floats[9])
            self.residual_zero_point = tir.let(words[10])
            self.residual_offset = tir.let(tir.T.cast(-words[10], "int16"))
            self.inner_low, self.inner_high = tir.let(words[11]), tir.let(words[12])

    def vector(self, name: str, lanes: int) -> Any:
        """`lanes` times a parameter."""
        from edgecc.kernels import tir

        if self._made is None:
            return tir.splat(getattr(self, name), lanes)
        if name in FOUR and (name, lanes) not in self._made:
            four = spread_four(self._k, tir.T.address_of(self._k.weights("float32")[6]))
            self._made |= zip(((each, lanes) for each in FOUR), four, strict=True)
        if (name, lanes) not in self._made:
            self._made[name, lanes] = spread(self._k, getattr(self, name), lanes)
        return self._made[name, lanes]

    def beside(self, registers: int) -> Parameters:
        """The same for the end of a tile whose statement leaves so many registers alone: if they
        do not hold all vectors with one to spare, those are made where they are used first."""
        if registers > self._vectors:
            return self
        beside = copy(self)
        beside._made = {}
        return beside
