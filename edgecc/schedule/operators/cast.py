"""Cast to float32 and float16: of each other, of bytes and of truth."""

from __future__ import annotations

import numpy as np

from edgecc.kernels.spec import is_real
from edgecc.schedule.math_ops import Choose
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.quantization import dequantize_bytes
from edgecc.schedule.ops import Convert
from edgecc.schedule.program import Quantization
from edgecc.schedule.reader import Node

REALS = {1: "float32", 10: "float16"}  # onnx.TensorProto.FLOAT, FLOAT16
PIXELS = Quantization(1.0, -128)


@operator("Cast")
def cast(node: Node) -> None:
    to, x = node.attribute("to"), node.tensor()
    node.attribute("saturate")
    node.attribute("round_mode")
    real = REALS.get(to)
    if real == x.dtype:
        node.alias(x)
    elif real and is_real(x.dtype):
        node.emit(Convert, [x.name], x.shape, dtype=real)
    elif real and x.dtype == "bool":
        one, zero = (node.fixed(f"{real}.{value}", np.full((), value, real)) for value in (1, 0))
        node.emit(Choose, [x.name, one.name, zero.name], x.shape)
    elif real and x.dtype == "uint8":
        dequantize_bytes(node, x, PIXELS, real)
    else:
        node.refuse(f"a Cast of {x.dtype} to type {to} is not supported",
                    "cast uint8, bool, float32 or float16 to float32 or float16, or leave the "
                    "Cast outside the model")
