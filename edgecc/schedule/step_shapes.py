"""What views and constants every spec has, for the judge: read off the specs alone."""

from __future__ import annotations

from edgecc.kernels import movement_spec as moving
from edgecc.kernels import spec as specs
from edgecc.kernels.functions import PARAMETERS
from edgecc.kernels.grouped_spec import GroupedProduct
from edgecc.kernels.math_spec import Broadcast
from edgecc.schedule import math_shapes

Views = list[tuple[str, tuple[int, ...]]]
Expected = dict[str, tuple[str, tuple[int, ...]]]
VALUE: tuple[str, tuple[int, ...]] = ("int8 value", ())  # an integer that fits int8
REAL: tuple[str, tuple[int, ...]] = ("float32", ())


def expected_views(spec: specs.Spec) -> tuple[Views, Views]:
    """(dtype, shape) of the inputs and outputs; one number where only the size matters."""
    if (found := math_shapes.views(spec)) is not None:
        return found
    if isinstance(spec, specs.Conv2d):
        out = (spec.n, spec.oh, spec.ow, spec.k)
        return _with_residual(spec, (spec.n, spec.h, spec.w, spec.c), out)
    if isinstance(spec, specs.FullyConnected | GroupedProduct):
        return _with_residual(spec, (spec.m, spec.k), (spec.m, spec.n))
    if isinstance(spec, specs.Pool2d):
        return ([(spec.dtype, (spec.n, spec.h, spec.w, spec.c))],
                [(spec.dtype, (spec.n, spec.oh, spec.ow, spec.c))])
    if isinstance(spec, specs.Softmax):
        return _same(spec.dtype, (spec.rows, spec.n))
    if isinstance(spec, specs.Binary):
        other = {"same": spec.size, "channel": spec.channels, "scalar": 1}[spec.broadcast]
        return ([(spec.dtype, (spec.size,)), (spec.dtype, (other,))], [(spec.dtype, (spec.size,))])
    if isinstance(spec, specs.Transpose):
        turned = tuple(spec.shape[i] for i in spec.permutation)
        return [(spec.dtype, spec.shape)], [(spec.dtype, turned)]
    if isinstance(spec, specs.Quantize):
        return [("float32", (spec.size,))], [("int8", (spec.size,))]
    if isinstance(spec, specs.Recentre):
        return [("uint8", (spec.size,))], [("int8", (spec.size,))]
    if isinstance(spec, specs.Dequantize):
        return [("int8", (spec.size,))], [("float32", (spec.size,))]
    if isinstance(spec, specs.Convert):
        return [(spec.dtype, (spec.size,))], [(spec.to, (spec.size,))]
    if isinstance(spec, moving.Take):
        return [(spec.dtype, spec.shape)], [(spec.dtype, spec.output_shape)]
    if isinstance(spec, moving.Interpolate):
        return ([(spec.dtype, (spec.n, spec.h, spec.w, spec.c))],
                [(spec.dtype, (spec.n, spec.oh, spec.ow, spec.c))])
    if isinstance(spec, moving.Fixed):
        return [], [(spec.dtype, (spec.size,))]
    assert isinstance(spec, specs.Table | specs.Unary), f"unknown spec {spec.text()}"
    return _same(spec.dtype, (spec.size,))


def _same(dtype: str, shape: tuple[int, ...]) -> tuple[Views, Views]:
    return [(dtype, shape)], [(dtype, shape)]


def _with_residual(spec, source: tuple[int, ...], out: tuple[int, ...]) -> tuple[Views, Views]:
    inputs = [(spec.dtype, source)] + ([(spec.dtype, out)] if spec.residual else [])
    return inputs, [(spec.dtype, out)]


def expected_constants(spec: specs.Spec) -> Expected:
    """dtype and shape of every constant that reference and pack read."""
    if isinstance(spec, specs.Conv2d):
        per_group = spec.c // spec.groups
        return _weighted(spec, (spec.k, spec.kh, spec.kw, per_group), spec.k)
    if isinstance(spec, specs.FullyConnected):
        return _weighted(spec, (spec.n, spec.k), spec.n)
    if isinstance(spec, GroupedProduct):
        groups = (spec.n, spec.groups)
        return {"weights": ("uint8", (spec.n, spec.k)), "scales": ("float32", groups),
                "zeros": ("uint8", groups), "bias": ("float32", (spec.n,)), "lo": REAL, "hi": REAL}
    if isinstance(spec, specs.Pool2d):
        average = {"input_scale": REAL, "output_scale": REAL, "input_zero_point": VALUE,
                   "output_zero_point": VALUE, "lo": VALUE, "hi": VALUE}
        return average if spec.dtype == "int8" and spec.kind == "average" else {}
    if isinstance(spec, specs.Softmax):
        return {"input_scale": REAL, "output_scale": REAL, "inverse_output_scale": REAL,
                "output_zero_point": VALUE, "table": ("int32", (256,))} if (
                    spec.dtype == "int8") else {}
    if isinstance(spec, specs.Binary | Broadcast):
        return _binary(spec)
    if isinstance(spec, specs.Table):
        return {"table": ("int8", (256,))}
    if isinstance(spec, specs.Quantize | specs.Dequantize):
        return {"scale": REAL, "zero_point": VALUE}
    if isinstance(spec, moving.Take | moving.Interpolate | moving.Fixed):
        return _moved(spec)
    if isinstance(spec, specs.Unary):
        return dict.fromkeys(PARAMETERS.get(spec.kind, ()), REAL)
    return math_shapes.constants(spec)


def _weighted(spec, weights: tuple[int, ...], count: int) -> Expected:
    if specs.is_real(spec.dtype):
        return {"weights": (spec.dtype, weights), "bias": ("float32", (count,)),
                "lo": REAL, "hi": REAL}
    found = {"weights": ("int8", weights), "bias": ("int32", (count,)),
             "scale": ("float32", (count,)), "input_zero_point": VALUE,
             "output_zero_point": VALUE, "lo": VALUE, "hi": VALUE}
    if spec.residual:
        found |= {"inner_zero_point": VALUE, "inner_lo": VALUE, "inner_hi": VALUE,
                  "residual_zero_point": VALUE, "ratio": REAL, "residual_ratio": REAL}
    return found


def _binary(spec: specs.Binary | Broadcast) -> Expected:
    if specs.is_real(spec.dtype):
        return {"lo": REAL, "hi": REAL}
    found = {"ratio": REAL, "a_zero_point": VALUE, "b_zero_point": VALUE,
             "output_zero_point": VALUE, "lo": VALUE, "hi": VALUE}
    return found if spec.kind in ("mul", "div") else {**found, "residual_ratio": REAL}


def _moved(spec) -> Expected:
    if isinstance(spec, moving.Take):
        return {"tables": ("int32", (spec.table_size,)), "fill": (spec.dtype, ())}
    if isinstance(spec, moving.Fixed):
        return {"values": (spec.dtype, (spec.size,))}
    rows, columns = (spec.oh, spec.taps[0]), (spec.ow, spec.taps[1])
    found: Expected = {"rows": ("int32", rows), "row_weights": ("float32", rows),
                       "columns": ("int32", columns), "column_weights": ("float32", columns)}
    zero: Expected = {"input_zero_point": VALUE, "output_zero_point": VALUE}
    return {**found, **zero} if spec.dtype == "int8" else found
