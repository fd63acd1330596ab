"""int8 depthwise convolution, NHWC, multiplier 1.

dotprod: SDOT adds four taps of one channel at once, so four positions of 16 channels are
interleaved (eight ZIPs) into vectors of 4 channels x 4 taps. Neighbouring outputs share the
interleaved vectors: an output that starts on an odd column uses the vectors of the even column
before it with its weights shifted by one tap.
Elsewhere: vectors over channels, one widening multiply per tap.

Packed constants: header, then per block of channels bias int32, scale float32 and the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.kernels.int8_tile import HEADER_BYTES, Parameters, Tile, header, wrapped
from edgecc.kernels.isa import avx2, base, dotprod, mve, neon, rvv, scalar, vnni
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.ring import Ring, RingShape, padded
from edgecc.kernels.spec import Conv2d

Quad = tuple[tuple[int, int] | None, ...]  # four taps as (ky, column), None where there is none
BLOCK = 16  # channels at a time


@dataclass(frozen=True)
class Plan:
    """A depthwise convolution in tiles of `mr` neighbouring outputs."""

    spec: Conv2d
    isa: base.Isa
    mr: int

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """(first channel, width, channels in use) of every block."""
        c, step = self.spec.c, max(BLOCK, self.isa.lanes)
        found = [(i, step) for i in range(0, c - c % step, step)]
        at = len(found) * step
        while at < c:
            width = self.isa.lanes
            while width * 2 <= c - at:
                width *= 2
            found.append((at, width))
            at += width
        return found

    @property
    def ring(self) -> RingShape:
        return RingShape(self.spec, slack=max(BLOCK, self.isa.lanes))

    @property
    def ringed(self) -> bool:
        """Whether rows go through scratch: to pad them, or to let a last vector run over."""
        return any(self.spec.pads) or self.spec.c % self.isa.lanes != 0

    @property
    def extent(self) -> int:
        return self.spec.n * self.spec.oh


def quads(spec: Conv2d, first: int) -> list[Quad]:
    """The groups of four taps of an output whose window starts at column `first` of the tile."""
    if spec.kw == 1 or spec.dilations[1] > 1:
        taps: list[tuple[int, int] | None] = [
            (ky, first + kx * spec.dilations[1]) for kx in range(spec.kw) for ky in range(spec.kh)
        ]
        taps += [None] * (-len(taps) % 4)
        return [tuple(taps[i : i + 4]) for i in range(0, len(taps), 4)]
    even, shift = first - first % 2, first % 2
    found: list[Quad] = []
    for ky in range(spec.kh):
        for q in range(-(-(spec.kw + shift) // 4)):
            found.append(tuple((ky, even + 4 * q + j) for j in range(4)))
    return found


def quad_weights(spec: Conv2d, weights: np.ndarray, shift: int) -> np.ndarray:
    """Weights (c, kh, kw) by quad: (quads, c, 4), zero where a quad's column is no tap."""
    groups = quads(spec, shift)
    out = np.zeros((len(groups), weights.shape[0], 4), np.int8)
    for q, group in enumerate(groups):
        for j, tap in enumerate(group):
            if tap is None:
                continue
            kx, odd = divmod(tap[1] - shift, spec.dilations[1])
            if 0 <= kx < spec.kw and not odd:
                out[q, :, j] = weights[:, tap[0], kx]
    return out


def shifts(plan: Plan) -> list[int]:
    """0, and 1 where some output of a tile starts on an odd column."""
    starts = [i * plan.spec.strides[1] % 2 for i in range(plan.mr)]
    plain = plan.spec.kw == 1 or plan.spec.dilations[1] > 1
    return [0] if plain else sorted(set(starts))


def weight_bytes(plan: Plan) -> int:
    """Packed weight bytes per channel."""
    if isinstance(plan.isa, dotprod.DotProd):
        return sum(4 * len(quads(plan.spec, shift)) for shift in shifts(plan))
    return plan.spec.kh * plan.spec.kw


def pack(plan: Plan, constants: Mapping[str, Any]) -> np.ndarray:
    spec = plan.spec
    weights = np.asarray(constants["weights"]).reshape(spec.c, spec.kh, spec.kw)
    raw = base.Isa()  # activations are used as they are on every instruction set
    parts = [header(constants, spec.clamp, spec.residual, raw)]
    zero_point = int(constants["input_zero_point"])
    total = weights.sum(axis=(1, 2), dtype=np.int64)
    bias = np.asarray(constants["bias"], np.int64) - zero_point * total
    for first, width in plan.blocks:
        used = min(width, spec.c - first)
        head = np.zeros((2, width), np.int32)
        head[0, :used] = wrapped(bias[first : first + used])
        head.view(np.float32)[1, :used] = np.asarray(constants["scale"])[first : first + used]
        block = np.zeros((width, spec.kh, spec.kw), np.int8)
        block[:used] = weights[first : first + used]
        packed = _packed_weights(plan, block)
        parts += [head.view(np.uint8).ravel(), packed, np.zeros(-packed.size % 4, np.uint8)]
    return np.concatenate(parts)


def block_bytes(plan: Plan, width: int) -> int:
    """Packed bytes of a block of channels: whole words, so that the next one is aligned."""
    return padded(width * (8 + weight_bytes(plan)), 4)


def _packed_weights(plan: Plan, block: np.ndarray) -> np.ndarray:
    if not isinstance(plan.isa, dotprod.DotProd):
        return np.ascontiguousarray(block.transpose(1, 2, 0)).view(np.uint8).ravel()
    variants = [quad_weights(plan.spec, block, shift) for shift in shifts(plan)]
    return np.concatenate([v.view(np.uint8).ravel() for v in variants])


def accepts(plan: Plan) -> str | None:
    spec = plan.spec
    if not spec.groups == spec.c == spec.k:
        return "not a depthwise convolution of multiplier 1"
    if isinstance(plan.isa, dotprod.DotProd) and spec.c % 8:
        return f"{spec.c} channels are not a multiple of 8"
    return None


def scratch_bytes(plan: Plan) -> int:
    return plan.ring.elements if plan.ringed else 0


def cost(plan: Plan) -> float:
    """Estimated instructions: interleaving and products per block and tile, and the copies."""
    spec, isa = plan.spec, plan.isa
    rows = spec.n * spec.oh
    tiles = rows * -(-spec.ow // plan.mr)
    outputs = rows * spec.ow
    blocks = sum(width for _, width in plan.blocks) / BLOCK
    per_tile: float
    per_output: float
    if isinstance(isa, dotprod.DotProd):
        loads, pairs, groups = _distinct(plan)
        per_tile = loads + 2 * pairs + 4 * groups + 2 * weight_bytes(plan) / 4 + 12
        per_output = 4 * len(quads(spec, 0)) + 22
    else:
        per_tile = spec.kh * spec.kw * 8 + 12
        per_output = spec.kh * spec.kw * BLOCK / isa.lanes * 3 + 30
    spill = 2.0 if plan.mr * BLOCK / isa.lanes + 8 > isa.registers else 1.0
    return blocks * (tiles * per_tile * spill + outputs * per_output) + rows * spec.w * spec.c / 8


def _distinct(plan: Plan) -> tuple[int, int, int]:
    """Distinct positions, pairs and quads of one tile."""
    spec = plan.spec
    groups = {q for i in range(plan.mr) for q in quads(spec, i * spec.strides[1])}
    pairs = {half for q in groups for half in (q[:2], q[2:])}
    return len({p for q in groups for p in q}), len(pairs), len(groups)


def build(plan: Plan, symbol: str) -> Any:
    from edgecc.kernels import tir

    spec = plan.spec
    size = spec.n * spec.oh * spec.ow * spec.k
    inputs = [("int8", spec.n * spec.h * spec.w * spec.c)]
    inputs += [("int8", size)] if spec.residual else []
    scratch = ("int8", plan.ring.elements) if plan.ringed else None
    with tir.kernel(symbol, inputs=inputs, outputs=[("int8", size)], weights=True,
                    scratch=scratch, may_alias=True) as k:
        _Code(k, plan).emit()
    return k.func


class _Code:
    """Emits one depthwise convolution."""

    def __init__(self, k: Any, plan: Plan):
        from edgecc.kernels import tir

        self.k, self.plan, self.spec = k, plan, plan.spec
        self.params = Parameters(k, plan.isa, self.spec.residual)
        self.buffer = k.scratch if plan.ringed else k.inputs[0]
        pad = tir.T.cast(self.params.pad_value, "int8")
        self.ring = Ring(k, plan.ring, pad, lambda values, lanes: values)

    def emit(self) -> None:
        from edgecc.kernels import tir

        if self.plan.ringed:
            self.ring.clear()
        with tir.loop(self.k.begin, self.k.end) as row:
            image, y = tir.let(row // self.spec.oh), tir.let(row % self.spec.oh)
            if self.plan.ringed:
                self.ring.advance(row, image, y)
            lines = [tir.let(self._line(image, y, ky)) for ky in range(self.spec.kh)]
            self._blocks(row, lines)

    def _line(self, image: Any, y: Any, ky: int) -> Any:
        """Element offset of the input row under kernel row ky."""
        line = y * self.spec.strides[0] + ky * self.spec.dilations[0]
        if self.plan.ringed:
            return self.ring.slot(line)
        return (image * self.spec.h + line) * (self.spec.w * self.spec.c)

    def _blocks(self, row: Any, lines: list[Any]) -> None:
        from edgecc.kernels import tir

        blocks = self.plan.blocks
        width = blocks[0][1]
        start, size = HEADER_BYTES, block_bytes(self.plan, width)
        same = sum(1 for first, w in blocks if w == width and first + w <= self.spec.c)
        if same > 1:
            with tir.loop(0, same) as j:
                self._tiles(row, lines, start + j * size, j * width, width, width)
            blocks, start = blocks[same:], start + same * size
        for first, w in blocks:
            self._tiles(row, lines, start, first, w, min(w, self.spec.c - first))
            start += block_bytes(self.plan, w)

    def _tiles(self, row: Any, lines: list[Any], block: Any, channel: Any, width: int, used: int):
        from edgecc.kernels import tir

        spec = self.spec
        whole, rest = divmod(spec.ow, self.plan.mr)
        out = row * (spec.ow * spec.k) + channel

        def at(x: Any, rows: int) -> None:
            self._tile(lines, block, channel + x * (spec.strides[1] * spec.c), width, used, rows,
                       out + x * spec.k)

        if whole == 1:
            at(0, self.plan.mr)
        elif whole:
            with tir.loop(0, whole) as t:
                at(t * self.plan.mr, self.plan.mr)
        if rest:
            at(whole * self.plan.mr, rest)

    def _tile(self, lines: list[Any], block: Any, across: Any, width: int, used: int, rows: int,
              out: Any) -> None:
        spec = self.spec
        tile = Tile(self.plan.isa, rows, width, used)
        acc = tile.start(self.k, block)
        if isinstance(self.plan.isa, dotprod.DotProd):
            self._quads(acc, lines, block, across, width, rows)
        else:
            self._taps(acc, lines, block, across, width, rows)
        residual = self.k.inputs[1] if spec.residual else None
        tile.finish(self.k, acc, block, self.params, out, spec.k, spec.clamp, residual)

    def _taps(self, acc: Any, lines: list[Any], block: Any, across: Any, width: int, rows: int):
        from edgecc.kernels import tir

        spec, lanes = self.spec, self.plan.isa.lanes
        weights, wide = self.k.weights("int8"), tir.vector("int32", lanes)
        for ky in range(spec.kh):
            for kx in range(spec.kw):
                at = block + 8 * width + (ky * spec.kw + kx) * width
                for j in range(0, width, lanes):
                    w = tir.let(tir.T.cast(tir.load(weights, at + j, lanes), wide))
                    for i in range(rows):
                        column = i * spec.strides[1] + kx * spec.dilations[1]
                        x = tir.load(self.buffer, lines[ky] + across + column * spec.c + j, lanes)
                        value = tir.load(acc, i * width + j, lanes) + tir.T.cast(x, wide) * w
                        tir.store(acc, i * width + j, value, lanes)

    def _quads(self, acc: Any, lines: list[Any], block: Any, across: Any, width: int, rows: int):
        """Quad by quad: interleave its positions, then add it to every output that uses it."""
        from edgecc.kernels import tir

        spec = self.spec
        weights = self.k.weights("int8")
        last = (rows - 1) * spec.strides[1] + (spec.kw - 1) * spec.dilations[1]
        woven = _Weave(self.buffer, lines, across, spec.c, width, last)
        variants = shifts(self.plan)
        starts = [4 * width * sum(len(quads(spec, s)) for s in variants[:v])
                  for v in range(len(variants))]
        uses: dict[Quad, list[tuple[int, int]]] = {}
        for i in range(rows):
            first = i * spec.strides[1]
            variant = variants.index(first % 2) if len(variants) > 1 else 0
            for q, quad in enumerate(quads(spec, first)):
                at = starts[variant] + 4 * width * q
                uses.setdefault(quad, []).append((i, at))
        for quad, users in sorted(uses.items(), key=lambda item: item[1][0][1]):
            vectors = woven.quad(quad)
            for i, at in users:
                for j, vector in enumerate(vectors):
                    w = tir.load(weights, block + (8 * width + at + 16 * j), 16)
                    place = i * width + 4 * j
                    value = tir.llvm("int32x4", dotprod.SDOT, tir.load(acc, place, 4), vector, w)
                    tir.store(acc, place, value, 4)


class _Weave:
    """Positions, pairs and quads of one tile, each computed once.

    Columns past `last` carry weights of zero: the last real column stands in for them.
    """

    def __init__(self, buffer: Any, lines: list[Any], across: Any, c: int, width: int, last: int):
        self.buffer, self.lines, self.across = buffer, lines, across
        self.c, self.width, self.last = c, width, last
        self.seen: dict[Any, Any] = {}

    def position(self, tap: tuple[int, int]) -> Any:
        from edgecc.kernels import tir

        key = (tap[0], min(tap[1], self.last))
        if key not in self.seen:
            offset = self.lines[key[0]] + self.across + key[1] * self.c
            self.seen[key] = tir.let(tir.load(self.buffer, offset, self.width))
        return self.seen[key]

    def pair(self, first: Any, second: Any) -> list[Any]:
        """Bytes of two positions interleaved, 16 at a time."""
        from edgecc.kernels import tir

        first = first or second
        second = second or first
        key = (first, second)
        if key not in self.seen:
            a, b = self.position(first), self.position(second)
            self.seen[key] = [
                tir.let(tir.T.Shuffle([a, b], _interleave(self.width, half * 8, 8)))
                for half in range(self.width // 8)
            ]
        return self.seen[key]

    def quad(self, taps: Quad) -> list[Any]:
        """Vectors of 4 channels x 4 taps."""
        from edgecc.kernels import tir

        present = next(t for t in taps if t)
        a, b, c, d = (t or present for t in taps)
        out = []
        for low, high in zip(self.pair(a, b), self.pair(c, d), strict=True):
            x, y = (tir.let(tir.T.reinterpret("int16x8", v)) for v in (low, high))
            for half in range(2):
                woven = tir.T.Shuffle([x, y], _interleave(8, half * 4, 4))
                out.append(tir.let(tir.T.reinterpret("int8x16", woven)))
        return out


def _interleave(lanes: int, first: int, count: int) -> list[int]:
    return [i for lane in range(first, first + count) for i in (lane, lane + lanes)]


ISAS: tuple[tuple[base.Isa, tuple[int, ...]], ...] = (
    (dotprod.DotProd(), (1, 2, 4, 5)),
    (neon.NeonEnd(), (1, 2)),
    (rvv.Rvv256Half(), (2, 4)),
    (vnni.Vnni(), (2,)),
    (avx2.Avx2(), (2,)),
    (mve.MveEnd(), (1, 2)),
    (scalar.Scalar(), (1,)),
    (scalar.SoftScalar(), (1,)),
    (base.Isa(), (1,)),
)


def record(isa: base.Isa, mr: int) -> KernelRecord:
    def plan(spec: Conv2d) -> Plan:
        return Plan(spec, isa, mr)

    return KernelRecord(
        name=f"int8_depthwise_{mr}x{BLOCK}__{isa.name}",
        op="conv2d",
        dtype="int8",
        requires=isa.requires,
        accepts=lambda spec: accepts(plan(spec)),
        cost=lambda spec: cost(plan(spec)),
        extent=lambda spec: plan(spec).extent,
        pack=lambda spec, constants: pack(plan(spec), constants),
        build=lambda spec, symbol, target: build(plan(spec), symbol),
        scratch_bytes=lambda spec: scratch_bytes(plan(spec)),
        fast=isa.fast,
    )


KERNELS = tuple(record(isa, mr) for isa, rows in ISAS for mr in rows)
