"""float16 arithmetic in numpy: multiplications and additions that are rounded once.

Numbers are halves, held in float64. Source: IEEE 754-2019, binary16 and fusedMultiplyAdd.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROOM = 60000.0  # sums that stay below this stay below the largest half, 65504, when rounded
EXPONENT = 0x7FF0000000000000  # of a float64's bits
LEAST_NORMAL = 2.0**-14
UNITS = 1.5 * 2.0**42
"""Times 2^e: a float64 whose unit of the last place is that of halves between 2^e and 2^(e+1)."""


def rounded(values: Any) -> np.ndarray:
    """float64 to the nearest halves, ties to even, infinities and all."""
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float16).astype(np.float64)


class Sums:
    """Running sums of halves, each step one fused multiply-add.

    A step is computed in float64 and rounded to half from there: one rounding in effect. Let c be
    the sum so far, p the product, and e(v) the exponent of v. p has 22 bits, so it is exact. If
    c + p fits float64's 53 bits, it is exact too. Otherwise the exponents are far apart. Either
    e(p) < e(c) - 29: then |p| is below 2^-28 of |c|, while the points where rounding to half
    leaves c are 2^-13 of |c| away, or more, and are float64 numbers themselves, so rounding to
    float64 does not move c + p beyond them: the answer is c. Or e(p) > e(c) + 40: as |c| is
    2^-24 or more, |p| is 2^17 or more, and the answer infinite either way.

    `bound`: no sum is larger; where it leaves room, steps are rounded by two additions instead of
    a conversion, in half the time.
    """

    def __init__(self, start: np.ndarray, bound: float = np.inf) -> None:
        self.values = np.array(start, np.float64)
        self._room = bound < ROOM
        self._total, self._units = np.empty_like(self.values), np.empty_like(self.values)

    def add(self, a: Any, b: Any) -> None:
        """values = half(values + a * b)."""
        with np.errstate(invalid="ignore"):
            np.multiply(a, b, out=self._total)
            self._total += self.values
        if self._room:
            self._round()
        else:
            self.values = rounded(self._total)

    def _round(self) -> None:
        """Adding a number of 2^52 to 2^53 units drops what is less than a unit, half to even."""
        units = self._units
        np.bitwise_and(self._total.view(np.int64), EXPONENT, out=units.view(np.int64))
        np.maximum(units, LEAST_NORMAL, out=units)
        units *= UNITS
        np.add(self._total, units, out=self.values)
        self.values -= units
        np.copysign(self.values, self._total, out=self.values)  # what becomes zero keeps its sign
