"""Kernel, stride, dilation and padding attributes of convolutions and pools, made 2-D."""

from __future__ import annotations

from dataclasses import dataclass

from edgecc.schedule.ops import Tensor
from edgecc.schedule.reader import Node


@dataclass(frozen=True)
class Window:
    """2-D attributes; a 1-D operator has height 1. `pads` are top, left, bottom, right."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]


def image_size(node: Node, x: Tensor) -> tuple[int, int]:
    """Height and width of (n, c, w) or (n, c, h, w)."""
    if len(x.shape) not in (3, 4):
        node.refuse(f"input {x.name} has {len(x.shape)} dimensions, 3 or 4 are supported")
    return (1, x.shape[2]) if len(x.shape) == 3 else (x.shape[2], x.shape[3])


def read_window(node: Node, x: Tensor, kernel: tuple[int, ...]) -> Window:
    """The window attributes of `node`. Refuses negative pads and unknown auto_pad."""
    spatial = len(x.shape) - 2
    size = image_size(node, x)
    if len(kernel) != spatial:
        node.refuse(f"kernel {tuple(kernel)} does not fit an input of {spatial} spatial axes")
    window = wide(kernel, 1)
    strides = wide(node.attribute("strides", (1,) * spatial), 1)
    dilations = wide(node.attribute("dilations", (1,) * spatial), 1)
    pads = _pads(node, size, window, strides, dilations, spatial)
    if min((*strides, *dilations, *window)) < 1 or min(pads) < 0:
        node.refuse("kernel, strides and dilations must be positive, pads not negative")
    return Window(window, strides, dilations, pads)


def wide(values, fill: int) -> tuple[int, int]:
    values = tuple(int(v) for v in values)
    return (fill, values[0]) if len(values) == 1 else (values[0], values[1])


def _pads(node, size, kernel, strides, dilations, spatial) -> tuple[int, int, int, int]:
    auto = node.attribute("auto_pad", "NOTSET")
    given = tuple(int(p) for p in node.attribute("pads", (0,) * (2 * spatial)))
    if auto == "NOTSET":
        return (0, given[0], 0, given[1]) if spatial == 1 else given  # type: ignore[return-value]
    if auto == "VALID":
        return (0, 0, 0, 0)
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        node.refuse(f"auto_pad {auto!r} is unknown")
    pairs = []
    for n, k, s, d in zip(size, kernel, strides, dilations, strict=True):
        total = max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n)
        small, large = total // 2, total - total // 2
        pairs.append((small, large) if auto == "SAME_UPPER" else (large, small))
    (top, bottom), (left, right) = pairs
    return top, left, bottom, right


def output_shape(x: Tensor, channels: int, oh: int, ow: int) -> tuple[int, ...]:
    return (x.shape[0], channels, ow) if len(x.shape) == 3 else (x.shape[0], channels, oh, ow)
