"""Requantization by one integer product, with the very bytes of float32's two roundings.

A channel's int8 value rises with its sum, at no more than 255 sums. Here the sum plus an offset is
multiplied, shifted down and rounded, with an offset and a multiplier chosen such that the value
rises at those sums and no others. The offset brings the zero point too: products count modulo
2^16, so that of the many offsets which give the same value, the one that fits best is taken.
Some channels have none: float32 rounds products that are nearly halves to halves, and halves to
even numbers, which no straight line does at three of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.requantize import FULL, bounds

SHIFT = 31  # of products, as SQDMULH does it
FRACTION = 1  # bits of a shifted product below one
WINDOW = 1 << 15  # shifted products are from -WINDOW to below WINDOW, modulo twice that
LARGEST = (1 << SHIFT) - 1  # of multipliers
EXACT = 1 << 24  # sums up to here are the same in float32
TURNS = np.arange(-256, 257)  # times the modulus, among which an offset is looked for
NEAR = np.arange(-2, 3)  # where a sum may be, seen from its estimate
SEARCH = np.arange(-4, 5)  # multipliers tried about the best one, by smaller and smaller steps
OTHERS = (0, 1, -1, 2, -2, 3, -3, 4, -4)  # multipliers by the best one, best first


@dataclass
class FixedPoint:
    """Of every channel: value = clamp(round(modulo((sum + offset) * multiplier >> SHIFT))), rounded
    half up at FRACTION bits. `holds`: for all sums that int8 inputs make, float32's values."""

    multiplier: np.ndarray
    offset: np.ndarray
    holds: np.ndarray


def fitted(constants: Mapping[str, Any], clamp: bool) -> FixedPoint:
    """For the constants of an int8 convolution (see `spec.Conv2d`) without a residual."""
    steps = _steps(constants, clamp)
    best, count = _roomiest(steps), len(steps.scale)
    found = FixedPoint(best, np.zeros(count, np.int64), np.zeros(count, bool))
    for other in OTHERS:
        left = np.flatnonzero(~found.holds)
        some, multiplier = steps.of(left), np.clip(best[left] + other, 1, LARGEST)
        turns, offset = some.turned(multiplier)
        found.multiplier[left], found.offset[left] = multiplier, offset
        found.holds[left] = some.hold(multiplier, offset, turns)
    return found


def _roomiest(steps: _Steps) -> np.ndarray:
    """The multiplier that leaves offsets the most room, of those about the scale."""
    best = np.clip(np.rint(steps.scale * 2.0 ** (SHIFT + FRACTION)), 1, LARGEST).astype(np.int64)
    for bits in (24, 26, 28):
        tried = best + SEARCH[:, None] * np.maximum(best >> bits, 1)
        tried = np.clip(tried, 1, LARGEST)
        room = np.stack([most - least for least, most in map(steps.offsets, tried)])
        best = np.take_along_axis(tried, room.argmax(axis=0)[None], axis=0)[0]
    return best


@dataclass(frozen=True)
class _Steps:
    """Of every channel its sums, [least, most], and at which ones the value rises. The first and
    the last product are the ends of the window."""

    scale: np.ndarray
    least: np.ndarray
    most: np.ndarray
    begin: np.ndarray  # least sum with a value
    products: np.ndarray  # least product with it

    def of(self, rows: np.ndarray) -> _Steps:
        return _Steps(self.scale[rows], self.least[rows], self.most[rows], self.begin[rows],
                      self.products)

    @property
    def inside(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums that must reach each product, and those that must not."""
        return (np.maximum(self.begin, self.least), np.minimum(self.begin, self.most + 1) - 1)

    def offsets(self, multiplier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The real offsets, [least, most), for which all that must reaches each product."""
        reach, (above, below) = self.products / multiplier[:, None], self.inside
        return (np.where(above <= self.most, reach - above, -np.inf).max(axis=1),
                np.where(below >= self.least, reach - below, np.inf).min(axis=1))

    def turned(self, multiplier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(turns, offset): the integer farthest from both ends of the offsets."""
        moved = TURNS * (2.0 * WINDOW * 2**SHIFT / multiplier)[:, None]
        least, most = (end[:, None] + moved for end in self.offsets(multiplier))
        offset = np.ceil(least)
        spare = np.minimum(offset - least, most - offset)
        spare[np.abs(offset) > 2**31 - 2 * EXACT] = -1
        best = spare.argmax(axis=1)
        return TURNS[best], offset[np.arange(len(best)), best].astype(np.int64)

    def hold(self, multiplier: np.ndarray, offset: np.ndarray, turns: np.ndarray) -> np.ndarray:
        """Whether all that must, and nothing else, reaches each product: in integers."""
        reach = self.products + (turns * 2 * WINDOW << SHIFT)[:, None]
        above, below = ((sums + offset[:, None]) * multiplier[:, None] for sums in self.inside)
        rises = ((above >= reach) | (self.begin > self.most)) & (
            (below < reach) | (self.begin <= self.least))
        fits = (np.abs(offset) <= 2**31 - 2 * EXACT) & (self.scale > 0)
        return rises.all(axis=1) & fits & (self.least > -EXACT)[:, 0] & (self.most < EXACT)[:, 0]


def _steps(constants: Mapping[str, Any], clamp: bool) -> _Steps:
    least, most = (sums[:, None] for sums in _sums(constants))
    scale, values = np.asarray(constants["scale"], np.float32), np.arange(*bounds(constants, clamp))
    begin = _begin(values - int(constants["output_zero_point"]), scale, least, most)
    products = np.array([-WINDOW, *((2 * values + 1) << FRACTION >> 1), WINDOW]) << SHIFT
    return _Steps(scale.astype(np.float64), least, most,
                  np.hstack([least, begin, most + 1]), products)


def _begin(values: np.ndarray, scale: np.ndarray, least: np.ndarray, most: np.ndarray
           ) -> np.ndarray:
    """The least sum of each channel with more than each value; past its sums, any."""
    real = np.maximum(scale, 1e-30)[:, None]
    sums = np.clip(np.ceil((values + 0.5) / real.astype(np.float64)), least - 8, most + 8)
    sums = sums[:, :, None] + NEAR
    above = np.rint(sums.astype(np.float32) * real[:, :, None]) > values[:, None]
    return np.where(above, sums, sums[:, :, -1:] + 1).min(axis=2).astype(np.int64)


def _sums(constants: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest sum of every channel."""
    weights = np.asarray(constants["weights"], np.int64)
    products = weights.reshape(len(weights), -1, 1) * (
        np.array(FULL) - int(constants["input_zero_point"]))
    bias = np.asarray(constants["bias"], np.int64)
    return bias + products.min(axis=2).sum(axis=1), bias + products.max(axis=2).sum(axis=1)
