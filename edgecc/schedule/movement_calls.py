"""Spec and constants of the operators in moves.py."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from edgecc.kernels.movement_spec import Fixed as FixedSpec
from edgecc.kernels.movement_spec import Interpolate as InterpolateSpec
from edgecc.kernels.taking import take_of
from edgecc.schedule.arrange import Arranged
from edgecc.schedule.movement_layout import interpolated_order
from edgecc.schedule.moves import Fixed, Interpolate, Take, stored_fill
from edgecc.schedule.numbers import Call, quantization
from edgecc.schedule.ops import Op, Tensor
from edgecc.schedule.storage import Stored, stored


def selection(arranged: Arranged, op: Take) -> Stored:
    """What a selection is in memory."""
    x = arranged.tensor(op.inputs[0])
    found = stored(arranged.layouts[x.name], x.shape, op.indices)
    assert found is not None, "arrange gives selections a layout that they can be read from"
    return found


def _take(arranged: Arranged, op: Take) -> Call:
    y, found = arranged.tensor(op.output), selection(arranged, op)
    spec, constants = take_of(y.dtype, found.sizes, found.tables, stored_fill(op, y))
    return Call(spec, constants, (spec.shape,), spec.output_shape)


def _interpolate(arranged: Arranged, op: Interpolate) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    order = interpolated_order(op, len(x.shape))
    at = order.index(op.axes[0])
    n, c = (prod(x.shape[i] for i in part) for part in (order[:at], order[at + 2:]))
    (h, w), (oh, ow) = ([t.shape[i] for i in op.axes] for t in (x, y))
    high, wide = op.indices
    spec = InterpolateSpec(y.dtype, n, h, w, c, oh, ow, (high.shape[1], wide.shape[1]))
    return Call(spec, _taps(op, x, y), ((n, h, w, c),), (n, oh, ow, c))


def _taps(op: Interpolate, x: Tensor, y: Tensor) -> dict[str, Any]:
    row_weights, column_weights = (w.astype(np.float32) for w in op.weights)
    rows, columns = (i.astype(np.int32) for i in op.indices)
    zero = {}
    if y.dtype == "int8":
        zx, zy = quantization(x), quantization(y)
        row_weights = row_weights * (np.float32(zx.scale) / np.float32(zy.scale))
        zero = {"input_zero_point": zx.zero_point, "output_zero_point": zy.zero_point}
    return {"rows": rows, "row_weights": row_weights, "columns": columns,
            "column_weights": column_weights, **zero}


def _fixed(arranged: Arranged, op: Fixed) -> Call:
    y = arranged.tensor(op.output)
    layout = arranged.layouts[y.name]
    values = op.values.reshape(layout.atoms).transpose(layout.order).reshape(-1)
    return Call(FixedSpec(y.dtype, y.size), {"values": values.astype(y.dtype)}, (), (y.size,))


CALLS: dict[type[Op], Callable[[Arranged, Any], Call]] = {
    Take: _take, Interpolate: _interpolate, Fixed: _fixed,
}
