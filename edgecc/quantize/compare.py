"""Signal to quantization noise, and how often two models give the same answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from edgecc.errors import QuantizationError
from edgecc.model import oracle

EXACT_DB = 160.0  # stands for equality: float32 itself does not go beyond


class Noise:
    """Accumulates signal and noise power over samples."""

    def __init__(self) -> None:
        self.signal = self.noise = 0.0

    def see(self, reference: np.ndarray, other: np.ndarray) -> None:
        exact, found = reference.astype(np.float64), other.astype(np.float64)
        differ = exact != found  # equal infinities are no noise
        self.signal += float(np.sum(exact[np.isfinite(exact)] ** 2))
        with np.errstate(invalid="ignore"):
            self.noise += float(np.sum((exact[differ] - found[differ]) ** 2))

    @property
    def db(self) -> float:
        """Ratio in dB within ±EXACT_DB; a silent signal with noise is 0 dB, a new NaN or
        infinity is -EXACT_DB."""
        if self.noise == 0.0:
            return EXACT_DB
        if not np.isfinite(self.noise):
            return -EXACT_DB
        if self.signal == 0.0:
            return 0.0
        ratio = 10 * (np.log10(self.signal) - np.log10(self.noise))
        return float(np.clip(ratio, -EXACT_DB, EXACT_DB))


def agreement(
    float_model: ir.Model, quantized_model: ir.Model, feeds: Iterable[Mapping[str, np.ndarray]]
) -> dict[str, Any]:
    """See `edgecc.quantize.agreement`. `top1` is None where there is nothing to choose from.

    Raises: QuantizationError if there are no feeds.
    """
    first, second = oracle.session(float_model), oracle.session(quantized_model)
    noise, same, rows, samples = Noise(), 0, 0, 0
    for sample in feeds:
        expected, found = first.run(None, dict(sample)), second.run(None, dict(sample))
        for a, b in zip(expected, found, strict=True):
            noise.see(a, b)
        best, other = _choices(expected[0]), _choices(found[0])
        same, rows = same + int(np.sum(best == other)), rows + len(best)
        samples += 1
    if not samples:
        raise QuantizationError("no samples to compare on", needed="1 sample", available="0")
    return {"samples": samples, "top1": same / rows if rows else None, "output_sqnr_db": noise.db}


def _choices(output: np.ndarray) -> np.ndarray:
    """Index of the largest element along the last axis, for every row."""
    if not output.ndim or output.shape[-1] < 2:
        return np.zeros(0, np.int64)
    return output.reshape(-1, output.shape[-1]).argmax(axis=1)
