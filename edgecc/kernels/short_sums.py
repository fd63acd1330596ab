"""Whether a layer's scaled sums fit int16, whatever its inputs: saturating twice is then in vain.

If the zero point is even as well, adding it and rounding half to even are one float addition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 32000  # short of int16's 32767 by more than float32 rounds
INT32 = 1 << 31
INPUTS = (-128, 127)


def fits(constants: Mapping[str, Any]) -> bool:
    """For the constants of an int8 convolution or fully connected layer (see `spec.Conv2d`)."""
    zero = int(constants["output_zero_point"])
    sums = _sums(constants)
    scale = np.abs(np.asarray(constants["scale"], np.float64))
    largest = _with_residual(constants) if "ratio" in constants else float((sums * scale).max())
    return bool(zero % 2 == 0 and sums.max() < INT32 and largest + abs(zero) < LARGEST)


def _farthest(bounds: tuple[int, int], zero: int) -> int:
    """The largest distance from a zero point."""
    return max(abs(bound - zero) for bound in bounds)


def _sums(constants: Mapping[str, Any]) -> np.ndarray:
    """The largest sum of every output channel, with or without what padding leaves out."""
    weights = np.asarray(constants["weights"], np.int64)
    total = np.abs(weights).reshape(len(weights), -1).sum(axis=1)
    far = _farthest(INPUTS, int(constants["input_zero_point"]))
    return np.abs(np.asarray(constants["bias"], np.int64)) + total * far


def _with_residual(constants: Mapping[str, Any]) -> float:
    """The largest sum of a clamped inner value and the residual."""
    clamp = int(constants["inner_lo"]), int(constants["inner_hi"])
    inner = _farthest(clamp, int(constants["inner_zero_point"]))
    other = _farthest(INPUTS, int(constants["residual_zero_point"]))
    return (inner * abs(float(constants["ratio"]))
            + other * abs(float(constants["residual_ratio"])))
