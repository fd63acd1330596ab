"""Where the positions of a resized axis lie in the original one: float32, as ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

F = np.float32


@dataclass(frozen=True)
class Axis:
    """An axis of `size` positions becomes one of `count`; `scale` is about count / size."""

    size: int
    count: int
    scale: float


def _half_pixel(axis: Axis, at: np.ndarray) -> np.ndarray:
    return (at + F(0.5)) / F(axis.scale) - F(0.5)


def _half_pixel_symmetric(axis: Axis, at: np.ndarray) -> np.ndarray:
    """As half_pixel, centred where the scale does not give the count exactly."""
    adjustment = F(axis.count) / (F(axis.scale) * F(axis.size))
    offset = F(axis.size) / F(2) * (F(1) - adjustment)
    return offset + _half_pixel(axis, at)


def _pytorch_half_pixel(axis: Axis, at: np.ndarray) -> np.ndarray:
    return _half_pixel(axis, at) if axis.count > 1 else np.zeros_like(at)


def _align_corners(axis: Axis, at: np.ndarray) -> np.ndarray:
    return at * F(axis.size - 1) / F(axis.count - 1) if axis.count > 1 else np.zeros_like(at)


def _asymmetric(axis: Axis, at: np.ndarray) -> np.ndarray:
    return at / F(axis.scale)


def _tf_half_pixel_for_nn(axis: Axis, at: np.ndarray) -> np.ndarray:
    return (at + F(0.5)) / F(axis.scale)


TRANSFORMATIONS: dict[str, Callable[[Axis, np.ndarray], np.ndarray]] = {
    "half_pixel": _half_pixel, "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel, "align_corners": _align_corners,
    "asymmetric": _asymmetric, "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
}


def _prefer_floor(x: np.ndarray) -> np.ndarray:
    return np.ceil(x - F(0.5))


def _prefer_ceil(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.ceil(x - F(0.5)), np.floor(x + F(0.5)))


ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": _prefer_floor, "round_prefer_ceil": _prefer_ceil,
    "floor": np.floor, "ceil": np.ceil,
}


def coordinates(axis: Axis, mode: str) -> np.ndarray:
    """float32 position in the original axis of every position of the resized one."""
    return TRANSFORMATIONS[mode](axis, np.arange(axis.count, dtype=F)).astype(F)


def nearest(axis: Axis, mode: str, rounding: str) -> np.ndarray:
    """The original index of every position."""
    at = ROUNDINGS[rounding](coordinates(axis, mode)).astype(np.int64)
    return np.clip(at, 0, axis.size - 1)


def linear(axis: Axis, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Indices and float32 weights of the two neighbours of every position: (count, 2) each."""
    at = np.clip(coordinates(axis, mode), F(0), F(axis.size - 1))
    low = np.minimum(at.astype(np.int64), axis.size - 1)
    high = np.minimum(low + 1, axis.size - 1)
    part = np.where(low == high, F(0.5), at - low.astype(F)).astype(F)
    return np.stack([low, high], 1), np.stack([F(1) - part, part], 1)


def cubic(axis: Axis, mode: str, a: float, exclude: bool) -> tuple[np.ndarray, np.ndarray]:
    """Indices and weights of the four neighbours; with `exclude` those outside count nothing."""
    at = coordinates(axis, mode)
    base = np.floor(at)
    part = (at - base).astype(np.float64)
    distance = np.stack([part + 1, part, 1 - part, 2 - part], 1)
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    weights = np.where(distance <= 1, near, far)
    places = base.astype(np.int64)[:, None] + np.arange(-1, 3)
    if exclude:
        weights = np.where((places < 0) | (places >= axis.size), 0.0, weights)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(places, 0, axis.size - 1), weights.astype(F)
