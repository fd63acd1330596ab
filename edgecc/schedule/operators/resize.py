"""Resize and Upsample: nearest picks indices; linear and cubic weigh neighbours on two axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgecc.schedule.moves import Interpolate
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.coordinates import (
    ROUNDINGS,
    TRANSFORMATIONS,
    Axis,
    cubic,
    linear,
    nearest,
)
from edgecc.schedule.operators.selection import axis_of, take
from edgecc.schedule.ops import Tensor
from edgecc.schedule.reader import Node

Weighted = tuple[np.ndarray, np.ndarray]


@operator("Resize")
def resize(node: Node) -> None:
    old = node.building.opset < 11
    default = "asymmetric" if old else "half_pixel"
    mode = node.attribute("coordinate_transformation_mode", default)
    node.attribute("extrapolation_value")
    if mode not in TRANSFORMATIONS:
        node.refuse(f"coordinates {mode!r} are not supported",
                    f"use {', '.join(sorted(TRANSFORMATIONS))}")
    rounding = node.attribute("nearest_mode", "floor" if old else "round_prefer_floor")
    if rounding not in ROUNDINGS:
        node.refuse(f"nearest_mode {rounding!r} is unknown")
    _resized(node, _axes(node, 1 if old else 2), mode, rounding)


@operator("Upsample")
def upsample(node: Node) -> None:
    """Resize as it was before opset 10."""
    x = node.tensor()
    given = node.attribute("scales")
    scales = node.numbers(1) if given is None else np.array(given)
    axes = [Axis(n, int(math.floor(n * s)), float(s))
            for n, s in zip(x.shape, scales.reshape(-1), strict=True)]
    _resized(node, axes, "asymmetric", "floor")


def _axes(node: Node, scales_at: int) -> list[Axis]:
    """Sizes and scales of all axes, from either input and for the axes that are named."""
    x, rank = node.tensor(), len(node.tensor().shape)
    axes = [axis_of(node, int(a), rank) for a in node.attribute("axes") or range(rank)]
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    scales = node.numbers(scales_at).reshape(-1) if node.has(scales_at) else np.zeros(0)
    sizes = node.numbers(scales_at + 1).reshape(-1) if node.has(scales_at + 1) else np.zeros(0)
    given = scales if scales.size else sizes
    if len(given) != len(axes) or not (np.asarray(given) > 0).all():
        node.refuse(f"scales {scales.tolist()} or sizes {sizes.tolist()} do not fit {len(axes)} "
                    "axes", "give one positive number for each axis")
    found = [Axis(n, n, 1.0) for n in x.shape]
    shapes = [x.shape[a] for a in axes]
    made = _by_scale(shapes, scales) if scales.size else _by_size(node, shapes, sizes, policy)
    for axis, one in zip(axes, made, strict=True):
        found[axis] = one
    return found


def _by_scale(shape: Sequence[int], scales: np.ndarray) -> list[Axis]:
    return [Axis(n, int(np.float32(n) * np.float32(s)), float(s))
            for n, s in zip(shape, scales, strict=True)]


def _by_size(node: Node, shape: Sequence[int], sizes: np.ndarray, policy: str) -> list[Axis]:
    ratios = [np.float32(s) / np.float32(n) for n, s in zip(shape, sizes, strict=True)]
    if policy == "stretch":
        return [Axis(n, int(s), float(r)) for n, s, r in zip(shape, sizes, ratios, strict=True)]
    if policy not in ("not_larger", "not_smaller"):
        node.refuse(f"keep_aspect_ratio_policy {policy!r} is unknown")
    ratio = float(min(ratios) if policy == "not_larger" else max(ratios))
    return [Axis(n, int(math.floor(ratio * n + 0.5)), ratio) for n in shape]


def _resized(node: Node, axes: Sequence[Axis], mode: str, rounding: str) -> None:
    x, kind = node.tensor(), node.attribute("mode", "nearest")
    antialias = node.attribute("antialias", 0)
    coefficient = float(node.attribute("cubic_coeff_a", -0.75))
    exclude = bool(node.attribute("exclude_outside", 0))
    if antialias or kind not in ("nearest", "linear", "cubic"):
        node.refuse(f"mode {kind!r} with antialias={antialias} is not supported",
                    "use nearest, linear or cubic without antialias")
    if kind == "nearest":
        tables = [None if a.scale == 1 else nearest(a, mode, rounding) for a in axes]
        take(node, x, tables)
        return
    moved = [i for i, a in enumerate(axes) if a.scale != 1 or a.count != a.size]
    found = [linear(axes[i], mode) if kind == "linear" else
             cubic(axes[i], mode, coefficient, exclude) for i in moved]
    _interpolated(node, node.float_tensor(), [a.count for a in axes], moved, found)


def _interpolated(node: Node, x: Tensor, shape: Sequence[int], moved: list[int],
                  found: list[Weighted]) -> None:
    """Two axes at most; one alone is weighed beside another that stays."""
    if len(moved) > 2:
        node.refuse(f"interpolation along {len(moved)} axes is not supported",
                    "resize along at most two axes at once")
    rest = [i for i in range(len(shape) - 1, -1, -1) if i not in moved]
    while len(moved) < 2 and len(shape) > 1:
        size = shape[rest[0]]
        moved.append(rest.pop(0))
        found.append((np.arange(size)[:, None], np.ones((size, 1), np.float32)))
    if len(moved) < 2:
        node.refuse("interpolation of one axis alone is not supported", "add an axis of size 1")
    (i, a), (j, b) = sorted(zip(moved, found, strict=True), key=lambda pair: pair[0])
    node.emit(Interpolate, [x.name], shape, axes=(i, j), indices=(a[0], b[0]),
              weights=(a[1], b[1]))
