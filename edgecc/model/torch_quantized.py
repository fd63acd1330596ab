"""Quantized operations of torch whose ONNX form would lose something.

torch quantizes to [quant_min, quant_max], which may be narrower than the integer type: 0 to 127 of
uint8 where a processor's instructions saturate. torch's ONNX exporter leaves the limits out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """What torch.onnx.export takes as its custom_translation_table; nothing where the quantized
    operations are not known, because then no program has them."""
    import torch

    known = getattr(torch.ops.quantized_decomposed, "quantize_per_tensor", None)
    return {} if known is None else {known.default: _quantize_per_tensor}


def _quantize_per_tensor(
    x: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int
) -> Any:
    """A Clip in real numbers before QuantizeLinear where the limits are narrower: the same
    integers, because rounding is monotone."""
    import onnx_ir as ir
    import onnxscript

    op: Any = onnxscript.opset20

    integer = ir.DataType(dtype).numpy()
    limits = np.iinfo(integer)
    if quant_min > limits.min or quant_max < limits.max:
        ends = [np.float32((end - zero_point) * scale) for end in (quant_min, quant_max)]
        x = op.Clip(x, *(op.Constant(value=ir.tensor(end)) for end in ends))
    zero = op.Constant(value=ir.tensor(np.asarray(zero_point, integer)))
    return op.QuantizeLinear(x, op.Constant(value=ir.tensor(np.float32(scale))), zero)
