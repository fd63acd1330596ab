"""QuantizeLinear and DequantizeLinear. Activations end up int8, weights int8 around zero.

uint8 activations become int8 by shifting data and zero point by 128: the same real numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgecc.schedule.operators import operator
from edgecc.schedule.operators.weights import DTYPES, along, weights_of
from edgecc.schedule.ops import Constant, Convert, Dequantize, Quantize, Recentre, Tensor
from edgecc.schedule.program import Quantization
from edgecc.schedule.reader import Node


@operator("QuantizeLinear")
def quantize_linear(node: Node) -> None:
    scale, zero, dtype = _parameters(node)
    axis = node.attribute("axis", 1)
    node.attribute("saturate")
    if node.is_constant(0) and not node.attribute("block_size", 0):
        node.emit_constant(Constant(_quantized(node, scale, zero, axis)))
        return
    x = node.float_tensor()
    if x.dtype != "float32":
        x = node.emit(Convert, [x.name], x.shape, last=False, dtype="float32")
    quantization = _per_tensor(node, scale, zero, dtype)
    node.emit(Quantize, [x.name], x.shape, dtype="int8", quantization=quantization)
    if dtype == "uint8":
        node.building.unsigned.add(node.output)


def _parameters(node: Node) -> tuple[np.ndarray, np.ndarray, str]:
    """Scale (float32), zero point (int64) and the integer dtype."""
    scale = node.numbers(1)
    zero = node.numbers(2) if node.has(2) else None
    declared = node.attribute("output_dtype", 0)
    dtype = "uint8" if zero is None else zero.dtype.name
    if zero is None and declared:
        dtype = {2: "uint8", 3: "int8"}.get(declared, f"type {declared}")
    zero = np.zeros(scale.shape, np.int64) if zero is None else zero.astype(np.int64)
    if scale.dtype != np.float32 or not np.all(np.isfinite(scale) & (scale > 0)):
        node.refuse("scales must be finite, positive numbers, float32 or float16")
    return scale, zero, dtype


def _per_tensor(node: Node, scale: np.ndarray, zero: np.ndarray, dtype: str) -> Quantization:
    if node.attribute("block_size", 0):
        node.refuse("blocked quantization of what is computed is not supported",
                    "use one scale per tensor")
    if dtype not in DTYPES:
        node.refuse(f"activations of {dtype} are not supported", "quantize to int8 or uint8")
    if scale.size != 1 or zero.size != 1:
        node.refuse("activations need one scale per tensor")
    shift = 128 if dtype == "uint8" else 0
    return Quantization(float(scale.reshape(-1)[0]), int(zero.reshape(-1)[0]) - shift)


def _quantized(node: Node, scale: np.ndarray, zero: np.ndarray, axis: int) -> np.ndarray:
    x = node.numbers(0).astype(np.float32)
    dtype = node.numbers(2).dtype if node.has(2) else np.dtype("uint8")
    limits = np.iinfo(dtype)
    rounded = np.rint(x / along(scale, axis, x.ndim)) + along(zero, axis, x.ndim)
    return np.clip(rounded, limits.min, limits.max).astype(dtype)


@operator("DequantizeLinear")
def dequantize_linear(node: Node) -> None:
    scale, zero, _ = _parameters(node)
    axis = int(node.attribute("axis", 1))
    if node.is_constant(0):
        node.emit_constant(weights_of(node, scale, zero, axis))
        return
    x, real = node.tensor(), "float16" if node.constant(1).half else "float32"
    if x.dtype == "uint8":
        dequantize_bytes(node, x, _per_tensor(node, scale, zero, "uint8"), real)
        return
    if x.dtype != "int8":
        node.refuse(f"input {x.name} is {x.dtype}, integers are needed")
    unsigned = is_unsigned(node, x)
    quantization = _per_tensor(node, scale, zero, "uint8" if unsigned else "int8")
    if x.quantization is None:
        _assign(node, x, quantization)
    elif x.quantization != quantization:
        node.refuse("scale or zero point differ from those that the input was quantized with")
    _dequantize(node, x, real)


def is_unsigned(node: Node, x: Tensor) -> bool:
    """Whether the integers were uint8 in the model: followed through views."""
    producers = {op.output: op for op in node.building.ops}
    name = x.name
    while name not in node.building.unsigned and name in producers and producers[name].inputs:
        if isinstance(producers[name], Quantize):
            return False
        name = producers[name].inputs[0]
    return name in node.building.unsigned


def _assign(node: Node, x: Tensor, quantization: Quantization) -> None:
    """Give an int8 model input, and what was made from it without arithmetic, its parameters."""
    producers = {op.output: op for op in node.building.ops}
    name: str | None = x.name
    while name is not None:
        tensor = node.building.tensors[name]
        if tensor.quantization not in (None, quantization):
            node.refuse(f"{name} is dequantized with different scales or zero points")
        node.building.tensors[name] = replace(tensor, quantization=quantization)
        name = producers[name].inputs[0] if name in producers else None


def dequantize_bytes(node: Node, x: Tensor, quantization: Quantization,
                     real: str = "float32") -> None:
    """Of a tensor that is uint8 here too: a model input, or a view of one."""
    centred = node.emit(Recentre, [x.name], x.shape, last=False, dtype="int8",
                        quantization=quantization)
    _dequantize(node, centred, real)


def _dequantize(node: Node, x: Tensor, real: str) -> None:
    """int8 to float32, and on to float16."""
    wide = node.emit(Dequantize, [x.name], x.shape, last=real == "float32")
    if real != "float32":
        node.emit(Convert, [wide.name], x.shape, dtype=real)
