"""Rounding to int8, in numpy: what the laws of all operators are built from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

FULL = (-128, 127)


def requantize(acc: np.ndarray, scale, zero_point: int, lo: int = -128, hi: int = 127):
    """clamp(rint(float32(acc) * scale) + zero_point, lo, hi), the product in float32."""
    return saturate(acc.astype(np.float32) * np.float32(scale), zero_point, lo, hi)


def saturate(real: np.ndarray, zero_point: int, lo: int = -128, hi: int = 127) -> np.ndarray:
    """int8 of clamp(rint(real) + zero_point, lo, hi), for float32 of any size."""
    rounded = np.clip(np.nan_to_num(np.rint(real)), -(2.0**30), 2.0**30).astype(np.int64)
    return np.clip(rounded + int(zero_point), int(lo), int(hi)).astype(np.int8)


def wrap_int32(values: np.ndarray) -> np.ndarray:
    """Two's complement wrap, as a 32-bit accumulator does."""
    return values.astype(np.int64).astype(np.uint32).view(np.int32)


def scaled(q: np.ndarray, zero_point, ratio) -> np.ndarray:
    """float32(q - zero_point) * ratio, rounded to float32."""
    return (q.astype(np.int32) - int(zero_point)).astype(np.float32) * np.float32(ratio)


def bounds(constants: Mapping[str, Any], clamp: bool) -> tuple[int, int]:
    """The int8 clamp of a spec."""
    return (int(constants["lo"]), int(constants["hi"])) if clamp else FULL
