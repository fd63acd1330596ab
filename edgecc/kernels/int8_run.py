"""What an int8 tile multiplies at a time: activations that lie one after the other, in each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Run:
    """Activations of a tile: `values` of K at each of `taps` neighbouring positions, which lie
    `pitch` elements apart; the window of the next row of the tile starts `step` positions on."""

    buffer: Any
    values: int
    pitch: int
    taps: int = 1
    step: int = 1
    spare: bool = False  # up to 16 values may be read where fewer are left
    ends: bool = False  # the only run of a tile: its end follows
