"""RISC-V V 1.0 with 256-bit registers: VWMACC.VX, int16 times int16 into int32.

A row of weights is widened to int16 once and multiplied by one activation per row of the tile.
Source: RISC-V "V" Vector Extension, version 1.0, §11.13.
"""

from __future__ import annotations

from typing import Any, ClassVar

from edgecc.kernels.isa.base import Isa


class Rvv256(Isa):
    """32 columns: an accumulator is a group of four registers, so eight of them exist."""

    name: ClassVar[str] = "rvv256"
    requires: ClassVar[frozenset[str]] = frozenset({"rvv256"})
    lanes: ClassVar[int] = 32
    registers: ClassVar[int] = 9
    fast: ClassVar[bool] = True

    def load(self, buffer: Any, offset: Any, width: int) -> list[Any]:
        """One int16 scalar kept in a local: a cast alone would move behind the broadcast."""
        from edgecc.kernels import tir

        held = tir.local(1, "int16")
        tir.store(held, 0, tir.T.cast(tir.load(buffer, offset), "int16"))
        return [held[0]]

    def multiply(self, acc: Any, activation: Any, weights: Any) -> Any:
        from edgecc.kernels import tir

        wide = tir.vector("int32", self.lanes)
        spread = tir.T.cast(tir.splat(activation, self.lanes), wide)
        return acc + tir.T.cast(weights, wide) * spread


class Rvv256Half(Rvv256):
    """16 columns, for layers with fewer outputs and taller tiles."""

    lanes: ClassVar[int] = 16
    registers: ClassVar[int] = 17
