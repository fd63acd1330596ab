"""int8 normalization: sums exactly in integers, the rest in float32 as the law has it."""

from __future__ import annotations

from typing import Any

from edgecc.kernels import folding
from edgecc.kernels.elementwise import across, to_int8, widened, word
from edgecc.kernels.math_spec import Normalize
from edgecc.kernels.normalize_work import Work


class Int8Form(Work):
    """int8: S = sum(x - zx) and Q = sum((x - zx)^2) exactly, the rest in float32 as the law."""

    def __init__(self, k: Any, spec: Normalize, target: Any) -> None:
        from edgecc.kernels import tir

        super().__init__(k, spec, target)
        self.zx = tir.let(tir.T.cast(word(k, 0, "int32"), "int8"))
        self.zy = tir.let(tir.T.cast(word(k, 1, "int32"), "int16"))
        self.floor = word(k, 2, "float32")
        self.total: Any = None
        self.inverse: Any = None

    def centred(self, place: Any, n: int) -> Any:
        from edgecc.kernels import tir

        x = widened(tir.load(self.k.inputs[0], place, n), self.zx, n)
        return tir.T.cast(x, tir.vector("int32", n))

    def _inverse(self, total: Any, squares: Any) -> Any:
        """1 / sqrt(count * Q - S^2 + floor); the int64 goes to float32 in two exact halves."""
        from edgecc.kernels import tir

        T = tir.T
        wide, other = T.cast(total, "int64"), T.cast(squares, "int64")
        spread = tir.let(other * T.int64(self.spec.count) - wide * wide)
        high = T.cast(T.cast(T.shift_right(spread, T.int64(24)), "int32"), "float32")
        low = T.cast(T.cast(T.bitwise_and(spread, T.int64((1 << 24) - 1)), "int32"), "float32")
        real = tir.fenced(high * T.float32(1 << 24) + low, "float32")
        return tir.let(T.float32(1.0) / self.root(real + self.floor, 1))

    def measure_row(self, first: Any) -> None:
        m, lanes = self.spec.m, self.lanes
        self.total = folding.total(m, lanes, "int32", lambda at, n: self.centred(first + at, n))
        self.inverse = self._inverse(self.total, folding.total(
            m, lanes, "int32", lambda at, n: self._square(first + at, n)))

    def _square(self, place: Any, n: int) -> Any:
        from edgecc.kernels import tir

        x = tir.let(self.centred(place, n))
        return x * x

    def _scaled(self, place: Any, total: Any, inverse: Any, rows: tuple[Any, Any], n: int) -> Any:
        from edgecc.kernels import tir

        kind = tir.vector("float32", n)
        deviation = self.centred(place, n) * tir.splat(tir.T.int32(self.spec.count), n) - total
        unit = tir.fenced(tir.T.cast(deviation, kind) * inverse, kind)
        real = tir.fenced(unit * rows[0], kind) + rows[1]
        return to_int8(self.target, real, self.zy, n)

    def finished(self, place: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        total, inverse = tir.splat(self.total, n), tir.splat(self.inverse, n)
        return self._scaled(place, total, inverse, (scale, shift), n)

    def measure_image(self, first: Any) -> None:
        """scratch: S of every channel's group, then the bits of its inverse deviation."""
        from edgecc.kernels import tir

        spec, c, s = self.spec, self.channels, self.k.scratch

        def chunk(at: Any, n: int) -> None:
            sums = [tir.local(n, "int32") for _ in range(2)]
            for buffer in sums:
                tir.store(buffer, 0, tir.splat(tir.T.int32(0), n), n)
            with tir.loop(0, spec.n) as i:
                x = tir.let(self.centred(first + i * c + at, n))
                for buffer, term in zip(sums, (x, x * x), strict=True):
                    tir.store(buffer, 0, tir.load(buffer, 0, n) + term, n)
            for i, buffer in enumerate(sums):
                tir.store(s, i * c + at, tir.load(buffer, 0, n), n)

        across(c, self.lanes, chunk)
        with tir.loop(0, spec.groups) as g:
            self._join(tir.let(g * spec.m))

    def _join(self, first: Any) -> None:
        from edgecc.kernels import tir

        m, c, s = self.spec.m, self.channels, self.k.scratch
        def along(at: int) -> Any:
            return folding.total(m, 1, "int32", lambda i, n: tir.load(s, first + at + i, n))

        total, squares = along(0), along(c)
        bits = tir.let(tir.T.reinterpret("int32", self._inverse(total, squares)))
        with tir.loop(0, m) as i:
            tir.store(s, first + i, total)
            tir.store(s, first + c + i, bits)

    def finished_at(self, place: Any, at: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        total = tir.load(self.k.scratch, at, n)
        bits = tir.load(self.k.scratch, self.channels + at, n)
        inverse = tir.T.reinterpret(tir.vector("float32", n), bits)
        return self._scaled(place, total, inverse, (scale, shift), n)
