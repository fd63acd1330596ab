"""What a `neon_walk.Walk` ends with: int32 sums to int8, by one of three ways."""

from __future__ import annotations

from collections.abc import Mapping

from edgecc.kernels.fixed_point import FRACTION
from edgecc.kernels.isa.neon_walk import Walk


def narrowed(walk: Walk, first: Mapping[str, int]) -> list[str]:
    """Lines that leave the values of all sums in the first free register. `first`: see
    `Registers`."""
    sums = [first["sum"] + i for i in range(walk.vectors)]
    halves = [first["free"] + i for i in range(walk.parts)]
    ends = {"fixed": _fixed, "short": _short, "long": _long}
    narrow, amount = ("sqrshrn", f", #{FRACTION}") if walk.end == "fixed" else ("sqxtn", "")
    return ends[walk.end](sums, halves, first) + [
        f"{narrow}{'2' * i} v{halves[0]}.{'16b' if i else '8b'}, v{half}.8h{amount}"
        for i, half in enumerate(halves)]


def _fixed(sums: list[int], halves: list[int], first: Mapping[str, int]) -> list[str]:
    """Products, of which the lower halves count: they hold the zero point too."""
    return _scaled("sqdmulh", sums, first) + _lower(sums, halves)


def _short(sums: list[int], halves: list[int], first: Mapping[str, int]) -> list[str]:
    """Rounded, plus the zero point, in int16: what one addition leaves in the lower halves."""
    rounded = [f"fadd v{i}.4s, v{i}.4s, v{first['round']}.4s" for i in sums]
    return _real(sums, first) + rounded + _lower(sums, halves)


def _long(sums: list[int], halves: list[int], first: Mapping[str, int]) -> list[str]:
    """The same for sums of any size."""
    lines = _real(sums, first) + [f"fcvtns v{i}.4s, v{i}.4s" for i in sums]
    for half, low, high in zip(halves, sums[::2], sums[1::2], strict=True):
        lines += [f"sqxtn v{half}.4h, v{low}.4s", f"sqxtn2 v{half}.8h, v{high}.4s",
                  f"sqadd v{half}.8h, v{half}.8h, v{first['round']}.8h"]
    return lines


def _real(sums: list[int], first: Mapping[str, int]) -> list[str]:
    return [f"scvtf v{i}.4s, v{i}.4s" for i in sums] + _scaled("fmul", sums, first)


def _scaled(name: str, sums: list[int], first: Mapping[str, int]) -> list[str]:
    return [f"{name} v{i}.4s, v{i}.4s, v{scale}.4s"
            for scale, i in enumerate(sums, first["scale"])]


def _lower(sums: list[int], halves: list[int]) -> list[str]:
    """Lower halves of two vectors in one."""
    return [f"uzp1 v{half}.8h, v{low}.8h, v{high}.8h"
            for half, low, high in zip(halves, sums[::2], sums[1::2], strict=True)]
