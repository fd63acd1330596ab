"""Typed operators between the ONNX model and the Program: what every stage of schedule edits.

Tensors keep their ONNX shape throughout; layouts are decided later. An operator's arithmetic is
int8, or that of reals stored as float32 or float16, as its output tensor's dtype says. Values
are frozen; a Graph is rebuilt, not patched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from edgecc.schedule.grouped import Grouped
from edgecc.schedule.program import Quantization


@dataclass(frozen=True)
class Tensor:
    """An activation: its ONNX shape, and its quantization if it is int8."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    quantization: Quantization | None = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant: `real` values, and if it came through DequantizeLinear the integers too
    (int8 around zero, or int32), with one scale, or one per index of `axis`. `half`: the model
    has it in float16; `real` is float32 then too."""

    real: np.ndarray
    integers: np.ndarray | None = None
    scale: np.ndarray | None = None
    axis: int | None = None
    half: bool = False
    grouped: Grouped | None = None  # 4-bit weights, where `real` is what they stand for

    @classmethod
    def of(cls, values: np.ndarray) -> Constant:
        """A constant of the model."""
        half = values.dtype == np.float16
        return cls(values.astype(np.float32) if half else values, half=half)


@dataclass(frozen=True, eq=False)
class Op:
    """Base: `inputs` and `output` are tensor names, `nodes` the ONNX nodes it came from."""

    name: str
    inputs: tuple[str, ...]
    output: str
    nodes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Inner:
    """What a fused residual addition keeps of the operator it was fused into."""

    quantization: Quantization
    clamp: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Clamped(Op):
    """An operator with an output clamp: real numbers, or integers in int8.

    With a second input on Conv and Dense, that input is added (residual); in int8 after a
    requantization to `inner`.
    """

    clamp: tuple[float, float] | None = field(default=None, kw_only=True)
    inner: Inner | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class Conv(Clamped):
    """Convolution of (n, c, w) or (n, c, h, w); weights (k, c / groups, kh, kw)."""

    weights: Constant = field(kw_only=True)
    bias: Constant | None = field(default=None, kw_only=True)
    strides: tuple[int, int] = field(kw_only=True)
    dilations: tuple[int, int] = field(kw_only=True)
    pads: tuple[int, int, int, int] = field(kw_only=True)
    groups: int = field(default=1, kw_only=True)


@dataclass(frozen=True, eq=False)
class Dense(Clamped):
    """x (..., k) · weights (n, k)ᵀ + bias."""

    weights: Constant = field(kw_only=True)
    bias: Constant | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class Binary(Clamped):
    """add, sub, mul or div of two activations."""

    function: str = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Affine(Clamped):
    """(x * scale + shift) / divisor with constant operands that broadcast to the input."""

    scale: np.ndarray = field(kw_only=True)
    shift: np.ndarray = field(kw_only=True)
    divisor: np.ndarray = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Pool(Op):
    """Max or average over windows of (n, c, w) or (n, c, h, w)."""

    function: str = field(kw_only=True)
    kernel: tuple[int, int] = field(kw_only=True)
    strides: tuple[int, int] = field(kw_only=True)
    dilations: tuple[int, int] = field(default=(1, 1), kw_only=True)
    pads: tuple[int, int, int, int] = field(kw_only=True)
    count_include_pad: bool = field(default=False, kw_only=True)
    ceil_mode: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class Softmax(Op):
    """Exponentials over `axis` that sum to one, or their logarithms."""

    axis: int = field(kw_only=True)
    log: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class Unary(Op):
    """Elementwise function; `numbers` are its alpha, beta, lo, hi."""

    function: str = field(kw_only=True)
    numbers: Mapping[str, float] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, eq=False)
class Lookup(Op):
    """int8 to int8 through 256 entries."""

    table: np.ndarray = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Recentre(Op):
    """uint8 to int8, minus 128: the same real numbers."""


@dataclass(frozen=True, eq=False)
class Quantize(Op):
    """float32 to int8, parameters as the output tensor's."""


@dataclass(frozen=True, eq=False)
class Dequantize(Op):
    """int8 to float32, parameters as the input tensor's."""


@dataclass(frozen=True, eq=False)
class Convert(Op):
    """float16 to float32, or back."""


@dataclass(frozen=True, eq=False)
class Reshape(Op):
    """The same elements in row-major order under another shape (the output tensor's)."""


@dataclass(frozen=True, eq=False)
class Transpose(Op):
    """The same elements with their axes in another order."""

    permutation: tuple[int, ...] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Concat(Op):
    """The inputs one after the other along `axis`."""

    axis: int = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Relayout(Op):
    """The same tensor in another memory layout; made by `arrange` only."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Operators in execution order, every tensor by name, and the model's ports.

    `ports` maps a port's tensor to its name and dtype in the model.
    """

    name: str
    tensors: Mapping[str, Tensor]
    ops: tuple[Op, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    ports: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def producers(self) -> dict[str, Op]:
        return {op.output: op for op in self.ops}

    @cached_property
    def uses(self) -> dict[str, list[Op]]:
        """Operators that read a tensor, once per reading."""
        found: dict[str, list[Op]] = {name: [] for name in self.tensors}
        for op in self.ops:
            for name in op.inputs:
                found[name].append(op)
        return found

    def only_use(self, name: str) -> Op | None:
        """The one reader of a tensor that nothing else needs, else None."""
        uses = self.uses[name]
        return uses[0] if len(uses) == 1 and name not in self.outputs else None

    def with_ops(self, ops: Iterable[Op], tensors: Iterable[Tensor] = ()) -> Graph:
        """New operators (any order that is executable), dead ones and their tensors removed."""
        every = {**self.tensors, **{t.name: t for t in tensors}}
        return prune(replace(self, ops=tuple(ops), tensors=every))


def prune(graph: Graph) -> Graph:
    """Without operators that no output needs, and without tensors that no operator has."""
    needed, kept = set(graph.outputs), []
    for op in reversed(graph.ops):
        if op.output in needed:
            kept.append(op)
            needed.update(op.inputs)
    alive = needed | set(graph.inputs)
    tensors = {name: t for name, t in graph.tensors.items() if name in alive}
    return replace(graph, ops=tuple(reversed(kept)), tensors=tensors)


def substitute(ops: Iterable[Op], names: Mapping[str, str]) -> list[Op]:
    """Operators reading `names[x]` wherever they read x."""
    return [replace(op, inputs=tuple(names.get(i, i) for i in op.inputs)) for op in ops]
