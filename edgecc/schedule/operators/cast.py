"""Cast of what was float before, or will be: bytes and truth to float32."""

from __future__ import annotations

import numpy as np

from edgecc.schedule.math_ops import Choose
from edgecc.schedule.operators import operator
from edgecc.schedule.operators.quantization import dequantize_bytes
from edgecc.schedule.program import Quantization
from edgecc.schedule.reader import Node

FLOAT = 1  # onnx.TensorProto.FLOAT
PIXELS = Quantization(1.0, -128)


@operator("Cast")
def cast(node: Node) -> None:
    to, x = node.attribute("to"), node.tensor()
    node.attribute("saturate")
    node.attribute("round_mode")
    if to == FLOAT and x.dtype == "float32":
        node.alias(x)
    elif to == FLOAT and x.dtype == "bool":
        one, zero = (node.fixed(f"float.{value}", np.full((), value, np.float32))
                     for value in (1, 0))
        node.emit(Choose, [x.name, one.name, zero.name], x.shape)
    elif to == FLOAT and x.dtype == "uint8":
        dequantize_bytes(node, x, PIXELS)
    else:
        node.refuse(f"a Cast of {x.dtype} to type {to} is not supported",
                    "cast uint8 or bool to float32, or leave the Cast outside the model")
