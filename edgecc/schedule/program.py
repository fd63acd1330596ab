"""Program: the scheduled model. Buffers, views, states, dims and named entries of steps.

A step computes views from views. Views are (buffer, offset, strides): concatenation, slices,
in-place operators and padding are views, never copies. Everything is immutable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from edgecc.data.preprocessing import Preprocessing
from edgecc.kernels.spec import Spec

BufferKind = Literal["input", "output", "activation", "state"]
ITEM_BYTES = {"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "float16": 2, "int32": 4, "uint32": 4,
              "float32": 4, "int64": 8, "float64": 8}


@dataclass(frozen=True)
class Dim:
    """A symbolic dimension and its bounds (inclusive)."""

    name: str
    lower: int
    upper: int


@dataclass(frozen=True)
class Quantization:
    """real = (q - zero_point) * scale."""

    scale: float
    zero_point: int


@dataclass(frozen=True)
class Buffer:
    """Bytes that the planner places. `size_bytes` is exact."""

    name: str
    size_bytes: int
    kind: BufferKind = "activation"
    align_bytes: int = 16


@dataclass(frozen=True)
class View:
    """A typed window on a buffer. `strides` are in elements; None means contiguous."""

    buffer: str
    dtype: str
    shape: tuple[int, ...]
    layout: str
    offset_bytes: int = 0
    strides: tuple[int, ...] | None = None
    quantization: Quantization | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes from the first element to the end of the last one."""
        if not all(self.shape):
            return 0
        strides = self.strides or contiguous_strides(self.shape)
        last = sum((n - 1) * s for n, s in zip(self.shape, strides, strict=True))
        return (last + 1) * ITEM_BYTES[self.dtype]


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


@dataclass(frozen=True)
class InPlace:
    """Output `output` may share bytes with input `input` if it starts at least
    `distance_bytes` before it (0: the same address is allowed)."""

    input: int
    output: int
    distance_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Kernel:
    """One call of one compiled kernel.

    `constants` are the logical (unpacked) weights and numbers by name, as the op's reference
    takes them; `pack` of the kernel record turns them into the bytes the machine code reads.
    `threads` share the step (1: the calling thread computes it alone), and `scratch_bytes` is
    what they need together.
    """

    name: str
    spec: Spec
    kernel: str
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    constants: Mapping[str, Any] = field(default_factory=dict)
    scratch_bytes: int = 0
    in_place: tuple[InPlace, ...] = ()
    macs: int = 0
    nodes: tuple[str, ...] = ()
    why_not_fast: str | None = None
    threads: int = 1


@dataclass(frozen=True)
class Copy:
    """Bytes of `source` into `target`, element by element; same shape and dtype."""

    name: str
    source: View
    target: View

    @property
    def inputs(self) -> tuple[View, ...]:
        return (self.source,)

    @property
    def outputs(self) -> tuple[View, ...]:
        return (self.target,)


@dataclass(frozen=True)
class Npu:
    """A subgraph handed to an NPU plug-in: `symbol` is its entry point."""

    name: str
    npu: str
    symbol: str
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    scratch_bytes: int = 0


@dataclass(frozen=True)
class Loop:
    """`body` repeated: patches, row buffers, ONNX Loop and Scan."""

    name: str
    count: int | Dim
    body: tuple[Step, ...]
    inputs: tuple[View, ...] = ()
    outputs: tuple[View, ...] = ()


@dataclass(frozen=True)
class Branch:
    """ONNX If: one of two bodies by a bool view."""

    name: str
    condition: View
    then_body: tuple[Step, ...]
    else_body: tuple[Step, ...]
    inputs: tuple[View, ...] = ()
    outputs: tuple[View, ...] = ()


Step = Kernel | Copy | Npu | Loop | Branch


@dataclass(frozen=True)
class Port:
    """An input or output of the model.

    `view` is what the program reads or writes (its dtype, shape and layout are the C API's).
    `model_shape` is the ONNX shape; `permutation` takes an array of it to the view's layout
    (view = model.transpose(permutation).reshape(view.shape)); None when they are the same.
    `preprocessing` is how pictures become this input, where that was declared.
    """

    name: str
    view: View
    model_shape: tuple[int, ...]
    model_dtype: str = "float32"
    permutation: tuple[int, ...] | None = None
    preprocessing: Preprocessing | None = None


@dataclass(frozen=True)
class Entry:
    """A function of the program: ports and steps in execution order."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Program:
    """What `schedule` makes and `plan` and `lower` take."""

    name: str
    buffers: tuple[Buffer, ...]
    entries: tuple[Entry, ...]
    dims: tuple[Dim, ...] = ()
    layout_conversions: int = 0

    def buffer(self, name: str) -> Buffer:
        return next(b for b in self.buffers if b.name == name)

    def entry(self, name: str = "run") -> Entry:
        return next(e for e in self.entries if e.name == name)


