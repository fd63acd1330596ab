"""Specs: what a step computes, with every shape a number. One frozen dataclass per operator.

A spec says nothing about scales, zero points or values: those are constants, packed beside the
weights, so layers of the same spec share one kernel. Layout is NHWC (channels last) throughout.
`CONSTANTS` in each docstring names what reference and pack expect.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

DType = Literal["int8", "float32", "float16"]
REAL = ("float32", "float16")
"""Types of real numbers. float16 is how values are stored: what computes it reads them as float32,
and rounds where it writes; constants are those of float32, but for float16 weights."""


def is_real(dtype: str) -> bool:
    return dtype in REAL


@dataclass(frozen=True)
class Spec:
    """Base: hashable, with a stable one-line text form."""

    op: ClassVar[str] = ""
    dtype: str

    def text(self) -> str:
        values = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))
        return f"{self.op}({values})"

    @property
    def macs(self) -> int:
        return 0


@dataclass(frozen=True)
class Conv2d(Spec):
    """Convolution, NHWC, weights (k, kh, kw, c // groups); depthwise is groups == c.

    CONSTANTS int8: weights int8 (k, kh, kw, c/groups), bias int32 (k,), scale float32 (k,),
    input_zero_point, output_zero_point, lo, hi (int8 output clamp; used when `clamp`).
    With `residual`, a second input r of the output's shape is added after the convolution's own
    requantization: q1 = clamp(rint(acc*scale) + inner_zero_point, inner_lo, inner_hi);
    y = clamp(rint(f32(q1-inner_zero_point)*ratio + f32(r-residual_zero_point)*residual_ratio)
    + output_zero_point, lo, hi); both products rounded to float32 before the sum.
    CONSTANTS float32: weights, bias, lo, hi (float clamp; used when `clamp`); residual is added
    before the clamp.
    """

    op: ClassVar[str] = "conv2d"
    dtype: DType
    n: int
    h: int
    w: int
    c: int
    k: int
    kh: int
    kw: int
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)  # top, left, bottom, right
    groups: int = 1
    clamp: bool = False
    residual: bool = False
    wide_weights: bool = False  # int8: some weight is -128, so two products may not fit int16
    short_sums: bool = False  # int8: see `short_sums`; said only where kernels make use of it

    @property
    def oh(self) -> int:
        span = self.dilations[0] * (self.kh - 1) + 1
        return (self.h + self.pads[0] + self.pads[2] - span) // self.strides[0] + 1

    @property
    def ow(self) -> int:
        span = self.dilations[1] * (self.kw - 1) + 1
        return (self.w + self.pads[1] + self.pads[3] - span) // self.strides[1] + 1

    def line(self, flat: bool) -> int:
        """Output positions that tiles run over: a row's, or all of them, one after the other
        (`flat`)."""
        return self.n * self.oh * self.ow if flat else self.ow

    @property
    def depthwise(self) -> bool:
        """Every channel is summed by itself, to one of the output (multiplier 1)."""
        return self.groups == self.c == self.k

    @property
    def macs(self) -> int:
        per_output = self.kh * self.kw * self.c // self.groups
        return self.n * self.oh * self.ow * self.k * per_output


@dataclass(frozen=True)
class FullyConnected(Spec):
    """y(m, n) = x(m, k) · weights(n, k)ᵀ + bias. CONSTANTS and residual as Conv2d,
    weights (n, k)."""

    op: ClassVar[str] = "fully_connected"
    dtype: DType
    m: int
    k: int
    n: int
    clamp: bool = False
    residual: bool = False
    wide_weights: bool = False
    short_sums: bool = False

    @property
    def macs(self) -> int:
        return self.m * self.k * self.n


@dataclass(frozen=True)
class Pool2d(Spec):
    """Average or max pooling, NHWC; a global pool has the image as its window.

    CONSTANTS int8 average: scale (float32, sx/sy), input_zero_point, output_zero_point, lo, hi:
    y = clamp(rint(f32(Σ(x - zx)) * f32(sx / f32(sy * f32(count)))) + zy), the constants being
    input_scale and output_scale (float32). int8 max: none (input and output share parameters).
    `count_include_pad` counts padded positions in the average.
    """

    op: ClassVar[str] = "pool2d"
    dtype: DType
    kind: Literal["average", "max"]
    n: int
    h: int
    w: int
    c: int
    kh: int
    kw: int
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    count_include_pad: bool = False
    ceil_mode: bool = False

    def _out(self, size: int, k: int, stride: int, dilation: int, before: int, after: int) -> int:
        span = size + before + after - (dilation * (k - 1) + 1)
        if not self.ceil_mode:
            return span // stride + 1
        out = -(-span // stride) + 1
        return out - 1 if (out - 1) * stride >= size + before else out

    @property
    def oh(self) -> int:
        return self._out(self.h, self.kh, self.strides[0], self.dilations[0], *self.pads[0::2])

    @property
    def ow(self) -> int:
        return self._out(self.w, self.kw, self.strides[1], self.dilations[1], *self.pads[1::2])


@dataclass(frozen=True)
class Softmax(Spec):
    """Softmax over the last axis of (rows, n), or (float32 only) its logarithm.

    CONSTANTS int8: input_scale, output_scale (float32), output_zero_point.
    """

    op: ClassVar[str] = "softmax"
    dtype: DType
    rows: int
    n: int
    log: bool = False


@dataclass(frozen=True)
class Binary(Spec):
    """Elementwise arithmetic of two tensors of `size` elements.

    The second operand is whole ("same"), one value per last-axis channel ("channel", of
    `channels` elements) or one value ("scalar").
    CONSTANTS int8 add, sub, min, max: ratio (sa/sy), residual_ratio (sb/sy) float32,
    a_zero_point, b_zero_point, output_zero_point, lo, hi. int8 mul: ratio (sa*sb/sy), and div:
    ratio (sa/(sb*sy)), with the zero points.
    CONSTANTS float32: lo, hi when `clamp`.
    """

    op: ClassVar[str] = "binary"
    dtype: DType
    kind: Literal["add", "sub", "mul", "div", "min", "max"]
    size: int
    broadcast: Literal["same", "channel", "scalar"] = "same"
    channels: int = 1
    clamp: bool = False


@dataclass(frozen=True)
class Table(Spec):
    """int8 to int8 through a 256-entry table: y[i] = table[x[i] + 128]. CONSTANTS: table."""

    op: ClassVar[str] = "table"
    dtype: DType
    size: int


@dataclass(frozen=True)
class Unary(Spec):
    """Elementwise float32 function, one of `edgecc.kernels.functions`. CONSTANTS: what its
    PARAMETERS name."""

    op: ClassVar[str] = "unary"
    dtype: DType
    kind: str
    size: int


@dataclass(frozen=True)
class Recentre(Spec):
    """uint8 to int8, minus 128: the same real numbers. No constants."""

    op: ClassVar[str] = "recentre"
    dtype: DType
    size: int


@dataclass(frozen=True)
class Quantize(Spec):
    """float32 to int8: clamp(rint(x / scale) + zero_point). CONSTANTS: scale, zero_point."""

    op: ClassVar[str] = "quantize"
    dtype: DType
    size: int


@dataclass(frozen=True)
class Dequantize(Spec):
    """int8 to float32: f32(q - zero_point) * scale. CONSTANTS: scale, zero_point."""

    op: ClassVar[str] = "dequantize"
    dtype: DType
    size: int


@dataclass(frozen=True)
class Convert(Spec):
    """Reals of `dtype` as reals of the type `to`, rounded to nearest even. No constants."""

    op: ClassVar[str] = "convert"
    dtype: Literal["float32", "float16"]
    to: Literal["float32", "float16"]
    size: int


@dataclass(frozen=True)
class Transpose(Spec):
    """y = x.transpose(permutation). No constants; dtype int8 or float32."""

    op: ClassVar[str] = "transpose"
    dtype: DType
    shape: tuple[int, ...]
    permutation: tuple[int, ...]


@dataclass(frozen=True)
class StridedCopy(Spec):
    """y[i...] = x[i...] between strided windows: strides in elements, outermost axis first. No
    constants; dtype is any that has the element's size.
    """

    op: ClassVar[str] = "strided_copy"
    dtype: str
    shape: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_strides: tuple[int, ...]
