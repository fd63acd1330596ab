"""The judge of Programs: structure only, sharing no code with what makes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from edgecc.errors import CheckFailed
from edgecc.kernels import short_sums
from edgecc.kernels.spec import Conv2d, FullyConnected, Spec
from edgecc.schedule.movement_check import stray_index
from edgecc.schedule.program import (
    ITEM_BYTES,
    Branch,
    Buffer,
    Copy,
    Entry,
    Kernel,
    Loop,
    Npu,
    Port,
    Program,
    Step,
    View,
)
from edgecc.schedule.step_shapes import expected_constants, expected_views

Written = dict[str, np.ndarray]


def check_program(program: Program) -> None:
    """Raises CheckFailed for the first rule that the Program breaks.

    Names are unique; every view lies inside its buffer; every byte is written before it is
    read, and once; views and constants fit the step's spec; ports exist and have buffers of
    their own.
    """
    buffers = {b.name: b for b in program.buffers}
    _unique((b.name for b in program.buffers), "buffer")
    _unique((e.name for e in program.entries), "entry")
    _require(bool(program.entries), program.name, "has no entry")
    for buffer in program.buffers:
        _check_buffer(buffer)
    for entry in program.entries:
        _check_entry(entry, buffers)
    conversions = sum(isinstance(s, Kernel) and s.spec.op == "transpose"
                      for e in program.entries for s in e.steps)
    _require(conversions == program.layout_conversions, program.name,
             f"counts {program.layout_conversions} layout conversions, has {conversions}")


def _require(holds: bool, where: str, rule: str) -> None:
    if not holds:
        raise CheckFailed(f"{where}: {rule}")


def _unique(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        _require(bool(name) and name not in seen, name or what, f"{what} name is not unique")
        seen.add(name)


def _check_buffer(buffer: Buffer) -> None:
    _require(buffer.size_bytes > 0, buffer.name, "is empty")
    align = buffer.align_bytes
    _require(align > 0 and align & (align - 1) == 0, buffer.name, "has an odd alignment")


def _check_entry(entry: Entry, buffers: Mapping[str, Buffer]) -> None:
    _unique((p.name for p in entry.inputs), "input")
    _unique((p.name for p in entry.outputs), "output")
    _unique((s.name for s in _flat(entry.steps)), "step")
    written = {b.name: np.zeros(b.size_bytes, bool) for b in buffers.values()}
    for buffer in buffers.values():
        written[buffer.name][:] = buffer.kind == "state"
    for port in entry.inputs:
        _check_port(port, buffers, "input")
        _bytes(written, port.view)[...] = True
    _check_steps(entry.steps, buffers, written, once=True)
    owners = [p.view.buffer for p in entry.outputs]
    for port in entry.outputs:
        _check_port(port, buffers, "output")
        _require(bool(_bytes(written, port.view).all()), port.name, "is not written completely")
        _require(owners.count(port.view.buffer) == 1, port.name, "shares its buffer")


def _flat(steps: Iterable[Step]) -> Iterable[Step]:
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from _flat(step.body)
        elif isinstance(step, Branch):
            yield from _flat((*step.then_body, *step.else_body))


def _check_port(port: Port, buffers: Mapping[str, Buffer], kind: str) -> None:
    _check_view(port.view, buffers, port.name)
    buffer = buffers[port.view.buffer]
    _require(buffer.kind == kind, port.name, f"is in a buffer of kind {buffer.kind}")
    _require(_contiguous(port.view), port.name, "is not contiguous")
    shape = port.model_shape
    _require(math.prod(shape) == math.prod(port.view.shape), port.name,
             f"has shape {port.view.shape}, the model {shape}")
    if port.permutation is not None:
        _require(sorted(port.permutation) == list(range(len(shape))), port.name,
                 f"has permutation {port.permutation}")
        turned = tuple(shape[i] for i in port.permutation)
        _require(turned == port.view.shape, port.name, f"is not {turned} after its permutation")


def _check_view(view: View, buffers: Mapping[str, Buffer], where: str) -> None:
    _require(view.buffer in buffers, where, f"has no buffer {view.buffer!r}")
    _require(view.dtype in ITEM_BYTES, where, f"has unknown dtype {view.dtype}")
    _require(min(view.shape, default=1) > 0, where, f"has shape {view.shape}")
    item = ITEM_BYTES[view.dtype]
    _require(view.offset_bytes >= 0 and view.offset_bytes % item == 0, where,
             f"starts at byte {view.offset_bytes}")
    strides = view.strides if view.strides is not None else _dense(view.shape)
    _require(len(strides) == len(view.shape) and min(strides, default=1) > 0, where,
             f"has strides {strides} for shape {view.shape}")
    end = view.offset_bytes + item * (
        1 + sum((n - 1) * s for n, s in zip(view.shape, strides, strict=True)))
    size = buffers[view.buffer].size_bytes
    _require(end <= size, where, f"ends at byte {end} of {view.buffer}, which has {size}")
    if view.quantization is not None:
        scale, zero = view.quantization.scale, view.quantization.zero_point
        _require(math.isfinite(scale) and scale > 0 and -128 <= zero <= 127, where,
                 f"has quantization {scale}, {zero}")


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


def _contiguous(view: View) -> bool:
    if view.strides is None:
        return True
    return all(n == 1 or s == d for n, s, d in
               zip(view.shape, view.strides, _dense(view.shape), strict=True))


def _bytes(written: Written, view: View) -> np.ndarray:
    """The flags of a view's bytes, writable."""
    item = ITEM_BYTES[view.dtype]
    strides = view.strides if view.strides is not None else _dense(view.shape)
    return np.ndarray((*view.shape, item), bool, written[view.buffer], view.offset_bytes,
                      (*(s * item for s in strides), 1))


def _check_steps(steps: Iterable[Step], buffers: Mapping[str, Buffer], written: Written,
                 once: bool) -> None:
    for step in steps:
        for view in (*step.inputs, *step.outputs):
            _check_view(view, buffers, step.name)
        for view in step.inputs:
            _require(bool(_bytes(written, view).all()), step.name,
                     f"reads bytes of {view.buffer} that nothing wrote")
        _check_step(step, buffers, written)
        for view in step.outputs:
            flags = _bytes(written, view)
            kind = buffers[view.buffer].kind
            _require(kind != "input", step.name, f"writes the input {view.buffer}")
            _require(not once or kind == "state" or not flags.any(), step.name,
                     f"writes bytes of {view.buffer} a second time")
            flags[...] = True


def _check_step(step: Step, buffers: Mapping[str, Buffer], written: Written) -> None:
    if isinstance(step, Kernel):
        _check_kernel(step)
    elif isinstance(step, Copy):
        same = (step.source.shape, step.source.dtype) == (step.target.shape, step.target.dtype)
        _require(same, step.name, "copies between different shapes or dtypes")
    elif isinstance(step, Npu):
        _require(bool(step.symbol) and step.scratch_bytes >= 0, step.name, "has no entry point")
    elif isinstance(step, Loop):
        count = step.count if isinstance(step.count, int) else step.count.upper
        _require(count > 0, step.name, "never runs")
        _check_steps(step.body, buffers, {k: v.copy() for k, v in written.items()}, once=False)
    else:
        _check_view(step.condition, buffers, step.name)
        for body in (step.then_body, step.else_body):
            _check_steps(body, buffers, {k: v.copy() for k, v in written.items()}, once=False)


def _check_kernel(step: Kernel) -> None:
    _require(bool(step.kernel) and step.scratch_bytes >= 0, step.name, "has no kernel")
    _require(step.macs == step.spec.macs, step.name, f"claims {step.macs} MAC")
    _require(step.threads >= 1, step.name, f"is for {step.threads} threads")
    ordered = any(pair.distance_bytes for pair in step.in_place)
    _require(step.threads == 1 or not ordered, step.name, "is in place in an order of its own, "
             "which threads would break")
    inputs, outputs = expected_views(step.spec)
    for views, expected in ((step.inputs, inputs), (step.outputs, outputs)):
        found = [(v.dtype, v.shape) for v in views]
        fits = len(views) == len(expected) and all(
            v.dtype == dtype and _matches(v.shape, shape)
            for v, (dtype, shape) in zip(views, expected, strict=True))
        _require(fits, step.name, f"has views {found}, its spec {expected}")
        _require(all(_contiguous(v) for v in views), step.name, "has a strided view")
    for entry in step.in_place:
        _require(0 <= entry.input < len(inputs) and 0 <= entry.output < len(outputs)
                 and entry.distance_bytes >= 0, step.name, f"has {entry}")
    _check_constants(step.name, step.spec, step.constants)
    stray = stray_index(step.spec, step.constants)
    _require(stray is None, step.name, stray or "")
    spec = step.spec
    if isinstance(spec, Conv2d | FullyConnected) and spec.dtype == "int8":
        narrow = spec.wide_weights or np.asarray(step.constants["weights"]).min() > -128
        _require(bool(narrow), step.name, "has weights of -128 and does not say so")
        _require(not spec.short_sums or short_sums.fits(step.constants), step.name,
                 "says that its sums are short, and they may not be")


def _matches(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Elementwise specs know a size only."""
    return shape == expected or (len(expected) == 1 and math.prod(shape) == expected[0])


def _check_constants(where: str, spec: Spec, constants: Mapping) -> None:
    for name, (dtype, shape) in expected_constants(spec).items():
        _require(name in constants, where, f"lacks the constant {name}")
        value = np.asarray(constants[name])
        if dtype == "int8 value":
            number = int(value)
            _require(value.shape == () and -128 <= number <= 127, where, f"{name} is {number}")
            continue
        _require(value.dtype == dtype and value.shape == shape, where,
                 f"{name} is {value.dtype} {value.shape}, not {dtype} {shape}")
        _require(not np.isnan(value).any(), where, f"{name} has NaN")
