"""The int8 register tile shared by convolutions and matrix products: packing, inner loop, end.

Packed constants: a header of 16 words (see `header`), then one block per NR output columns:
bias int32[NR], scale float32[NR], weights[K / group][NR][group]. Columns and K are padded with
zeros. The bias already holds -input_zero_point * Σw, so activations are multiplied as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.isa.assembled import Shape, add_run, set_rows
from edgecc.kernels.isa.base import Isa
from edgecc.kernels.ring import padded

HEADER_BYTES = 64
UNROLLED_PIECES = 3  # activation loads emitted in a row before a loop is made of them


@dataclass(frozen=True)
class Columns:
    """Output columns cut into blocks of `nr`, the last one narrower (padded to whole vectors)."""

    count: int
    nr: int
    lanes: int

    @property
    def whole(self) -> int:
        return self.count // self.nr

    @property
    def rest(self) -> int:
        return self.count % self.nr

    @property
    def rest_width(self) -> int:
        return padded(self.rest, self.lanes)

    def blocks(self) -> list[tuple[int, int, int]]:
        """(first column, padded width, columns in use) of every block."""
        found = [(i * self.nr, self.nr, self.nr) for i in range(self.whole)]
        if self.rest:
            found.append((self.whole * self.nr, self.rest_width, self.rest))
        return found


def block_bytes(isa: Isa, width: int, depth: int) -> int:
    """Bytes of a block: bias, scale, and `depth` (padded K) weights per column; whole words, so
    that the next block's bias is aligned."""
    return padded(width * (8 + depth * np.dtype(isa.weight_dtype).itemsize), 4)


def header(constants: Mapping[str, Any], clamp: bool, residual: bool, isa: Isa) -> np.ndarray:
    """Words: 0 pad value, 1 zero point, 2-3 float bounds about it, 4-5 int8 bounds,
    6-7 inner float bounds, 8 ratio, 9 residual ratio, 10 residual zero point,
    11-12 inner integer bounds about the zero point."""
    words = np.zeros(16, np.int32)
    floats = words.view(np.float32)
    zero_point = int(constants["output_zero_point"])
    low = int(constants["lo"]) if clamp else -128
    high = int(constants["hi"]) if clamp else 127
    words[0] = int(constants["input_zero_point"]) + isa.activation_offset
    words[1], words[4], words[5] = zero_point, low, high
    floats[2], floats[3] = low - zero_point, high - zero_point
    if residual:
        inner = int(constants["inner_zero_point"])
        floats[6] = int(constants["inner_lo"]) - inner
        floats[7] = int(constants["inner_hi"]) - inner
        floats[8] = np.float32(constants["ratio"])
        floats[9] = np.float32(constants["residual_ratio"])
        words[10] = int(constants["residual_zero_point"])
        words[11] = int(constants["inner_lo"]) - inner
        words[12] = int(constants["inner_hi"]) - inner
    return words.view(np.uint8)


def wrapped(values: np.ndarray) -> np.ndarray:
    """int64 as int32, wrapping as a 32-bit accumulator does."""
    return values.astype(np.uint64).astype(np.uint32).view(np.int32)


def pack_blocks(
    isa: Isa, columns: Columns, weights: np.ndarray, constants: Mapping[str, Any], first: int
) -> np.ndarray:
    """Blocks of `weights` (columns, segments, values) for columns first.. of the constants.

    Every segment (a run of contiguous activations) is padded to whole groups.
    """
    count, segments, values = weights.shape
    depth = segments * padded(values, isa.group)
    full = np.zeros((count, segments, padded(values, isa.group)), np.int32)
    full[:, :, :values] = weights
    total = full.sum(axis=(1, 2), dtype=np.int64)
    offset = int(constants["input_zero_point"]) + isa.activation_offset
    picked = slice(first, first + count)
    bias = np.asarray(constants["bias"], np.int64)[picked] - offset * total
    scale = np.asarray(constants["scale"], np.float32)[picked]
    parts = []
    for start, width, used in columns.blocks():
        block = np.zeros((width, depth), isa.weight_dtype)
        block[:used] = full.reshape(count, depth)[start : start + used]
        fitted = isa if width == columns.nr else isa.fitted(width)
        packed = _by_step(fitted, block.reshape(width, segments, -1))
        head = np.zeros((2, width), np.int32)
        head[0, :used] = wrapped(bias[start : start + used])
        head.view(np.float32)[1, :used] = scale[start : start + used]
        parts += [head.view(np.uint8).ravel(), packed,
                  np.zeros(-packed.size % 4, np.uint8)]
    return np.concatenate(parts)


def _by_step(isa: Isa, block: np.ndarray) -> np.ndarray:
    """Weights (width, segments, values) in the order the multiply steps read them, as bytes."""
    width, segments, values = block.shape
    parts = []
    for at, length in isa.widths(values):
        chunk = isa.chunk(length)
        piece = block[:, :, at : at + length].reshape(width, segments, length // chunk, chunk)
        steps = np.ascontiguousarray(piece.transpose(1, 2, 0, 3))
        parts.append(isa.arranged(steps).reshape(segments, -1))
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).view(np.uint8).ravel()


class Parameters:
    """The header's values as registers, loaded once per call."""

    def __init__(self, k: Any, isa: Isa, residual: bool):
        from edgecc.kernels import tir

        words, floats = k.weights("int32"), k.weights("float32")
        self.pad_value = tir.let(words[0])
        self.zero_point = tir.let(words[1])
        self.lo, self.hi = tir.let(floats[2]), tir.let(floats[3])
        self.low, self.high = tir.let(words[4]), tir.let(words[5])
        self.low_byte = tir.let(tir.T.cast(self.low, "int8"))
        self.high_byte = tir.let(tir.T.cast(self.high, "int8"))
        self.zero_point_vector = tir.let(tir.splat(tir.T.cast(words[1], "int16"), 8))
        if residual:
            self.inner_lo, self.inner_hi = tir.let(floats[6]), tir.let(floats[7])
            self.ratio, self.residual_ratio = tir.let(floats[8]), tir.let(floats[9])
            self.residual_zero_point = tir.let(words[10])
            self.residual_offset = tir.let(tir.T.cast(-words[10], "int16"))
            self.inner_low, self.inner_high = tir.let(words[11]), tir.let(words[12])


@dataclass(frozen=True)
class Run:
    """Activations of a tile: `values` of K at each of `taps` neighbouring positions, which lie
    `pitch` elements apart; the window of the next row of the tile starts `step` positions on."""

    buffer: Any
    values: int
    pitch: int
    taps: int = 1
    step: int = 1
    spare: bool = False  # up to 16 values may be read where fewer are left


@dataclass(frozen=True)
class Tile:
    """MR rows by `width` columns of accumulators, `used` of them real."""

    isa: Isa
    mr: int
    width: int
    used: int

    def start(self, k: Any, block: Any, statement: bool = True) -> Any:
        """Accumulators holding the bias of the block at byte offset `block` (zero where they
        hold partial sums: the bias is then added to the total)."""
        from edgecc.kernels import tir

        acc = tir.local(4 * self.vectors, "int32")
        if statement and self.isa.starts_with_bias:
            bias = tir.T.address_of(k.weights("uint8")[block])
            set_rows(k, acc, self.vectors, self.width, self.isa.row_pairs, bias)
            return acc
        lanes = self.lanes
        for j in range(0, self.width, self.columns):
            value = tir.splat(tir.T.int32(0), lanes)
            if self.isa.partials == 1:
                value = tir.let(tir.load(k.weights("int32"), block // 4 + j, lanes))
            for i in range(self.mr):
                tir.store(acc, self.place(i, j), value, lanes)
        return acc

    @property
    def vectors(self) -> int:
        """Accumulators, in vectors of four int32."""
        rows = padded(self.mr, 2) if self.isa.row_pairs else self.mr
        return -(-rows * self.width * self.isa.partials // 4)

    @property
    def lanes(self) -> int:
        """int32 in an accumulator vector while summing."""
        return self.isa.acc_lanes or self.isa.lanes

    @property
    def columns(self) -> int:
        return self.isa.columns or self.isa.lanes

    def place(self, i: int, j: int) -> int:
        """Index of the accumulator vector of row i whose first column is j."""
        return (i * self.width + j) * self.isa.partials

    def accumulate(self, k: Any, acc: Any, run: Run, base: Any, at: Any) -> None:
        """Add a run of activations, the first at element `base`, times the weights from element
        `at` of the packed weights on."""
        from edgecc.kernels import tir

        if self.isa.assembled:
            self._statement(k, acc, run, base, at)
            return
        weights = k.weights(self.isa.weight_dtype)
        pieces = self.isa.widths(padded(run.values, self.isa.group))
        whole = sum(length == self.isa.piece for _, length in pieces) // self.isa.turns

        def add(first: Any, some: list[tuple[int, int]]) -> None:
            for offset, length in some:
                self._piece(acc, run, base + (first + offset), weights,
                            at + (first + offset) * self.width, length)

        if whole * self.isa.turns > UNROLLED_PIECES:
            with tir.loop(0, whole) as turn:
                add(turn * (self.isa.piece * self.isa.turns), pieces[: self.isa.turns])
            pieces = pieces[whole * self.isa.turns :]
        add(0, pieces)

    def _piece(self, acc: Any, run: Run, base: Any, weights: Any, at: Any, length: int) -> None:
        from edgecc.kernels import tir

        isa = self.isa
        rows = [isa.load(run.buffer, base + i * run.pitch, length) for i in range(self.mr)]
        chunk = isa.chunk(length)
        for step in range(length // chunk):
            for j in range(0, self.width, self.columns):
                offset = at + (step * self.width + j) * chunk
                column = isa.column(weights, offset, chunk)
                for i in range(self.mr):
                    place = self.place(i, j)
                    value = isa.multiply(tir.load(acc, place, self.lanes), rows[i][step], column)
                    tir.store(acc, place, value, self.lanes)

    def _statement(self, k: Any, acc: Any, run: Run, base: Any, at: Any) -> None:
        from edgecc.kernels import tir

        shape = Shape(self.vectors, self.mr, self.width, padded(run.values, self.isa.group),
                      run.pitch, run.taps, run.step, run.spare)
        weights = k.weights(self.isa.weight_dtype)
        add_run(k, acc, self.isa.statement, shape, self.isa.name,
                tir.T.address_of(run.buffer[base]), tir.T.address_of(weights[at]))

    def finish(
        self, k: Any, acc: Any, block: Any, params: Parameters, base: Any, stride: int,
        clamp: bool, residual: Any = None,
    ) -> None:
        """Requantize and store rows at base + i * stride of output 0."""
        from edgecc.kernels import tir

        scale, isa = k.weights("float32"), self.isa
        scales = [tir.let(tir.load(scale, block // 4 + self.width + j, isa.lanes))
                  for j in range(0, self.width, isa.lanes)]
        for i in range(self.mr):
            values = [
                isa.scaled(self._sum(k, acc, block, i, j * isa.lanes), scales[j])
                for j in range(self.width // isa.lanes)
            ]
            self.store_row(k, values, residual, base + i * stride, params, clamp)

    def store_row(self, k: Any, values: list[Any], residual: Any, row: Any, params: Parameters,
                  clamp: bool) -> None:
        """Store a row of scaled sums at element `row`, after adding the residual if any."""
        if residual is None:
            vectors = self.isa.narrow_scaled(values, params, clamp)
        else:
            values = self._with_residual(values, residual, row, params)
            vectors = self.isa.narrow(values, params, clamp)
        self._write(k.outputs[0], row, vectors)

    def _sum(self, k: Any, acc: Any, block: Any, i: int, j: int) -> Any:
        """The finished int32 sums of row i, columns j to j + lanes."""
        from edgecc.kernels import tir

        lanes = self.isa.lanes
        if self.isa.row_pairs:
            at = 4 * (i // 2 * (self.width // 2) + j // 2)
            return self.isa.row_of(i % 2 == 0, *(tir.load(acc, at + o, lanes) for o in (0, 4)))
        if self.isa.partials == 1:
            return tir.load(acc, self.place(i, j), lanes)
        parts = [tir.load(acc, self.place(i, j + c), lanes) for c in range(lanes)]
        return self.isa.total(parts) + tir.load(k.weights("int32"), block // 4 + j, lanes)

    def _with_residual(self, values: list[Any], residual: Any, row: Any, params: Parameters) -> Any:
        from edgecc.kernels import tir

        isa, out = self.isa, []
        dtype = tir.vector("float32", isa.lanes)
        others = self._others(residual, row, params)
        for value, other in zip(values, others, strict=True):
            ratio, other_ratio = (tir.splat(r, isa.lanes)
                                  for r in (params.ratio, params.residual_ratio))
            first = tir.fenced(isa.inner(value, params) * ratio, dtype)
            out.append(tir.let(first + tir.fenced(other * other_ratio, dtype)))
        return out

    def _others(self, residual: Any, row: Any, params: Parameters) -> list[Any]:
        """The residual of a row about its zero point: as many vectors as the row has."""
        from edgecc.kernels import tir

        found, column, isa = [], 0, self.isa
        while column < self.width:
            lanes = max(isa.residual_lanes, isa.lanes)
            while lanes > isa.lanes and column + lanes > self.used:
                lanes //= 2
            values = (tir.load(residual, row + column, lanes) if lanes > isa.lanes
                      else self._residual_lanes(residual, row + column, column))
            found += isa.centred(values, lanes, params)
            column += lanes
        return found

    def _residual_lanes(self, residual: Any, offset: Any, column: int) -> Any:
        """A vector of the residual; lanes past the last column are not read."""
        from edgecc.kernels import tir

        lanes = self.isa.lanes
        if column + lanes <= self.used:
            return tir.load(residual, offset, lanes)
        held = tir.local(lanes, "int8")
        for lane in range(lanes):
            inside = column + lane < self.used
            tir.store(held, lane, residual[offset + lane] if inside else tir.T.int8(0))
        return tir.load(held, 0, lanes)

    def _write(self, output: Any, row: Any, vectors: list[tuple[Any, int]]) -> None:
        from edgecc.kernels import tir

        column = 0
        for value, lanes in vectors:
            inside = min(lanes, self.used - column)
            if inside == lanes:
                tir.store(output, row + column, value, lanes)
            elif inside > 0:
                kept = tir.let(value)
                for lane in range(inside):
                    tir.store(output, row + column + lane, tir.T.Shuffle([kept], [lane]))
            column += lanes
