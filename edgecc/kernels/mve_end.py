"""How MVE kernels end: four int32 sums become four int8 values of the output.

VCVTN rounds half to even and saturates; the bounds are applied to the integers about the zero
point, so nothing can overflow when it is added.
Source: Armv8-M Architecture Reference Manual, VCVTN, VMAX, VMIN.
"""

from __future__ import annotations

from typing import Any

from edgecc.kernels.isa.mve import MveEnd

LANES = 4
VCVTN = "llvm.arm.mve.vcvtn.v4i32.v4f32"


class End:
    """The header's parameters in registers, and what is done with them.

    `bounds`: keep them in two vectors, which tighter ones than int8's need and which save an
    instruction; else nothing is kept.
    """

    def __init__(self, k: Any, residual: bool, bounds: bool) -> None:
        from edgecc.kernels import tir
        from edgecc.kernels.int8_parameters import Parameters

        self.k, self.residual, self.bounds = k, residual, bounds
        self.params = Parameters(k, MveEnd(), residual)
        self.zero_point = tir.splat(self.params.zero_point, LANES)
        self.low = tir.let(tir.splat(self.params.low - self.params.zero_point, LANES))
        self.high = tir.let(tir.splat(self.params.high - self.params.zero_point, LANES))

    def __call__(self, total: Any, scale: Any, at: Any, lanes: int = LANES) -> None:
        """Requantize int32x4 sums and store the first `lanes` of them at element `at`."""
        self.rows([total], scale, [at], lanes)

    def rows(self, totals: list[Any], scale: Any, places: list[Any], lanes: int) -> None:
        """The same for sums of several places; all is read before anything is stored, so places
        may be equal where sums are."""
        from edgecc.kernels import tir

        values = [tir.let(self._value(total, scale, at, lanes))
                  for total, at in zip(totals, places, strict=True)]
        for value, at in zip(values, places, strict=True):
            if lanes == LANES:
                tir.store(self.k.outputs[0], at, value, LANES)
                continue
            for lane in range(lanes):
                tir.store(self.k.outputs[0], at + lane, tir.T.Shuffle([value], [lane]))

    def _value(self, total: Any, scale: Any, at: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        real = tir.T.cast(total, "float32x4") * scale
        if self.residual:
            real = self._added(real, at, lanes)
        return self._bytes(tir.llvm("int32x4", VCVTN, tir.T.int32(0), real))

    def _bytes(self, whole: Any) -> Any:
        """int8 of integers about the zero point."""
        from edgecc.kernels import tir

        T = tir.T
        if self.bounds:
            bounded = T.min(T.max(whole, self.low), self.high)
            return T.cast(bounded + self.zero_point, "int8x4")
        moved = tir.llvm("int32x4", "llvm.sadd.sat.v4i32", whole, self.zero_point)
        halves = T.reinterpret("int16x8", _saturated(moved, "int32", 15))
        return T.cast(T.reinterpret("int32x4", _saturated(halves, "int16", 7)), "int8x4")

    def _added(self, real: Any, at: Any, lanes: int) -> Any:
        """`real` rounded and clamped, plus the residual; both products rounded to float32."""
        from edgecc.kernels import tir

        T, params = tir.T, self.params
        low, high = tir.splat(params.inner_lo, LANES), tir.splat(params.inner_hi, LANES)
        above = tir.llvm("float32x4", "llvm.maxnum.v4f32", real, low)  # T.max would compare
        inner = MveEnd().rounded(tir.llvm("float32x4", "llvm.minnum.v4f32", above, high))
        centred = self._residual(at, lanes) - tir.splat(params.residual_zero_point, LANES)
        first = tir.fenced(inner * tir.splat(params.ratio, LANES), "float32x4")
        ratio = tir.splat(params.residual_ratio, LANES)
        second = tir.fenced(T.cast(centred, "float32x4") * ratio, "float32x4")
        return first + second

    def _residual(self, at: Any, lanes: int) -> Any:
        """Four values as int32; those past the last are not read."""
        from edgecc.kernels import tir

        other = self.k.inputs[1]
        if lanes == LANES:
            return tir.T.cast(tir.load(other, at, LANES), "int32x4")
        held = tir.local(LANES, "int8")
        for lane in range(LANES):
            tir.store(held, lane, other[at + lane] if lane < lanes else tir.T.int8(0))
        return tir.T.cast(tir.load(held, 0, LANES), "int32x4")


def _saturated(values: Any, dtype: str, bits: int) -> Any:
    """Between -2^bits and 2^bits - 1: VQMOVN."""
    from edgecc.kernels import tir

    lanes = 16 // (4 if dtype == "int32" else 2)
    low, high = (tir.splat(tir.T.cast(value, dtype), lanes)
                 for value in (-(1 << bits), (1 << bits) - 1))
    return tir.T.min(tir.T.max(values, low), high)
