"""A Program as stable text, for --dump and golden tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from edgecc.schedule.program import (
    Branch,
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


def to_text(program: Program) -> str:
    """One line per buffer, port and step; constants by value or digest."""
    return "\n".join(_lines(program)) + "\n"


def _lines(program: Program) -> Iterator[str]:
    yield f"program {program.name}"
    for dim in program.dims:
        yield f"dim {dim.name} in [{dim.lower}, {dim.upper}]"
    for b in program.buffers:
        yield f"buffer {b.name}: {b.kind} {b.size_bytes} B, align {b.align_bytes}"
    for entry in program.entries:
        yield from _entry(entry)
    yield f"layout conversions: {program.layout_conversions}"


def _entry(entry: Entry) -> Iterator[str]:
    yield f"entry {entry.name}"
    for word, ports in (("input", entry.inputs), ("output", entry.outputs)):
        for port in ports:
            yield f"  {word} {_port(port)}"
    for step in entry.steps:
        yield from _step(step, "  ")


def _port(port: Port) -> str:
    turned = "" if port.permutation is None else f" permuted {port.permutation}"
    return f"{port.name}: {_view(port.view)} of {port.model_dtype}{port.model_shape}{turned}"


def _view(view: View) -> str:
    text = f"{view.buffer}"
    if view.offset_bytes:
        text += f"+{view.offset_bytes}"
    text += f" {view.dtype}{view.shape} {view.layout}"
    if view.strides is not None:
        text += f" strides {view.strides}"
    if view.quantization is not None:
        text += f" q({view.quantization.scale:.9g}, {view.quantization.zero_point})"
    return text


def _step(step: Step, indent: str) -> Iterator[str]:
    outs = ", ".join(_view(v) for v in step.outputs)
    ins = ", ".join(_view(v) for v in step.inputs)
    yield f"{indent}step {step.name}: {_what(step)}"
    yield f"{indent}  {outs} <- {ins}"
    if isinstance(step, Kernel):
        yield from _kernel(step, indent + "  ")
    elif isinstance(step, Loop):
        for inner in step.body:
            yield from _step(inner, indent + "  ")
    elif isinstance(step, Branch):
        for word, body in (("then", step.then_body), ("else", step.else_body)):
            yield f"{indent}  {word}"
            for inner in body:
                yield from _step(inner, indent + "    ")


def _what(step: Step) -> str:
    if isinstance(step, Kernel):
        shared = f", {step.threads} threads" if step.threads > 1 else ""
        return f"{step.kernel}, {step.macs} MAC, scratch {step.scratch_bytes} B{shared}"
    if isinstance(step, Npu):
        return f"npu {step.npu} {step.symbol}, scratch {step.scratch_bytes} B"
    if isinstance(step, Loop):
        return f"loop {step.count if isinstance(step.count, int) else step.count.name}"
    return "copy" if isinstance(step, Copy) else "branch"


def _kernel(step: Kernel, indent: str) -> Iterator[str]:
    yield f"{indent}{step.spec.text()}"
    if step.constants:
        yield f"{indent}{_constants(step.constants)}"
    if step.in_place:
        pairs = (f"{i.output} over {i.input} (distance {i.distance_bytes})" for i in step.in_place)
        yield f"{indent}in place: {', '.join(pairs)}"
    if step.nodes:
        yield f"{indent}from {', '.join(step.nodes)}"
    if step.why_not_fast:
        yield f"{indent}not fast: {step.why_not_fast}"


def _constants(constants: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_constant(constants[name])}" for name in sorted(constants))


def _constant(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.9g}" if array.dtype.kind == "f" else str(array.item())
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]
    return f"{array.dtype}{array.shape}:{digest}"
