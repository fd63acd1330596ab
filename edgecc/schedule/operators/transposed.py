"""ConvTranspose, 1-D and 2-D."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from edgecc.schedule.math_ops import ConvTranspose
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.windows import image_size, output_shape, wide
from edgecc.schedule.ops import Constant, Tensor
from edgecc.schedule.reader import Node

Pair = tuple[int, int]


@operator("ConvTranspose")
def conv_transpose(node: Node) -> None:
    x, weights, bias = node.float_tensor(0), node.constant(1), node.optional_constant(2)
    groups, spatial = int(node.attribute("group", 1)), len(x.shape) - 2
    image_size(node, x)
    if weights.real.ndim != spatial + 2:
        node.refuse(f"weights {weights.real.shape} do not fit an input of {spatial} spatial axes")
    if weights.real.shape[0] != x.shape[1] or x.shape[1] % groups:
        node.refuse(f"weights {weights.real.shape} in {groups} groups do not fit "
                    f"{x.shape[1]} input channels")
    strides = wide(node.attribute("strides", (1,) * spatial), 1)
    dilations = wide(node.attribute("dilations", (1,) * spatial), 1)
    if min((*strides, *dilations)) < 1:
        node.refuse("strides and dilations must be positive")
    kernel = wide(node.attribute("kernel_shape", weights.real.shape[2:]), 1)
    size, pads = _size(node, x, kernel, strides, dilations)
    stored = output_major(weights, groups)
    shape = output_shape(x, stored.real.shape[0], *size)
    node.emit(ConvTranspose, [x.name], shape, weights=stored, bias=bias, strides=strides,
              dilations=dilations, pads=pads, groups=groups)


def _size(node: Node, x: Tensor, kernel: Pair, strides: Pair,
          dilations: Pair) -> tuple[Pair, Pair]:
    """Height and width of the output, and the padding at top and left."""
    spatial = len(x.shape) - 2
    extra = wide(node.attribute("output_padding", (0,) * spatial), 0)
    auto, wanted = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape")
    given = tuple(int(p) for p in node.attribute("pads", (0,) * (2 * spatial)))
    pads = (0, given[0], 0, given[1]) if spatial == 1 else given
    if auto not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        node.refuse(f"auto_pad {auto!r} is unknown")
    sizes, before = [], []
    target = None if wanted is None else wide(wanted, 1)
    for i, n in enumerate(image_size(node, x)):
        full = strides[i] * (n - 1) + extra[i] + dilations[i] * (kernel[i] - 1) + 1
        if target is not None or auto.startswith("SAME"):
            out = n * strides[i] if target is None else target[i]
            total = max(0, full - out)
            first = total - total // 2 if auto != "SAME_UPPER" else total // 2
        else:
            first, last = (0, 0) if auto == "VALID" else (pads[i], pads[i + 2])
            out = full - first - last
        sizes.append(int(out))
        before.append(int(first))
    if min(before) < 0 or min(pads) < 0:
        node.refuse("pads must not be negative")
    return tuple(sizes), tuple(before)  # type: ignore[return-value]


def output_major(weights: Constant, groups: int) -> Constant:
    """(c, k / groups, kh, kw) as (k, c / groups, kh, kw), quantization included."""

    def moved(values: np.ndarray) -> np.ndarray:
        c, per_group, *window = values.shape
        if len(window) == 1:
            window = [1, *window]
        split = values.reshape(groups, c // groups, per_group, *window)
        return split.swapaxes(1, 2).reshape(groups * per_group, c // groups, *window)

    if weights.integers is None or weights.scale is None:
        return Constant(moved(weights.real))
    changes: dict[str, Any] = {"real": moved(weights.real), "integers": moved(weights.integers)}
    if weights.axis == 1:  # the channels of every group share the scales
        changes |= {"scale": np.tile(weights.scale, groups), "axis": 0}
    elif weights.axis is not None:
        changes["axis"] = weights.axis + 1  # of the input: to_int8 says why not
    return replace(weights, **changes)
