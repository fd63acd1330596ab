"""The law of kernels that multiply and add in float16: the same sums in the same order, every step
rounded as the core's instruction rounds it. Kernels give these bytes.

`tiled` is that of the register tiles of half_tile.py, `depthwise` that of depthwise_half.py. They
share no code with the kernels, so that a change of either shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.kernels import spec as specs
from edgecc.kernels.half_arithmetic import Sums, rounded

TOGETHER = 48  # products of which sums are halves
STEPS = 8  # a part of a longer run has a multiple of so many products
LARGEST_SCALE = 2.0**15  # power of two that is a half
BLOCK = 1 << 14  # sums that are computed side by side

Arrays = Sequence[np.ndarray]
Constants = Mapping[str, Any]


def tiled(spec: Any, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """Convolution or matrix product: sums of halves, joined in float32 where they are many."""
    shape: tuple[int, ...]
    if isinstance(spec, specs.FullyConnected):
        patches = np.asarray(inputs[0], np.float16).reshape(1, spec.m, spec.k)
        runs, shape = [spec.k], (spec.m, spec.n)
    else:
        patches, runs, shape = _windows(spec, inputs[0]), _runs(spec), _shape(spec)
    weights = np.asarray(constants["weights"], np.float64).reshape(shape[-1], -1)
    scale = power_of_two(weights, TOGETHER)
    by_group = zip(patches, np.split(rounded(weights / scale), len(patches)),
                   np.split(np.asarray(constants["bias"], np.float32), len(patches)), strict=True)
    sums = [_products(taken, kernel, bias, scale, runs) for taken, kernel, bias in by_group]
    return [_finished(spec, np.concatenate(sums, axis=1).reshape(shape), inputs, constants)]


def power_of_two(weights: np.ndarray, together: int) -> float:
    """Magnitudes of any `together` neighbours in a row, over this power of two, sum to a half at
    most. Shapes: (outputs, taps)."""
    size = np.abs(weights)
    starts = range(max(1, size.shape[1] - together + 1))
    largest = max(float(size[:, i:i + together].sum(axis=1).max(initial=0.0)) for i in starts)
    return float(2.0 ** np.ceil(np.log2(2 * largest))) if 0 < largest < np.inf else 1.0


def _shape(spec: specs.Conv2d) -> tuple[int, ...]:
    return spec.n, spec.oh, spec.ow, spec.k


def _windows(spec: specs.Conv2d, x: Any) -> np.ndarray:
    """Shape (groups, pixels, taps of a group), taps in the order in which they are added."""
    from edgecc.kernels.reference import windows

    image = np.asarray(x, np.float16).reshape(spec.n, spec.h, spec.w, spec.c)
    found = windows(image, spec, np.float16(0))
    pixels, area, each = spec.n * spec.oh * spec.ow, spec.kh * spec.kw, spec.c // spec.groups
    split = found.reshape(pixels, area, spec.groups, each)
    return split.transpose(2, 0, 1, 3).reshape(spec.groups, pixels, area * each)


def _runs(spec: specs.Conv2d) -> list[int]:
    """Taps that are neighbours in memory: rows of a window, or its positions one by one."""
    if spec.groups == 1 and spec.dilations[1] == 1:
        return [spec.kw * spec.c] * spec.kh
    return [spec.c // spec.groups] * (spec.kh * spec.kw)


def parts_of(runs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last tap (excluded) of every sum of halves."""
    if sum(runs) <= TOGETHER:
        yield 0, sum(runs)
        return
    first = 0
    for count in runs:
        number = -(-count // TOGETHER)
        size = -(-count // (number * STEPS)) * STEPS
        for at in range(0, count, size):
            yield first + at, first + min(at + size, count)
        first += count


def _products(patches: np.ndarray, weights: np.ndarray, bias: np.ndarray, scale: float,
              runs: Sequence[int]) -> np.ndarray:
    """float32 sums (pixels, outputs), a block of pixels at a time."""
    rows = max(1, BLOCK // len(weights))
    return np.concatenate([_block(patches[at:at + rows], weights, bias, scale, runs)
                           for at in range(0, len(patches), rows)])


def _block(patches: np.ndarray, weights: np.ndarray, bias: np.ndarray, scale: float,
           runs: Sequence[int]) -> np.ndarray:
    left = np.ascontiguousarray(patches.T, np.float64)[:, :, None]
    right = np.ascontiguousarray(weights.T)
    bound = _bound(left, weights)
    shape = len(patches), len(weights)
    totals = np.broadcast_to(bias, shape)
    for first, last in parts_of(runs):
        sums = Sums(np.zeros(shape), bound)
        for tap in range(first, last):
            sums.add(left[tap], right[tap])
        # a power of two times a half is exact, so one rounding is left
        totals = totals + sums.values.astype(np.float32) * np.float32(scale)
    return totals


def _bound(values: np.ndarray, weights: np.ndarray) -> float:
    """What no sum exceeds, not a number where a value is not."""
    with np.errstate(invalid="ignore"):
        return float(np.abs(values).max(initial=0.0) * np.abs(weights).sum(axis=1).max(initial=0.0))


def _finished(spec: Any, totals: np.ndarray, inputs: Arrays, constants: Constants) -> np.ndarray:
    """Residual and limits in float32, then a half."""
    if spec.residual:
        totals = totals + np.asarray(inputs[1]).astype(np.float32).reshape(totals.shape)
    if spec.clamp:
        totals = np.clip(totals, np.float32(constants["lo"]), np.float32(constants["hi"]))
    with np.errstate(over="ignore"):
        return totals.astype(np.float16)


def depthwise(spec: specs.Conv2d, inputs: Arrays, constants: Constants) -> list[np.ndarray]:
    """One sum of halves a channel, from the bias on; scale, residual and limits are halves too."""
    weights = np.asarray(constants["weights"], np.float64).reshape(spec.k, -1)
    bias = np.asarray(constants["bias"], np.float64).reshape(spec.k, 1)
    both = np.concatenate([bias, weights], axis=1)
    scale = min(power_of_two(both, both.shape[1]), LARGEST_SCALE)
    held = rounded(both / scale)
    taps, inside = (_windows(spec, x).transpose(2, 1, 0) for x in (
        inputs[0], np.ones((spec.n, spec.h, spec.w, spec.c), np.float16)))
    rows = max(1, BLOCK // spec.c)
    found = [_channels(taps[:, at:at + rows], inside[:, at:at + rows], held)
             for at in range(0, taps.shape[1], rows)]
    return [_ended(spec, np.concatenate(found), scale, inputs, constants)]


def _channels(halves: np.ndarray, inside: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Sums (pixels, channels) of taps (taps, pixels, channels) and of biases, which are first;
    taps that are not in the image are left out, so that a negative zero stays one."""
    taps = np.ascontiguousarray(halves, np.float64)
    sums = Sums(np.tile(held[:, 0], (taps.shape[1], 1)), _bound(np.append(taps, 1.0), held))
    for number, (tap, used) in enumerate(zip(taps, inside != 0, strict=True), start=1):
        before = None if used.all() else sums.values.copy()
        sums.add(tap, held[:, number])
        if before is not None:
            np.copyto(sums.values, before, where=~used)
    return sums.values


def _ended(spec: specs.Conv2d, sums: np.ndarray, scale: float, inputs: Arrays,
           constants: Constants) -> np.ndarray:
    """The residual is added as the scale is multiplied with."""
    if spec.residual:
        both = Sums(np.asarray(inputs[1], np.float64).reshape(sums.shape))
        both.add(sums, scale)
        found = both.values
    else:
        found = rounded(sums * scale)
    if spec.clamp:
        found = np.clip(found, *(rounded(np.float32(constants[name])) for name in ("lo", "hi")))
    return found.astype(np.float16).reshape(_shape(spec))
