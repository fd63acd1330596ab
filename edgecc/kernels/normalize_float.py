"""float32 normalization: the mean, then the mean square of what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgecc.kernels import float_math as fm
from edgecc.kernels import folding
from edgecc.kernels.elementwise import across, word
from edgecc.kernels.math_spec import Normalize
from edgecc.kernels.normalize_work import Work


class FloatForm(Work):
    """float32: mean, then the mean square of what is left."""

    def __init__(self, k: Any, spec: Normalize, target: Any) -> None:
        super().__init__(k, spec, target)
        self.epsilon = word(k, 0, "float32")
        self.mean: Any = None
        self.inverse: Any = None

    def _inverse(self, squares: Any) -> Any:
        from edgecc.kernels import tir

        variance = squares * tir.T.float32(1.0 / self.spec.count) + self.epsilon
        return tir.let(tir.T.float32(1.0) / self.root(variance, 1))

    def measure_row(self, first: Any) -> None:
        from edgecc.kernels import tir

        m, x = self.spec.m, self.k.inputs[0]
        total = folding.total(m, self.lanes, "float32", lambda at, n: tir.load(x, first + at, n))
        self.mean = tir.let(total * tir.T.float32(1.0 / m))

        def square(at: Any, n: int) -> Any:
            d = tir.let(tir.load(x, first + at, n) - tir.splat(self.mean, n))
            return d * d

        self.inverse = self._inverse(folding.total(m, self.lanes, "float32", square))

    def finished(self, place: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        d = tir.load(self.k.inputs[0], place, n) - tir.splat(self.mean, n)
        return d * tir.splat(self.inverse, n) * scale + shift

    def measure_image(self, first: Any) -> None:
        """scratch: mean of every channel, then its inverse deviation."""
        from edgecc.kernels import tir

        c, s = self.channels, self.k.scratch
        self._channel_sums(first, 0, lambda x, at, n: x)
        self._join(0, lambda total: total * tir.T.float32(1.0 / self.spec.count))

        def square(x: Any, at: Any, n: int) -> Any:
            d = tir.let(x - tir.load(s, at, n))
            return d * d

        self._channel_sums(first, c, square)
        self._join(c, self._inverse)

    def _channel_sums(self, first: Any, to: int, term: Callable[[Any, Any, int], Any]) -> None:
        from edgecc.kernels import tir

        spec, c = self.spec, self.channels

        def chunk(at: Any, n: int) -> None:
            total = tir.local(n, "float32")
            tir.store(total, 0, fm.constant(0.0, n), n)
            with tir.loop(0, spec.n) as i:
                x = tir.load(self.k.inputs[0], first + i * c + at, n)
                tir.store(total, 0, tir.load(total, 0, n) + term(x, at, n), n)
            tir.store(self.k.scratch, to + at, tir.load(total, 0, n), n)

        across(c, self.lanes, chunk)

    def _join(self, at: int, finish: Callable[[Any], Any]) -> None:
        """Every channel's sum becomes finish(its group's sum)."""
        from edgecc.kernels import tir

        m, s = self.spec.m, self.k.scratch
        with tir.loop(0, self.spec.groups) as g:
            first = tir.let(at + g * m)
            value = tir.let(finish(folding.total(m, 1, "float32",
                                               lambda i, n: tir.load(s, first + i, n))))
            with tir.loop(0, m) as i:
                tir.store(s, first + i, value)

    def finished_at(self, place: Any, at: Any, scale: Any, shift: Any, n: int) -> Any:
        from edgecc.kernels import tir

        d = tir.load(self.k.inputs[0], place, n) - tir.load(self.k.scratch, at, n)
        return d * tir.load(self.k.scratch, self.channels + at, n) * scale + shift
