"""What each arranged operator computes: its Call, with constants in storage order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from edgecc.kernels import spec as specs
from edgecc.schedule import layout as lay
from edgecc.schedule import math_calls, movement_calls, numbers
from edgecc.schedule.arrange import Arranged
from edgecc.schedule.numbers import Call, quantization
from edgecc.schedule.ops import (
    Conv,
    Convert,
    Dense,
    Dequantize,
    Lookup,
    Op,
    Pool,
    Quantize,
    Recentre,
    Relayout,
    Softmax,
    Tensor,
    Unary,
)

LABELS = {(0, 2, 3, 1): "NHWC", (0, 2, 1): "NWC", (0, 1, 2, 3): "NCHW", (0, 1, 2): "NCW",
          (0, 1): "NC", (0,): "N"}


def stored_shape(arranged: Arranged, name: str) -> tuple[tuple[int, ...], str]:
    """A tensor's storage as axes with a layout label; flat where an axis is torn."""
    shape = arranged.tensor(name).shape
    order = lay.axis_order(arranged.layouts[name], shape)
    if order is None:
        return (arranged.tensor(name).size,), "flat"
    return tuple(shape[i] for i in order), LABELS.get(order, "ND")


def _residual(arranged: Arranged, op: Op) -> Tensor | None:
    return arranged.tensor(op.inputs[1]) if len(op.inputs) == 2 else None


def _conv(arranged: Arranged, op: Conv) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    return numbers.conv(op, x, y, _residual(arranged, op))


def _dense(arranged: Arranged, op: Dense) -> Call:
    x = arranged.tensor(op.inputs[0])
    order = lay.tail_order(arranged.layouts[x.name], x.shape, (len(x.shape) - 1,))
    assert order is not None, "arrange keeps the summed axis last"
    return numbers.dense(op, x, arranged.tensor(op.output), _residual(arranged, op), order)


def _pool(arranged: Arranged, op: Pool) -> Call:
    return numbers.pool(op, arranged.tensor(op.inputs[0]), arranged.tensor(op.output))


def _softmax(arranged: Arranged, op: Softmax) -> Call:
    x = arranged.tensor(op.inputs[0])
    return numbers.softmax(x, arranged.tensor(op.output), x.shape[op.axis], op.log)


def _elementwise(arranged: Arranged, name: str, spec: specs.Spec, constants: dict) -> Call:
    shape, _ = stored_shape(arranged, name)
    return Call(spec, constants, (shape,), shape)


def _unary(arranged: Arranged, op: Unary) -> Call:
    size = arranged.tensor(op.output).size
    constants = {key: np.float32(value) for key, value in op.numbers.items()}
    spec = specs.Unary(arranged.tensor(op.output).dtype, op.function, size)  # type: ignore
    return _elementwise(arranged, op.output, spec, constants)


def _convert(arranged: Arranged, op: Convert) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    spec = specs.Convert(x.dtype, y.dtype, y.size)  # type: ignore[arg-type]
    return _elementwise(arranged, y.name, spec, {})


def _lookup(arranged: Arranged, op: Lookup) -> Call:
    size = arranged.tensor(op.output).size
    return _elementwise(arranged, op.output, specs.Table("int8", size), {"table": op.table})


def _quantize(arranged: Arranged, op: Quantize) -> Call:
    y = arranged.tensor(op.output)
    return _elementwise(arranged, y.name, specs.Quantize("int8", y.size), _scale(y))


def _recentre(arranged: Arranged, op: Recentre) -> Call:
    y = arranged.tensor(op.output)
    return _elementwise(arranged, y.name, specs.Recentre("int8", y.size), {})


def _dequantize(arranged: Arranged, op: Dequantize) -> Call:
    x = arranged.tensor(op.inputs[0])
    return _elementwise(arranged, x.name, specs.Dequantize("int8", x.size), _scale(x))


def _scale(tensor: Tensor) -> dict[str, Any]:
    q = quantization(tensor)
    return {"scale": np.float32(q.scale), "zero_point": q.zero_point}


def _relayout(arranged: Arranged, op: Relayout) -> Call:
    x = arranged.tensor(op.inputs[0])
    layouts = arranged.layouts
    found = lay.conversion(layouts[x.name], layouts[op.output])
    assert found is not None, "arrange converts in aligned steps"
    shape, permutation = found
    spec = specs.Transpose(x.dtype, shape, permutation)  # type: ignore[arg-type]
    return Call(spec, {}, (shape,), tuple(shape[i] for i in permutation))


def call_of(arranged: Arranged, op: Op) -> Call:
    """Spec, constants and view shapes of any operator but a view or a Concat."""
    return CALLS[type(op)](arranged, op)


CALLS: dict[type[Op], Callable[[Arranged, Any], Call]] = {
    Conv: _conv, Dense: _dense, Pool: _pool, Softmax: _softmax,
    Unary: _unary, Lookup: _lookup, Quantize: _quantize,
    Dequantize: _dequantize, Recentre: _recentre, Relayout: _relayout,
    Convert: _convert, **math_calls.CALLS,
    **movement_calls.CALLS,
}
