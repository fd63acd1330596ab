"""Arranged graph to Program: views, steps, kernels, ports."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from edgecc.kernels import math_spec
from edgecc.kernels import spec as specs
from edgecc.kernels.registry import KernelRecord
from edgecc.schedule import layout as lay
from edgecc.schedule.arrange import Arranged
from edgecc.schedule.calls import call_of, stored_shape
from edgecc.schedule.numbers import shortened
from edgecc.schedule.ops import (
    Concat,
    Op,
    Reshape,
    Tensor,
    Transpose,
)
from edgecc.schedule.place import Placed, place
from edgecc.schedule.program import (
    ITEM_BYTES,
    Buffer,
    Copy,
    Entry,
    InPlace,
    Kernel,
    Port,
    Program,
    Step,
    View,
)
from edgecc.schedule.selection import CHEAPEST, Choice, select_kernel
from edgecc.schedule.storage import Window, reshaped


@dataclass
class _Emitting:
    """Program under construction; `buffers` maps the owning tensor to its buffer."""

    arranged: Arranged
    placed: Placed
    target: Any
    choice: Choice
    buffers: dict[str, Buffer] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def tensor(self, name: str) -> Tensor:
        return self.arranged.tensor(name)

    def unique(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.names:
            count += 1
            name = f"{wanted}_{count}"
        self.names.add(name)
        return name

    def view(self, name: str, shape: tuple[int, ...], layout: str) -> View:
        tensor, spot = self.tensor(name), self.placed.locations[name]
        return View(self.buffers[spot.owner].name, tensor.dtype, shape, layout,
                    spot.offset_bytes, None, tensor.quantization)

    def windowed(self, name: str, window: Window) -> View:
        """A part of a tensor; `window` is in elements of its storage."""
        whole = self.view(name, window.shape, "ND")
        offset = whole.offset_bytes + window.offset * ITEM_BYTES[whole.dtype]
        return replace(whole, offset_bytes=offset,
                       strides=None if window.contiguous else window.strides)


def emit(arranged: Arranged, target: Any, name: str, choice: Choice = CHEAPEST) -> Program:
    """Steps and buffers of an arranged graph.

    Raises UnsupportedModel where no kernel fits, ConfigError for tiles that do not.
    """
    work = _Emitting(arranged, place(arranged), target, choice)
    inputs = tuple(_input_port(work, each) for each in arranged.graph.inputs)
    for op in arranged.graph.ops:
        _emit_op(work, op)
    outputs = _output_ports(work)
    choice.check_used(step for step in work.steps if isinstance(step, Kernel))
    entry = Entry("run", inputs, outputs, tuple(work.steps))
    return Program(name, tuple(work.buffers.values()), (entry,),
                   layout_conversions=arranged.conversions)


def identifier(name: str, fallback: str) -> str:
    """Letters, digits and underscores only."""
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or fallback


def _bytes(tensor: Tensor) -> int:
    return tensor.size * ITEM_BYTES[tensor.dtype]


def _input_port(work: _Emitting, name: str) -> Port:
    port, _ = work.arranged.graph.ports[name]
    work.buffers[name] = Buffer(work.unique(identifier(port, "input")), _bytes(work.tensor(name)),
                                "input")
    return _port(work, name, work.view(name, *stored_shape(work.arranged, name)))


def _port(work: _Emitting, name: str, view: View) -> Port:
    port, dtype = work.arranged.graph.ports[name]
    shape = work.tensor(name).shape
    order = lay.axis_order(work.arranged.layouts[name], shape)
    same = order is None or order == tuple(range(len(shape)))
    return Port(port, view, shape, dtype, None if same else order)


def _output_ports(work: _Emitting) -> tuple[Port, ...]:
    """Every output in a buffer of its own: copied where it shares bytes with something else."""
    taken = set(work.arranged.graph.inputs)
    ports = []
    for name in work.arranged.graph.outputs:
        owner = work.placed.locations[name].owner
        view = work.view(name, *stored_shape(work.arranged, name))
        buffer = work.buffers[owner]
        whole = view.offset_bytes == 0 and view.size_bytes == buffer.size_bytes
        if owner in taken or not whole:
            port = work.arranged.graph.ports[name][0]
            buffer = Buffer(work.unique(identifier(port, "output")), _bytes(work.tensor(name)),
                            "output")
            copied = View(buffer.name, view.dtype, view.shape, view.layout, 0, None,
                          view.quantization)
            work.steps.append(Copy(work.unique(f"copy_{buffer.name}"), view, copied))
            view, owner = copied, f"{name} (copied)"
        work.buffers[owner] = Buffer(buffer.name, buffer.size_bytes, "output")
        taken.add(owner)
        ports.append(_port(work, name, view))
    return tuple(ports)


def _emit_op(work: _Emitting, op: Op) -> None:
    if isinstance(op, Reshape | Transpose) or op.output in work.placed.views:
        return
    step = work.unique(identifier(op.name, op.kind))
    owner = work.placed.locations[op.output].owner
    if owner not in work.buffers:
        work.buffers[owner] = Buffer(work.unique(f"{step}.out"), _bytes(work.tensor(owner)))
    if isinstance(op, Concat):
        _copies(work, op, step)
    elif op.output in work.placed.windows:
        work.steps.append(_window_copy(work, op, step))
    else:
        work.steps.append(_kernel(work, op, step))


def _copies(work: _Emitting, op: Concat, step: str) -> None:
    """A Copy for every part that its producer could not write in place."""
    parts = zip(op.inputs, work.placed.parts[op.output], strict=True)
    for i, (name, part) in enumerate(parts):
        if not part.joined:
            source = work.view(name, part.window.shape, "ND")
            target = work.windowed(op.output, part.window)
            work.steps.append(Copy(work.unique(f"{step}_{i}"), source, target))


def _window_copy(work: _Emitting, op: Op, step: str) -> Copy:
    """A selection that is a window, into memory of its own or into its part of a Concat."""
    window, target = work.placed.windows[op.output], work.placed.locations[op.output].window
    if target is None:
        return Copy(step, work.windowed(op.inputs[0], window),
                    work.view(op.output, window.shape, "ND"))
    source = reshaped(window, target.shape)
    assert source is not None, "place gives a copy the window of its shape"
    return Copy(step, work.windowed(op.inputs[0], source),
                replace(work.view(op.output, target.shape, "ND"), strides=target.strides))


def _kernel(work: _Emitting, op: Op, step: str) -> Kernel:
    call = shortened(call_of(work.arranged, op), work.target.features)
    where = f"{op.nodes[0] if op.nodes else op.name} ({type(op).__name__})"
    record, why = select_kernel(call.spec, work.target, where, work.choice, step)
    views = [work.view(name, shape, _label(work, name, shape))
             for name, shape in zip((*op.inputs, op.output), (*call.inputs, call.output),
                                    strict=True)]
    return Kernel(step, call.spec, record.name, tuple(views[:-1]), (views[-1],), call.constants,
                  record.scratch_bytes(call.spec),
                  (*_in_place(call.spec, views), *_over_input(record, call.spec)), call.spec.macs,
                  op.nodes, why)


def _label(work: _Emitting, name: str, shape: tuple[int, ...]) -> str:
    if len(shape) == 4:
        return "NHWC"
    stored, label = stored_shape(work.arranged, name)
    return label if stored == shape else {1: "flat", 2: "NC"}.get(len(shape), "ND")


def _over_input(record: KernelRecord, spec: specs.Spec) -> tuple[InPlace, ...]:
    """Whether and where the output may overwrite what a window slides over."""
    windowed = isinstance(spec, specs.Conv2d | specs.Pool2d)
    distance = record.over_input(spec) if windowed else None
    return () if distance is None else (InPlace(0, 0, distance),)


def _in_place(spec: specs.Spec, views: list[View]) -> tuple[InPlace, ...]:
    """Which inputs the output may overwrite: elements are read before they are written.

    Not where the other input shares the buffer and is read in another order.
    """
    apart = len(views) == 3 and views[0].buffer != views[1].buffer
    if isinstance(spec, specs.Conv2d | specs.FullyConnected):
        return (InPlace(1, 0),) if spec.residual and apart else ()
    if isinstance(spec, specs.Binary) and spec.broadcast == "same":
        same = (views[0].buffer, views[0].offset_bytes) == (views[1].buffer, views[1].offset_bytes)
        return (InPlace(0, 0), InPlace(1, 0)) if apart or same else ()
    if isinstance(spec, specs.Binary) and not apart:
        return ()
    if isinstance(spec, math_spec.Broadcast):
        whole = [i for i, size in enumerate(spec.sizes) if size == spec.size]
        return tuple(InPlace(i, 0) for i in whole) if apart else ()
    if isinstance(spec, specs.Table | specs.Recentre | specs.Unary | specs.Binary
                  | math_spec.Rowwise | math_spec.Normalize):
        return (InPlace(0, 0),)
    return ()
