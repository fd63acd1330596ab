"""What the arithmetic of math_ops.py computes: specs, and constants in storage order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from edgecc.kernels import math_spec
from edgecc.kernels import spec as specs
from edgecc.schedule import layout as lay
from edgecc.schedule.arrange import Arranged, operand_shape
from edgecc.schedule.arranging import operand_axes
from edgecc.schedule.layout import Refined
from edgecc.schedule.math_layout import (
    Run,
    axis_strides,
    operand_strides,
    padded_shape,
    reduced_run,
    run_over,
)
from edgecc.schedule.math_ops import (
    ArgReduce,
    Choose,
    Compare,
    GroupNorm,
    LayerNorm,
    MatMul,
    Reduce,
    Rowwise,
)
from edgecc.schedule.numbers import Call, limits, quantization
from edgecc.schedule.ops import Affine, Binary, Op, Tensor
from edgecc.schedule.rounding import requantize_scale

SHORT_ROW = 64  # elements up to which rows of constants are repeated

Dims = list[tuple[int, ...]]  # size, and every operand's stride


def _fine(arranged: Arranged, tensor: Tensor) -> Refined:
    fine = lay.refine(arranged.layouts[tensor.name], tensor.shape)
    assert fine is not None, "arrange aligns layouts with shapes"
    return fine


def _zero_points(x: Tensor, y: Tensor) -> dict[str, Any]:
    return {"input_zero_point": quantization(x).zero_point,
            "output_zero_point": quantization(y).zero_point}


def _binary(arranged: Arranged, op: Binary) -> Call:
    a, b = (arranged.tensor(name) for name in op.inputs)
    y = arranged.tensor(op.output)
    dims = _dims(arranged, op)
    constants = limits(op.clamp, y.dtype)
    if y.dtype == "int8":
        constants |= ratios(op.function, a, b, y)
    spec = _flat_binary(op, y, dims) or math_spec.Broadcast(
        y.dtype, op.function, *zip(*dims, strict=True), op.clamp is not None)  # type: ignore
    return Call(spec, constants, ((a.size,), (b.size,)), (y.size,))


def _dims(arranged: Arranged, op: Op) -> Dims:
    """Size and operands' strides of every stored atom of the output, as few as it goes."""
    y = arranged.tensor(op.output)
    layout, fine = arranged.layouts[y.name], _fine(arranged, y)
    strides = [operand_strides(layout, y.shape, arranged.tensor(name).shape)
               for name in op.inputs]
    sizes = [fine.atoms[atom] for atom in fine.order]
    return collapsed(list(zip(sizes, *strides, strict=True))) or [(1,) * (1 + len(op.inputs))]


def collapsed(dims: Dims) -> Dims:
    """Neighbours along which every operand runs on or stands still as along the other: one."""
    found: Dims = []
    for n, *steps in dims:
        if found and [bool(s) for s in found[-1][1:]] == [bool(s) for s in steps]:
            found[-1] = (found[-1][0] * n, *steps)
        else:
            found.append((n, *steps))
    return found


def _compare(arranged: Arranged, op: Compare) -> Call:
    a = arranged.tensor(op.inputs[0])
    spec = math_spec.Compare(a.dtype, op.function,  # type: ignore[arg-type]
                             *zip(*_dims(arranged, op), strict=True))
    return _elementwise(arranged, op, spec)


def _choose(arranged: Arranged, op: Choose) -> Call:
    y = arranged.tensor(op.output)
    spec = math_spec.Choose(y.dtype, *zip(*_dims(arranged, op), strict=True))  # type: ignore
    return _elementwise(arranged, op, spec)


def _elementwise(arranged: Arranged, op: Op, spec: specs.Spec) -> Call:
    sizes = tuple((arranged.tensor(name).size,) for name in op.inputs)
    return Call(spec, {}, sizes, (arranged.tensor(op.output).size,))


def _flat_binary(op: Binary, y: Tensor, dims: Dims) -> specs.Binary | None:
    """The spec where the first operand is whole and the second whole, a row or a number."""
    kinds: dict[tuple[int, ...], str] = {(1, 1): "same", (1, 0): "scalar"}
    broadcast, channels = kinds.get(dims[0][1:]) if len(dims) == 1 else None, 1
    if len(dims) == 2 and dims[0][1:] == (dims[1][0], 0) and dims[1][1:] == (1, 1):
        broadcast, channels = "channel", dims[1][0]
    if broadcast is None:
        return None
    return specs.Binary(y.dtype, op.function, y.size, broadcast,  # type: ignore[arg-type]
                        channels, op.clamp is not None)


def ratios(function: str, a: Tensor, b: Tensor, y: Tensor) -> dict[str, Any]:
    """Constants of int8 arithmetic of two tensors."""
    za, zb, zy = quantization(a), quantization(b), quantization(y)
    found: dict[str, Any] = {"a_zero_point": za.zero_point, "b_zero_point": zb.zero_point,
                             "output_zero_point": zy.zero_point}
    sa, sb, sy = (np.float32(q.scale) for q in (za, zb, zy))
    if function == "mul":
        return found | {"ratio": requantize_scale(za.scale, sb, zy.scale)}
    if function == "div":
        return found | {"ratio": sa / (sb * sy)}
    return found | {"ratio": sa / sy, "residual_ratio": sb / sy}


def row_of(value: np.ndarray, shape: Sequence[int], fine: Refined, run: Run) -> np.ndarray:
    """A constant that broadcasts to `shape`, as one value per stored position of the run."""
    aligned = padded_shape(value.shape, len(shape))
    sizes = [1] * len(fine.atoms)
    for axis, atoms in enumerate(fine.axes):
        for atom in atoms if aligned[axis] != 1 else ():
            sizes[atom] = fine.atoms[atom]
    wide = [fine.atoms[atom] if atom in run.atoms else 1 for atom in range(len(sizes))]
    others = [atom for atom in range(len(sizes)) if atom not in run.atoms]
    spread = np.broadcast_to(value.reshape(sizes), wide)
    return spread.transpose([*run.atoms, *others]).reshape(-1)


def _rows(run: Run, values: Sequence[np.ndarray]) -> tuple[tuple[int, int, int], list[np.ndarray]]:
    """(outer, n, inner) with short rows repeated, so that vectors fill up."""
    outer, n, inner = run.outer, run.n, run.inner
    if 1 < n * inner <= SHORT_ROW and inner > 1:
        values, n, inner = [np.repeat(v, inner) for v in values], n * inner, 1
    if inner == 1 and 1 < n < SHORT_ROW:
        times = max(d for d in range(1, SHORT_ROW // n + 1) if outer % d == 0)
        values, n, outer = [np.tile(v, times) for v in values], n * times, outer // times
    return (outer, n, inner), list(values)


def _affine(arranged: Arranged, op: Affine) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    wide = operand_shape(op)
    scale, shift, divisor = (np.broadcast_to(v, wide).astype(np.float64)
                             for v in (op.scale, op.shift, op.divisor))
    scale, shift = scale / divisor, shift / divisor
    constants = limits(op.clamp, y.dtype)
    if y.dtype == "int8":
        sy = float(np.float32(quantization(y).scale))
        scale, shift = scale * float(np.float32(quantization(x).scale)) / sy, shift / sy
        constants |= _zero_points(x, y)
    return _row_call(arranged, op, "affine", {"scale": scale, "shift": shift}, constants)


def _row_call(arranged: Arranged, op: Affine | Rowwise, kind: str,
              values: dict[str, np.ndarray], constants: dict[str, Any]) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    fine = _fine(arranged, x)
    varying = operand_axes(x.shape, next(iter(values.values())).shape)
    run = run_over(fine, varying)
    sizes, rows = _rows(run, [row_of(v, x.shape, fine, run) for v in values.values()])
    spec = math_spec.Rowwise(y.dtype, kind, *sizes, op.clamp is not None)  # type: ignore
    named = {name: np.ascontiguousarray(row, np.float32)
             for name, row in zip(values, rows, strict=True)}
    return Call(spec, constants | named, ((x.size,),), (x.size,))


def _rowwise(arranged: Arranged, op: Rowwise) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    constants = limits(op.clamp, y.dtype)
    name = "slope" if op.function == "prelu" else "operand"
    operand = op.operand
    if y.dtype == "int8":
        ratio = np.float32(quantization(x).scale) / np.float32(quantization(y).scale)
        operand = np.asarray(operand, np.float32) * ratio
        constants |= _zero_points(x, y) | {"ratio": ratio}
    return _row_call(arranged, op, op.function, {name: operand}, constants)


def _reduce(arranged: Arranged, op: Reduce) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    run = reduced_run(arranged.layouts[x.name], x.shape, op.axes)
    assert run is not None, "arrange brings the reduced axes together"
    spec = math_spec.Reduce(y.dtype, op.function, run.outer, run.n, run.inner)  # type: ignore
    constants: dict[str, Any] = {}
    if y.dtype == "int8" and op.function in ("sum", "mean"):
        constants = _zero_points(x, y) | {
            "input_scale": np.float32(quantization(x).scale),
            "output_scale": np.float32(quantization(y).scale)}
    return Call(spec, constants, ((x.size,),), (y.size,))


def _arg_reduce(arranged: Arranged, op: ArgReduce) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    run = reduced_run(arranged.layouts[x.name], x.shape, (op.axis,))
    assert run is not None, "arrange brings the reduced axes together"
    spec = math_spec.ArgReduce(x.dtype, op.function, run.outer, run.n,  # type: ignore[arg-type]
                               run.inner, op.last_of_equals, y.dtype)  # type: ignore[arg-type]
    return Call(spec, {}, ((x.size,),), (y.size,))


def _layer_norm(arranged: Arranged, op: LayerNorm) -> Call:
    x = arranged.tensor(op.inputs[0])
    order = lay.tail_order(arranged.layouts[x.name], x.shape, range(op.axis, len(x.shape)))
    assert order is not None, "arrange keeps the normalized axes last"
    m = len(order)
    return _norm_call(arranged, op, (x.size // m, 1, 1, m),
                      op.scale.reshape(-1)[order], op.shift.reshape(-1)[order])


def _group_norm(arranged: Arranged, op: GroupNorm) -> Call:
    n, c, *image = arranged.tensor(op.inputs[0]).shape
    sizes = (n, math.prod(image), op.groups, c // op.groups)
    return _norm_call(arranged, op, sizes, op.scale, op.shift)


def _norm_call(arranged: Arranged, op: LayerNorm | GroupNorm, sizes: tuple[int, int, int, int],
               scale: np.ndarray, shift: np.ndarray) -> Call:
    x, y = arranged.tensor(op.inputs[0]), arranged.tensor(op.output)
    spec = math_spec.Normalize(y.dtype, *sizes)  # type: ignore[arg-type]
    constants: dict[str, Any] = {"epsilon": np.float32(op.epsilon)}
    if y.dtype == "int8":
        step, sx = float(np.float32(quantization(y).scale)), float(quantization(x).scale)
        scale, shift = scale / step, shift / step
        constants = _zero_points(x, y) | {"floor": np.float32(spec.count**2 * op.epsilon / sx**2)}
    constants |= {"scale": np.ascontiguousarray(scale, np.float32),
                  "shift": np.ascontiguousarray(shift, np.float32)}
    return Call(spec, constants, ((x.size,),), (x.size,))


def _matmul(arranged: Arranged, op: MatMul) -> Call:
    a, b = (arranged.tensor(name) for name in op.inputs)
    y = arranged.tensor(op.output)
    batch = [i for i, n in enumerate(y.shape[:-2]) if n != 1]
    left, right = (_matrix_strides(arranged, t, y, batch) for t in (a, b))
    m, n = y.shape[-2:]
    spec = math_spec.MatMul(y.dtype, tuple(y.shape[i] for i in batch),  # type: ignore[arg-type]
                            m, a.shape[-1], n, left, right, op.clamp is not None)
    constants = limits(op.clamp, y.dtype)
    if y.dtype == "int8":
        za, zb, zy = quantization(a), quantization(b), quantization(y)
        constants |= {"scale": requantize_scale(za.scale, np.float32(zb.scale), zy.scale),
                      "a_zero_point": za.zero_point, "b_zero_point": zb.zero_point,
                      "output_zero_point": zy.zero_point}
    return Call(spec, constants, ((a.size,), (b.size,)), (y.size,))


def _matrix_strides(arranged: Arranged, operand: Tensor, y: Tensor,
                    batch: Sequence[int]) -> tuple[int, ...]:
    """Strides of the batch axes (0 where the operand is repeated), then of the matrix."""
    own = axis_strides(arranged.layouts[operand.name], operand.shape)
    assert own is not None, "arrange gives MatMul whole axes"
    missing = len(y.shape) - len(operand.shape)
    found = [0 if i < missing or operand.shape[i - missing] == 1 else own[i - missing]
             for i in batch]
    return (*found, *own[-2:])


CALLS: dict[type[Op], Callable[[Arranged, Any], Call]] = {
    Binary: _binary, Compare: _compare, Choose: _choose, Affine: _affine, Rowwise: _rowwise,
    Reduce: _reduce, ArgReduce: _arg_reduce, LayerNorm: _layer_norm, GroupNorm: _group_norm,
    MatMul: _matmul,
}
