"""The end of sums on Cortex-M's DSP instructions: int32 in core registers to int8, stored.

The float32 product comes four at a time: VMOV takes two registers to the FPU and back at once.
Source: Armv7-M Architecture Reference Manual, VMOV, VCVT, VCVTR, QADD, SSAT, SSAT16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LANES = ("s0", "s1", "s2", "s3")  # sums on their way to int8


class Sum(NamedTuple):
    """A sum's register, the FPU register of its scale, and the byte of the output from its
    pointer on."""

    register: str
    scale: str
    place: int


@dataclass(frozen=True)
class End:
    """`out` points to the output. `zero`, `low` and `high` are registers of the output's zero point
    and bounds; of a `short` sum (see `short_sums`) `zero` is an FPU register with the float that
    rounds and adds it."""

    out: str
    zero: str
    low: str
    high: str
    short: bool
    clamp: bool

    def lines(self, sums: Sequence[Sum]) -> list[str]:
        lines: list[str] = []
        for first in range(0, len(sums), len(LANES)):
            some = sums[first : first + len(LANES)]
            lines += self._scaled(some)
            lines += [line for each in some for line in self._bounded(each.register)]
            lines += [f"strb.w {each.register}, [{self.out}, #{each.place}]" for each in some]
        return lines

    def _scaled(self, sums: Sequence[Sum]) -> list[str]:
        """float32 products, rounded to integers, back in their registers."""
        lanes = LANES[: len(sums)]
        to, back = [], []
        for i in range(0, len(sums), 2):
            floats = ", ".join(lanes[i : i + 2])
            words = ", ".join(each.register for each in sums[i : i + 2])
            to.append(f"vmov {floats}, {words}")
            back.append(f"vmov {words}, {floats}")
        rounded = ([f"vadd.f32 {s}, {s}, {self.zero}" for s in lanes] if self.short
                   else [f"vcvtr.s32.f32 {s}, {s}" for s in lanes])
        scaled = [f"vmul.f32 {s}, {s}, {each.scale}"
                  for s, each in zip(lanes, sums, strict=True)]
        return [*to, *(f"vcvt.f32.s32 {s}, {s}" for s in lanes), *scaled, *rounded, *back]

    def _bounded(self, name: str) -> list[str]:
        """A rounded sum as int8; a short one has its zero point already, and an upper half that
        means nothing."""
        if self.short:
            return [f"ssat16 {name}, #8, {name}"]
        lines = [f"qadd {name}, {name}, {self.zero}", f"ssat {name}, #8, {name}"]
        bounds = (("lt", self.low), ("gt", self.high)) if self.clamp else ()
        for condition, bound in bounds:
            lines += [f"cmp {name}, {bound}", f"it {condition}", f"mov{condition} {name}, {bound}"]
        return lines
