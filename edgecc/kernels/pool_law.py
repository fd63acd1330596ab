"""The law of float average pools: float32 sums in the order in which kernels add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.kernels.spec import Pool2d


def averaged(spec: Pool2d, inputs: Sequence[np.ndarray],
             constants: Mapping[str, Any]) -> list[np.ndarray]:
    """Along the window, row by row, from 0, times the rounded 1 / count; every step in float32."""
    from edgecc.kernels.reference import pool_counts, windows

    x = np.asarray(inputs[0]).astype(np.float32).reshape(spec.n, spec.h, spec.w, spec.c)
    taps = windows(x, spec, np.float32(0)).reshape(
        spec.n, spec.oh, spec.ow, spec.kh * spec.kw, spec.c)
    totals = np.zeros((spec.n, spec.oh, spec.ow, spec.c), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for tap in range(spec.kh * spec.kw):
            totals += taps[:, :, :, tap]
        share = np.float32(1) / pool_counts(spec).astype(np.float32)
        return [(totals * share[None, :, :, None]).astype(spec.dtype)]
