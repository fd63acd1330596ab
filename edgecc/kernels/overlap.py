"""How far before its input an output must lie to overwrite it while a window still slides over it.

A kernel that computes some positions after the other, and reads nothing before their own windows,
may write where it has read for the last time. Source: Lin et al. 2020, MCUNet (in-place depthwise
convolution), for windows of any kind.
"""

from __future__ import annotations

from edgecc.kernels.spec import Conv2d, Pool2d

ITEM_BYTES = {"int8": 1, "float16": 2, "float32": 4}


def distance_bytes(spec: Conv2d | Pool2d, run: int) -> int | None:
    """Bytes, where `run` output positions (of all images, one after the other) are computed from
    the first to the last before any later one; None if that saves nothing. A run begins at any
    row, and where there is no window at any position.

    Whatever a run writes must lie before the first byte that its windows, or later ones, read.
    """
    channels = spec.k if isinstance(spec, Conv2d) else spec.c
    count = spec.n * spec.oh * spec.ow
    most = max(min(first + run, count) * channels - _least_read(spec, first) * spec.c
               for first in range(0, count, 1 if _pointwise(spec) else spec.ow))
    return most * ITEM_BYTES[spec.dtype] if most < count * channels else None


def same_place(spec: Conv2d) -> bool:
    """Whether every output position lies on the input position in the middle of its window."""
    return (spec.strides == (1, 1) and (spec.oh, spec.ow, spec.k) == (spec.h, spec.w, spec.c)
            and not spec.residual)


def _least_read(spec: Conv2d | Pool2d, position: int) -> int:
    """An input position before which neither the window of an output position reads nor those of
    later ones."""
    if _pointwise(spec):
        return position
    image, y = divmod(position // spec.ow, spec.oh)
    line = min(max(y * spec.strides[0] - spec.pads[0], 0), spec.h)
    return (image * spec.h + line) * spec.w


def _pointwise(spec: Conv2d | Pool2d) -> bool:
    return (spec.kh, spec.kw) == spec.strides == (1, 1) and not any(spec.pads)
