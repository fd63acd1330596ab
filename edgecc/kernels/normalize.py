"""Layer, instance and group normalization of (outer, n, groups, m).

Sums first, then the deviations from the mean: in float32 by a second pass, in int8 exactly in
integers. Rows (n = 1) run in vectors along m; images in vectors of channels, whose sums wait in
scratch until their group's are together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import across, header
from edgecc.kernels.math_spec import Normalize
from edgecc.kernels.normalize_float import FloatForm
from edgecc.kernels.normalize_int8 import Int8Form
from edgecc.kernels.registry import KernelRecord

MOST_EXACT = 33025  # values whose squares an int32 holds: 255^2 * 33025 < 2^31


def accepts_int8(spec: Normalize) -> str | None:
    if spec.count > MOST_EXACT:
        return f"squares of {spec.count:,} values do not fit int32, {MOST_EXACT:,} do"
    return None


def pack_int8(spec: Normalize, constants: Mapping[str, Any]) -> np.ndarray:
    """Zero points, floor; then scale and shift."""
    front = header(int(constants["input_zero_point"]), int(constants["output_zero_point"]),
                   np.float32(constants["floor"]), 0)
    return _packed(front, constants)


def pack_float(spec: Normalize, constants: Mapping[str, Any]) -> np.ndarray:
    return _packed(header(np.float32(constants["epsilon"]), 0, 0, 0), constants)


def _packed(front: np.ndarray, constants: Mapping[str, Any]) -> np.ndarray:
    rows = [np.ascontiguousarray(constants[name], np.float32).view(np.uint8)
            for name in ("scale", "shift")]
    return np.concatenate([front, *rows])


def scratch_words(spec: Normalize) -> int:
    """Images: two words for every channel; rows need none."""
    return 0 if spec.n == 1 else 2 * spec.groups * spec.m


def build(spec: Normalize, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    operand = [(spec.dtype, spec.size)]
    words = scratch_words(spec)
    kind = "int32" if spec.dtype == "int8" else "float32"
    with tir.kernel(symbol, inputs=operand, outputs=operand, weights=True,
                    scratch=(kind, words) if words else None, may_alias=True) as k:
        form = Int8Form if spec.dtype == "int8" else FloatForm
        work = form(k, spec, target)
        with tir.loop(k.begin, k.end) as line:
            (_row if spec.n == 1 else _image)(work, line)
    return k.func


def _row(work: Any, line: Any) -> None:
    """One row of m values; its constants are those of its group."""
    from edgecc.kernels import tir

    spec = work.spec
    first = tir.let(line * spec.m)
    own = tir.let(line % spec.groups * spec.m)
    work.measure_row(first)

    def finish(at: Any, n: int) -> None:
        scale, shift = work.constant_rows(own + at, n)
        tir.store(work.k.outputs[0], first + at, work.finished(first + at, scale, shift, n), n)

    across(spec.m, work.lanes, finish)


def _image(work: Any, line: Any) -> None:
    """One image: sums of every channel, joined into those of its group, then the output."""
    from edgecc.kernels import tir

    spec, c = work.spec, work.channels
    first = tir.let(line * (spec.n * c))
    work.measure_image(first)
    with tir.loop(0, spec.n) as i:
        def finish(at: Any, n: int) -> None:
            scale, shift = work.constant_rows(at, n)
            place = first + i * c + at
            tir.store(work.k.outputs[0], place, work.finished_at(place, at, scale, shift, n), n)

        across(c, work.lanes, finish)


def extent(spec: Normalize) -> int:
    return spec.outer * spec.groups if spec.n == 1 else spec.outer


def _record(dtype: str, accepts: Any, pack: Any, per_value: float) -> KernelRecord:
    return KernelRecord(
        f"{dtype}_normalize_vector__generic", "normalize", dtype, frozenset(), accepts,
        lambda spec: 60 + 60 * extent(spec) + per_value * spec.size, extent, pack, build,
        scratch_bytes=lambda spec: 4 * scratch_words(spec), fast=True)


KERNELS = (
    _record("int8", accepts_int8, pack_int8, 5.0),
    _record("float32", lambda spec: None, pack_float, 2.0),
)
