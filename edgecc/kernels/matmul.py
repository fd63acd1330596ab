"""Products of two computed matrices, in blocks of rows of a and vectors of columns of b: float32,
and int8 of few rows (`matmul_int8` has the others).

A b whose columns are not adjacent (a transposed one) is first turned around in scratch, once per
matrix and call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from edgecc.kernels.elementwise import (
    accept_all,
    across,
    bounded,
    header,
    nothing,
    scaled,
    to_float,
    to_int8,
    vector_bytes,
    word,
)
from edgecc.kernels.math_spec import MatMul
from edgecc.kernels.registry import KernelRecord

ROWS = 4
STEP = 8  # summands that are taken from a at a time


def blocks(spec: MatMul) -> int:
    return -(-spec.m // ROWS)


def registers(target: Any) -> int:
    """Registers of sums a row: four are one instruction where registers form groups."""
    return 4 if target.features & {"rvv128", "rvv256"} else 2


def extent(spec: MatMul) -> int:
    """Blocks of rows of every matrix."""
    return spec.batches * blocks(spec)


def turned(spec: MatMul) -> bool:
    """Whether b has to be turned around."""
    return spec.b_strides[-1] != 1 and spec.n > 1


def scratch_bytes(spec: MatMul) -> int:
    return spec.k * spec.n * (1 if spec.dtype == "int8" else 4) if turned(spec) else 0


def pack_int8(spec: MatMul, constants: Mapping[str, Any]) -> np.ndarray:
    """scale, three zero points, lo, hi."""
    limits = (constants["lo"], constants["hi"]) if spec.clamp else (-128, 127)
    zeros = (constants[f"{name}_zero_point"] for name in ("a", "b", "output"))
    return header(np.float32(constants["scale"]), *(int(v) for v in (*zeros, *limits)))


def pack_float(spec: MatMul, constants: Mapping[str, Any]) -> np.ndarray:
    if not spec.clamp:
        return nothing(spec, constants)
    return header(np.float32(constants["lo"]), np.float32(constants["hi"]))


def build(spec: MatMul, symbol: str, target: Any) -> Any:
    from edgecc.kernels import tir

    words = spec.k * spec.n if turned(spec) else 0
    weights = spec.dtype == "int8" or spec.clamp
    with tir.kernel(symbol, inputs=[(spec.dtype, spec.a_size), (spec.dtype, spec.b_size)],
                    outputs=[(spec.dtype, spec.batches * spec.m * spec.n)], weights=weights,
                    scratch=(spec.dtype, words) if words else None) as k:
        form = (_Int8 if spec.dtype == "int8" else _Float)(k, spec, target)
        with tir.loop(k.begin, k.end) as line:
            _block(form, line)
    return k.func


def _block(form: _Product, line: Any) -> None:
    """One block of rows; a new matrix b is turned around first."""
    from edgecc.kernels import tir

    spec, count = form.spec, blocks(form.spec)
    matrix, block = tir.let(line // count), tir.let(line % count)
    a, b = (tir.let(start_of(spec, strides, matrix))
            for strides in (spec.a_strides, spec.b_strides))
    if turned(spec):
        with tir.when(tir.T.Or(line == form.k.begin, block == 0)):
            _turn(form, b)
    out = tir.let(matrix * (spec.m * spec.n) + block * (ROWS * spec.n))
    a = tir.let(a + block * (ROWS * spec.a_strides[-2]))
    whole, rest = divmod(spec.m, ROWS)
    if whole:
        with tir.when(block < whole):
            form.rows(a, b, out, ROWS)
    if rest:
        with tir.when(block == whole):
            form.rows(a, b, out, rest)


def start_of(spec: MatMul, strides: tuple[int, ...], matrix: Any) -> Any:
    """Element offset of a matrix of the batch."""
    from edgecc.kernels import tir

    start, step = tir.T.int32(0), 1
    for size, stride in reversed(list(zip(spec.batch, strides[:-2], strict=True))):
        if stride:
            start = start + matrix // step % size * stride
        step *= size
    return start


def _turn(form: _Product, b: Any) -> None:
    """scratch (k, n) of b."""
    from edgecc.kernels import tir

    spec = form.spec
    down, across_ = spec.b_strides[-2:]
    with tir.loop(0, spec.k) as i, tir.loop(0, spec.n) as j:
        value = tir.load(form.k.inputs[1], b + i * down + j * across_)
        tir.store(form.k.scratch, i * spec.n + j, value)


def _lane(value: Any, index: int, count: int, lanes: int) -> Any:
    """One lane of a vector, everywhere."""
    from edgecc.kernels import tir

    return tir.splat(value if count == 1 else tir.T.Shuffle([value], [index]), lanes)


class _Product:
    """The sums of a block, in registers of `kind`; subclasses say what is summed and stored."""

    kind = "float32"

    def __init__(self, k: Any, spec: MatMul, target: Any) -> None:
        self.k, self.spec, self.target = k, spec, target
        self.lanes = vector_bytes(target) // 4 * registers(target)

    def _b(self, b: Any, i: Any, at: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        if turned(self.spec):
            return tir.load(self.k.scratch, i * self.spec.n + at, lanes)
        return tir.load(self.k.inputs[1], b + i * self.spec.b_strides[-2] + at, lanes)

    def rows(self, a: Any, b: Any, out: Any, count: int) -> None:
        """`count` rows from a on, for all columns."""
        from edgecc.kernels import tir

        spec = self.spec
        down, along = spec.a_strides[-2:]

        def chunk(at: Any, lanes: int) -> None:
            sums = [tir.local(lanes, self.kind) for _ in range(count)]
            for each in sums:
                tir.store(each, 0, tir.splat(tir.T.cast(0, self.kind), lanes), lanes)
            steps = STEP if along == 1 else 1
            whole = spec.k // steps
            if whole:
                with tir.loop(0, whole) as i:
                    self._steps(a, b, (i * steps, steps, at, lanes), sums)
            if spec.k % steps:
                with tir.loop(whole * steps, spec.k) as i:
                    self._steps(a, b, (i, 1, at, lanes), sums)
            for row, each in enumerate(sums):
                y = self.finished(tir.load(each, 0, lanes), lanes)
                tir.store(self.k.outputs[0], out + row * spec.n + at, y, lanes)

        across(spec.n, self.lanes, chunk)

    def _steps(self, a: Any, b: Any, place: tuple[Any, int, Any, int], sums: list[Any]) -> None:
        """`count` summands from i on: one vector of every row of a, taken apart by lanes."""
        from edgecc.kernels import tir

        i, count, at, lanes = place
        down, along = self.spec.a_strides[-2:]
        left = [tir.let(self.left(tir.load(self.k.inputs[0], a + row * down + i * along, count),
                                  count)) for row in range(len(sums))]
        for step in range(count):
            right = tir.let(self.right(self._b(b, i + step, at, lanes), lanes))
            for mine, each in zip(left, sums, strict=True):
                product = self.product(_lane(mine, step, count, lanes), right, lanes)
                tir.store(each, 0, tir.load(each, 0, lanes) + product, lanes)

    def left(self, value: Any, lanes: int) -> Any:
        return value

    def right(self, value: Any, lanes: int) -> Any:
        return value

    def product(self, left: Any, right: Any, lanes: int) -> Any:
        return left * right

    def finished(self, total: Any, lanes: int) -> Any:
        return total


class _Float(_Product):
    def __init__(self, k: Any, spec: MatMul, target: Any) -> None:
        super().__init__(k, spec, target)
        self.limits = [word(k, i, "float32") for i in range(2)] if spec.clamp else []

    def finished(self, total: Any, lanes: int) -> Any:
        return bounded(total, self.limits[0], self.limits[1], lanes) if self.limits else total


class _Int8(_Product):
    kind = "int32"

    def __init__(self, k: Any, spec: MatMul, target: Any) -> None:
        from edgecc.kernels import tir

        super().__init__(k, spec, target)
        self.scale = word(k, 0, "float32")
        self.za, self.zb, self.zy = (tir.let(tir.T.cast(word(k, i, "int32"), "int16"))
                                     for i in (1, 2, 3))
        self.limits = tuple(tir.let(tir.T.cast(word(k, i, "int32"), "int8")) for i in (4, 5))

    def left(self, value: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        return tir.T.cast(value, tir.vector("int16", lanes)) - tir.splat(self.za, lanes)

    def right(self, value: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        return tir.T.cast(value, tir.vector("int16", lanes)) - tir.splat(self.zb, lanes)

    def product(self, left: Any, right: Any, lanes: int) -> Any:
        from edgecc.kernels import tir

        wide = tir.vector("int32", lanes)
        return tir.T.cast(left, wide) * tir.T.cast(right, wide)

    def finished(self, total: Any, lanes: int) -> Any:
        real = scaled(to_float(total, lanes), self.scale, lanes)
        return to_int8(self.target, real, self.zy, lanes,
                       self.limits if self.spec.clamp else None)


def _cost(per_mac: float) -> Callable[[MatMul], float]:
    """An estimate for cores that spend `per_mac` instructions on a multiplication."""

    def cost(spec: MatMul) -> float:
        turning = 4.0 * spec.k * spec.n * spec.batches if turned(spec) else 0
        return 60 + per_mac * spec.macs + turning

    return cost


def _record(name: str, dtype: str, pack: Any, per_mac: float, wants: Iterable[str] = ()
            ) -> KernelRecord:
    return KernelRecord(f"{dtype}_matmul_{name}", "matmul", dtype, frozenset(), accept_all,
                        _cost(per_mac), extent, pack, build, scratch_bytes=scratch_bytes,
                        fast=True, wants=frozenset(wants))


# The same code with and without vectors; few rows are not worth bringing b into another order.
KERNELS = (
    _record("4x8__generic", "int8", pack_int8, 0.6, {"vectors"}),
    replace(_record("unpacked_4x2__scalar", "int8", pack_int8, 6.0, {"fpu"}), fast=False),
    _record("4x8__generic", "float32", pack_float, 0.4),
)
