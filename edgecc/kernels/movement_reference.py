"""References of the operators that move elements: part of the law in `edgecc.kernels.reference`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.kernels.movement_spec import FILL, Fixed, Interpolate, Take

Constants = Mapping[str, Any]


def axis_indices(spec: Take, constants: Constants) -> list[np.ndarray]:
    """The index table of every axis."""
    tables, at, found = np.asarray(constants["tables"]), 0, []
    for axis in spec.axes:
        if isinstance(axis, int):
            found.append(tables[at:at + axis])
            at += axis
        else:
            found.append(np.concatenate([segment.indices() for segment in axis]))
    return found


def take(spec: Take, inputs: Sequence[np.ndarray], constants: Constants) -> list[np.ndarray]:
    """Elements by one index per axis, filled where an index says so."""
    y = np.asarray(inputs[0]).reshape(spec.shape)
    filled = np.zeros((1,) * y.ndim, bool)
    for axis, indices in enumerate(axis_indices(spec, constants)):
        y = np.take(y, np.maximum(indices, 0), axis)
        shape = [-1 if i == axis else 1 for i in range(y.ndim)]
        filled = filled | (indices == FILL).reshape(shape)
    return [np.where(filled, np.asarray(constants["fill"], y.dtype), y)]


def interpolate(
    spec: Interpolate, inputs: Sequence[np.ndarray], constants: Constants
) -> list[np.ndarray]:
    """Sums of weighted taps: one rounding in the end, sums of float32 in int8."""
    x = np.asarray(inputs[0]).reshape(spec.n, spec.h, spec.w, spec.c)
    kind: Any = np.float32 if spec.dtype == "int8" else np.float64
    if spec.dtype == "int8":
        x = x.astype(np.int32) - int(constants["input_zero_point"])
    rows, columns = np.asarray(constants["rows"]), np.asarray(constants["columns"])
    sums = np.zeros((spec.n, spec.oh, spec.ow, spec.c), kind)
    for i in range(spec.taps[0]):
        for j in range(spec.taps[1]):
            weight = _weights(constants, i, j).astype(kind)[None, :, :, None]
            sums = sums + x[:, rows[:, i]][:, :, columns[:, j]].astype(kind) * weight
    if spec.dtype == "float32":
        return [sums.astype(np.float32)]
    from edgecc.kernels.reference import saturate

    return [saturate(sums, constants["output_zero_point"])]


def _weights(constants: Constants, i: int, j: int) -> np.ndarray:
    """float32 (oh, ow): the weights of one row tap and one column tap."""
    rows = np.asarray(constants["row_weights"], np.float32)[:, i]
    return rows[:, None] * np.asarray(constants["column_weights"], np.float32)[None, :, j]


def fixed(spec: Fixed, inputs: Sequence[np.ndarray], constants: Constants) -> list[np.ndarray]:
    return [np.asarray(constants["values"]).reshape(spec.size)]


REFERENCES: dict[str, Callable[..., list[np.ndarray]]] = {
    "take": take, "interpolate": interpolate, "fixed": fixed,
}
