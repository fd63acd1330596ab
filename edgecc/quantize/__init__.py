"""The quantize verb: a float model and calibration data in, a standard QDQ ONNX model out.

onnx_ir and onnxruntime are imported when a function is called, not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from edgecc.config import CompileConfig
from edgecc.context import Context

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as ir

    from edgecc.quantize.half_report import HalfReport
    from edgecc.quantize.report import QuantReport
    from edgecc.quantize.weight_report import WeightReport

__all__ = ["agreement", "check_quantized", "is_qdq", "quantize", "quantize_weights", "to_float16"]


def quantize(
    model: ir.Model,
    calibration: Any = None,
    *,
    config: CompileConfig | None = None,
    context: Context | None = None,
) -> tuple[ir.Model, QuantReport]:
    """Static INT8 quantization; a model that already is QDQ comes back unchanged.

    `calibration`: an .npz file, a folder of .npy files or of pictures (with
    `config.preprocessing`), a mapping of arrays, or an iterable of samples
    (see `edgecc.quantize.calibration.read`). `config.observer` chooses the range rule.
    Raises: QuantizationError if the calibration data are missing or do not fit the model.
    """
    from edgecc.quantize import quantizer

    return quantizer.quantize(model, calibration, config or CompileConfig(), context or Context())


def quantize_weights(
    model: ir.Model, *, config: CompileConfig | None = None, context: Context | None = None
) -> tuple[ir.Model, WeightReport]:
    """Weights of large matrix products as 4-bit codes in groups (MatMulNBits); no calibration.

    `config.int4_group` weights share a scale; `config.int4_zeros` says whether they also have a
    zero point.
    Raises: QuantizationError if no layer has weights to quantize.
    """
    from edgecc.quantize import int4

    return int4.quantize_weights(model, config or CompileConfig(), context or Context())


def to_float16(
    model: ir.Model, calibration: Any = None, *, config: CompileConfig | None = None,
    context: Context | None = None,
) -> tuple[ir.Model, HalfReport]:
    """A float32 model in float16, with float32 where float16 does not reach.

    `calibration` as in `quantize`, or None: activations are then not checked. Ports stay float32
    but with `config.io` float16.
    Raises: QuantizationError for constants beyond float16, models without float32, QDQ models.
    """
    from edgecc.quantize import half

    return half.to_float16(model, calibration, config or CompileConfig(), context or Context())


def is_qdq(model: ir.Model) -> bool:
    """Whether the model has QuantizeLinear or DequantizeLinear nodes."""
    return any(n.op_type in ("QuantizeLinear", "DequantizeLinear") for n in model.graph)


def check_quantized(model: ir.Model) -> None:
    """Check scales, zero points, bias scales and shared parameters of a quantized model.

    Raises: CheckFailed.
    """
    from edgecc.quantize.check import check_quantized as judge

    judge(model)


def agreement(
    float_model: ir.Model, quantized_model: ir.Model, feeds: Iterable[Mapping[str, np.ndarray]]
) -> dict[str, Any]:
    """How alike two models answer in ONNX Runtime: `samples`, `top1` (fraction of samples whose
    first output has its largest element at the same place) and `output_sqnr_db`."""
    from edgecc.quantize import compare

    return compare.agreement(float_model, quantized_model, feeds)
