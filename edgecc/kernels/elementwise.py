"""What elementwise kernels share: sweeping a flat size in vectors, tails, rounding to int8, and
the header of scalar parameters in front of packed constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

BLOCK = 64  # elements per turn of the parallel loop, on every target
MAGIC = 12582912.0  # 1.5 * 2^23: adding it rounds |x| < 2^22 half to even
MAGIC_BITS = 0x4B400000


VECTOR_BYTES = (  # the widest vectors worth using, by the first feature a target has
    ("avx512bw", 64), ("avx2", 32), ("rvv256", 32), ("rvv128", 16), ("mve", 16),
    # no vectors: one float, or four bytes, at a time
    ("rv64gc", 4), ("rv32", 4), ("thumb2", 4), ("thumb", 4),
)


def vector_bytes(target: Any) -> int:
    """Bytes of the vectors that kernels for `target` are written in."""
    return next((n for feature, n in VECTOR_BYTES if feature in target.features), 16)


def header(*values: Any) -> np.ndarray:
    """Scalars as 4-byte words: np.float32 stays float, everything else becomes int32."""
    words = [np.float32(v).view(np.int32) if isinstance(v, (float, np.floating)) else np.int32(v)
             for v in values]
    return np.array(words, np.int32).view(np.uint8)


def joined(*parts: np.ndarray) -> np.ndarray:
    """The bytes of arrays one after the other, up to whole words: what follows is aligned too."""
    flat = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
    size = sum(part.size for part in flat)
    return np.concatenate([*flat, np.zeros(-size % 4, np.uint8)])


def nothing(spec: Any, constants: Any) -> np.ndarray:
    """The pack of kernels without constants."""
    return np.empty(0, np.uint8)


def accept_all(spec: Any) -> str | None:
    return None


def word(k: Any, index: int, dtype: str) -> Any:
    """Word `index` of the header, read once."""
    from edgecc.kernels import tir

    return tir.let(tir.load(k.weights(dtype), index))


def pieces(count: int, lanes: int) -> list[tuple[int, int]]:
    """(offset, lanes) that cover `count` without overlap: whole vectors, then halves of them."""
    found, at = [], 0
    while at < count:
        while lanes > count - at:
            lanes //= 2
        found.append((at, lanes))
        at += lanes
    return found


def block_count(size: int) -> int:
    return -(-size // BLOCK)


def sweep(k: Any, size: int, lanes: int, compute: Callable[[Any, int], Any], unroll: int = 4):
    """Store compute(offset, lanes) over all `size` elements of the first output.

    begin and end run over blocks of BLOCK elements; in-place use is safe because the loads of a
    group come before its stores and no element is computed twice.
    """
    from edgecc.kernels import tir

    whole, unroll = size // BLOCK, min(unroll, BLOCK // lanes)
    if whole:
        step, blocks = lanes * unroll, (k.begin, tir.T.min(k.end, whole))
        with tir.loop(*blocks) as block, tir.loop(0, BLOCK // step) as turn:
            at = block * BLOCK + turn * step
            _group(k, compute, [(at + lanes * u, lanes) for u in range(unroll)])
    if size % BLOCK:
        with tir.when(k.end > tir.T.max(k.begin, whole)):
            rest = [(whole * BLOCK + at, n) for at, n in pieces(size % BLOCK, lanes)]
            for first in range(0, len(rest), unroll):
                _group(k, compute, rest[first:first + unroll])


def _group(k: Any, compute: Callable[[Any, int], Any], spans: Sequence[tuple[Any, int]]) -> None:
    from edgecc.kernels import tir

    values = [(at, n, tir.let(compute(at, n))) for at, n in spans]
    for at, n, value in values:
        tir.store(k.outputs[0], at, value, n)


def across(count: int, lanes: int, body: Callable[[Any, int], None]) -> None:
    """body(offset, lanes) over `count` elements: a loop of whole vectors, then the pieces."""
    from edgecc.kernels import tir

    whole = count // lanes
    if whole == 1:
        body(0, lanes)
    elif whole:
        with tir.loop(0, whole) as step:
            body(step * lanes, lanes)
    for at, n in pieces(count - whole * lanes, lanes):
        body(whole * lanes + at, n)


def widened(value: Any, zero_point: Any, lanes: int) -> Any:
    """int16 of an int8 vector minus an int8 zero point."""
    from edgecc.kernels import tir

    wide = tir.vector("int16", lanes)
    return tir.T.cast(value, wide) - tir.T.cast(tir.splat(zero_point, lanes), wide)


def to_float(value: Any, lanes: int) -> Any:
    """float32 of int16 or int32."""
    from edgecc.kernels import tir

    whole = tir.T.cast(value, tir.vector("int32", lanes))
    return tir.T.cast(whole, tir.vector("float32", lanes))


def scaled(value: Any, scale: Any, lanes: int) -> Any:
    """value * scale, rounded to float32 before anything is added."""
    from edgecc.kernels import tir

    return tir.fenced(value * tir.splat(scale, lanes), tir.vector("float32", lanes))


def rounded16(target: Any, real: Any, lanes: int) -> Any:
    """int16 of rint(real), saturated. Half to even."""
    from edgecc.kernels import tir

    wide, narrow = tir.vector("int32", lanes), tir.vector("int16", lanes)
    if "neon" in target.features:  # fcvtns saturates, and so does the narrowing
        return tir.T.cast(bounded(_fcvtns(real, lanes), -32768, 32767, lanes), narrow)
    near = bounded(real, tir.T.float32(-32768.0), tir.T.float32(32767.0), lanes)
    biased = near + tir.splat(tir.T.float32(MAGIC), lanes)
    return tir.T.cast(tir.T.reinterpret(wide, biased), narrow)  # MAGIC's low 16 bits are zero


def _fcvtns(real: Any, lanes: int) -> Any:
    """int32 of rint(real), saturated, by one instruction for four lanes."""
    from edgecc.kernels import tir

    if lanes > 4:
        halves = [half(real, dtype=tir.vector("float32", lanes // 2))
                  for half in (tir.T.vectorlow, tir.T.vectorhigh)]
        return tir.T.vectorcombine(tir.vector("int32", lanes),
                                   *(_fcvtns(value, lanes // 2) for value in halves))
    suffix = f"v{lanes}i32.v{lanes}f32" if lanes > 1 else "i32.f32"
    return tir.llvm(tir.vector("int32", lanes), f"llvm.aarch64.neon.fcvtns.{suffix}", real)


def bounded(value: Any, low: Any, high: Any, lanes: int) -> Any:
    from edgecc.kernels import tir

    return tir.T.min(tir.T.max(value, tir.splat(low, lanes)), tir.splat(high, lanes))


def to_int8(target: Any, real: Any, zero_point: Any, lanes: int, limits: Any = None) -> Any:
    """int8 of clamp(rint(real) + zero_point); `zero_point` int16, `limits` a pair of int8."""
    from edgecc.kernels import tir

    wide = tir.vector("int16", lanes)
    moved = tir.llvm(wide, "llvm.sadd.sat", rounded16(target, real, lanes),
                     tir.splat(zero_point, lanes))
    byte = tir.T.cast(bounded(moved, tir.T.int16(-128), tir.T.int16(127), lanes),
                      tir.vector("int8", lanes))
    return byte if limits is None else bounded(byte, limits[0], limits[1], lanes)
