"""Views and constants of the specs in math_spec.py, for the judge: see step_shapes.py."""

from __future__ import annotations

import math

from edgecc.kernels import math_spec as specs
from edgecc.kernels.spec import REAL as REALS
from edgecc.kernels.spec import Spec, is_real

Views = list[tuple[str, tuple[int, ...]]]
Expected = dict[str, tuple[str, tuple[int, ...]]]
VALUE: tuple[str, tuple[int, ...]] = ("int8 value", ())
REAL: tuple[str, tuple[int, ...]] = ("float32", ())
ZEROS = {"input_zero_point": VALUE, "output_zero_point": VALUE}
LIMITS = {"int8": {"lo": VALUE, "hi": VALUE}, **dict.fromkeys(REALS, {"lo": REAL, "hi": REAL})}


def views(spec: Spec) -> tuple[Views, Views] | None:
    """(dtype, size) of the inputs and outputs; None for specs of other files."""
    if isinstance(spec, specs.Broadcast):
        a, b = spec.sizes
        return [(spec.dtype, (a,)), (spec.dtype, (b,))], [(spec.dtype, (spec.size,))]
    if isinstance(spec, specs.Compare | specs.Choose):
        return _conditional(spec)
    if isinstance(spec, specs.Rowwise | specs.Normalize):
        return [(spec.dtype, (spec.size,))], [(spec.dtype, (spec.size,))]
    if isinstance(spec, specs.Reduce | specs.ArgReduce):
        dtype = spec.output if isinstance(spec, specs.ArgReduce) else spec.dtype
        outputs = spec.outer * spec.inner
        return [(spec.dtype, (outputs * spec.n,))], [(dtype, (outputs,))]
    if isinstance(spec, specs.MatMul):
        out = spec.batches * spec.m * spec.n
        return ([(spec.dtype, (spec.a_size,)), (spec.dtype, (spec.b_size,))],
                [(spec.dtype, (out,))])
    return None


def _conditional(spec: specs.Compare | specs.Choose) -> tuple[Views, Views]:
    a, b = (specs.touched(spec.shape, s) for s in (spec.a_strides, spec.b_strides))
    given: Views = [(str(spec.dtype), (a,)), (str(spec.dtype), (b,))]
    size = (math.prod(spec.shape),)
    if isinstance(spec, specs.Compare):
        return given, [("bool", size)]
    condition: Views = [("bool", (specs.touched(spec.shape, spec.condition_strides),))]
    return [*condition, *given], [(str(spec.dtype), size)]


def constants(spec: Spec) -> Expected:
    """dtype and shape of every constant that reference and pack read."""
    if isinstance(spec, specs.Rowwise):
        return _rowwise(spec)
    if isinstance(spec, specs.Normalize):
        row = ("float32", (spec.groups * spec.m,))
        own = {"epsilon": REAL} if is_real(spec.dtype) else {**ZEROS, "floor": REAL}
        return {**own, "scale": row, "shift": row}
    if isinstance(spec, specs.Reduce):
        sums = spec.dtype == "int8" and spec.kind in ("sum", "mean")
        return {**ZEROS, "input_scale": REAL, "output_scale": REAL} if sums else {}
    if isinstance(spec, specs.MatMul):
        zeros = {f"{name}_zero_point": VALUE for name in ("a", "b", "output")}
        own = {"scale": REAL, **zeros} if spec.dtype == "int8" else {}
        return {**own, **LIMITS[spec.dtype]}
    return {}


def _rowwise(spec: specs.Rowwise) -> Expected:
    row = ("float32", (spec.n,))
    rows = {"affine": ("scale", "shift"), "prelu": ("slope",)}.get(spec.kind, ("operand",))
    found: Expected = dict.fromkeys(rows, row) | LIMITS[spec.dtype]
    if spec.dtype == "int8":
        found |= ZEROS | ({"ratio": REAL} if spec.kind == "prelu" else {})
    return found
