"""Constants behind DequantizeLinear: integers around zero, or 4-bit codes in groups, and the real
numbers that they stand for."""

from __future__ import annotations

import numpy as np

from edgecc.schedule.grouped import FOUR_BITS, Grouped, of_quantized
from edgecc.schedule.ops import Constant
from edgecc.schedule.reader import Node

DTYPES = ("int8", "uint8")


def along(values: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """Per-axis parameters shaped to broadcast."""
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def weights_of(node: Node, scale: np.ndarray, zero: np.ndarray, axis: int) -> Constant:
    """The node's constant input, dequantized."""
    block = int(node.attribute("block_size", 0))
    dtype = node.numbers(0).dtype.name
    if dtype in FOUR_BITS:
        return _in_four_bits(node, scale, zero, axis, block)
    if block:
        return _blocked(node, scale, zero, axis, block)
    return _by_axis(node, scale, zero, axis)


def _by_axis(node: Node, scale: np.ndarray, zero: np.ndarray, axis: int) -> Constant:
    """Integers around zero: int8 where they fit, else int32."""
    raw = node.numbers(0)
    if raw.dtype.name not in (*DTYPES, *FOUR_BITS, "int32"):
        node.refuse(f"constants of {raw.dtype.name} are not supported", "use int4, int8 or uint8")
    centred = raw.astype(np.int64) - along(zero, axis, raw.ndim)
    real = centred.astype(np.float32) * along(scale, axis, raw.ndim)
    fits = centred.min(initial=0) >= -128 and centred.max(initial=0) <= 127
    kind = np.int8 if fits and raw.dtype.name != "int32" else np.int32
    return Constant(real, centred.astype(kind), scale.reshape(-1),
                    axis % raw.ndim if scale.size > 1 else None, node.constant(1).half)


def _in_four_bits(node: Node, scale: np.ndarray, zero: np.ndarray, axis: int,
                  block: int) -> Constant:
    raw, half = node.numbers(0), node.constant(1).half
    if block:
        real = _blocked(node, scale, zero, axis, block).real
        if raw.ndim != 2:
            return Constant(real, half=half)
        return Constant(real, half=half,
                        grouped=of_quantized(raw, scale, zero, axis % 2, block))
    value = _by_axis(node, scale, zero, axis)
    if raw.ndim != 2:
        return value
    channels = 0 if scale.size == 1 else axis % 2  # one scale per index of this axis
    shape = (-1, 1) if channels == 0 else (1, -1)
    scales, zeros = (np.broadcast_to(v.reshape(-1), raw.shape[channels]).reshape(shape)
                     for v in (scale, zero))
    grouped = of_quantized(raw, scales, zeros, 1 - channels, raw.shape[1 - channels])
    return Constant(value.real, value.integers, value.scale, value.axis, half, grouped)


def _blocked(node: Node, scale: np.ndarray, zero: np.ndarray, axis: int, block: int) -> Constant:
    """The real numbers where `block` neighbours along an axis share scale and zero."""
    raw = node.numbers(0)
    axis %= raw.ndim
    blocks = [-(-n // block) if i == axis else n for i, n in enumerate(raw.shape)]
    for what, shape in (("scales", scale.shape), ("zero points", zero.shape)):
        if list(shape) != blocks:
            node.refuse(f"{what} of shape {tuple(shape)} are not those of blocks of {block} along "
                        f"axis {axis} of {raw.shape}: {tuple(blocks)}")
    wide = [np.repeat(v, block, axis=axis).take(range(raw.shape[axis]), axis=axis)
            for v in (zero, scale)]
    real = (raw.astype(np.int64) - wide[0]).astype(np.float32) * wide[1]
    return Constant(real, half=node.constant(1).half)


def nbits(node: Node, k: int, n: int, block: int) -> Grouped:
    """The weights of MatMulNBits: inputs 1 to 3 of the node."""
    from edgecc.schedule.grouped import of_bytes

    packed, scales, groups = node.numbers(1), node.numbers(2), -(-k // block)
    _sized(node, "B", packed, n * groups * block // 2)
    _sized(node, "scales", scales, n * groups)
    zeros = node.numbers(3) if node.has(3) else None
    if zeros is not None and zeros.dtype != np.uint8:
        zeros = _packed_zeros(node, zeros, n, groups)
    if zeros is not None:
        _sized(node, "zero_points", zeros, n * -(-groups // 2))
    return of_bytes(packed.reshape(n, groups, -1), scales.reshape(n, groups), zeros, k, block)


def _sized(node: Node, name: str, values: np.ndarray, size: int) -> None:
    if values.size != size:
        node.refuse(f"{name} has {values.size} elements, {size} are needed")


def _packed_zeros(node: Node, zeros: np.ndarray, n: int, groups: int) -> np.ndarray:
    """Zero points that are numbers of their own, as bytes of two codes."""
    _sized(node, "zero_points", zeros, n * groups)
    codes = np.zeros((n, groups + groups % 2), np.uint8)
    whole = np.clip(np.rint(zeros), 0, 15)
    if (whole != zeros).any():
        node.refuse("zero points are not whole numbers from 0 to 15",
                    "quantize with integer zero points")
    codes[:, :groups] = whole.reshape(n, groups)
    return codes[:, ::2] | codes[:, 1::2] << 4
