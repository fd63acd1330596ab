"""Runs of elements into contiguous memory: copied, repeated, or picked at a constant step."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgecc.kernels.elementwise import across

UNIT = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}  # what elements are moved as, by size
DTYPES = ("int8", "uint8", "bool", "int16", "float16", "int32", "uint32", "float32", "int64",
          "float64")
SHUFFLED = (-1, 2, 3, 4)  # steps that whole vectors and a shuffle are faster for


def item_bytes(dtype: str) -> int:
    return np.dtype(dtype).itemsize


def unit(dtype: str) -> str:
    """The integer type of the same size: moving needs no other."""
    return UNIT[item_bytes(dtype)]


def copy_run(k: Any, source: Any, result: Any, count: int, step: int, lanes: int) -> None:
    """outputs[0][result + i] = inputs[0][source + i * step] for i in [0, count)."""
    from edgecc.kernels import tir

    if step == 1 or count == 1:
        across(count, lanes, lambda at, n: tir.store(
            k.outputs[0], result + at, tir.load(k.inputs[0], source + at, n), n))
    elif step == 0:
        fill_run(k, result, count, tir.let(tir.load(k.inputs[0], source)), lanes)
    else:
        done = _shuffled(k, source, result, count, step, lanes) if step in SHUFFLED else 0
        if done < count:
            with tir.loop(done, count) as i:
                tir.store(k.outputs[0], result + i, tir.load(k.inputs[0], source + i * step))


def fill_run(k: Any, result: Any, count: int, value: Any, lanes: int) -> None:
    """outputs[0][result + i] = value for i in [0, count)."""
    from edgecc.kernels import tir

    across(count, lanes, lambda at, n: tir.store(k.outputs[0], result + at, tir.splat(value, n), n))


def _shuffled(k: Any, source: Any, result: Any, count: int, step: int, lanes: int) -> int:
    """As many as whole vectors give without reading past the last element; how many those are."""
    from edgecc.kernels import tir

    width = lanes * abs(step)
    groups = ((count - 1) * abs(step) + 1) // width
    if lanes < 2 or not groups:
        return 0
    low = 0 if step > 0 else 1 - lanes
    picked = [i * step if step > 0 else lanes - 1 - i for i in range(lanes)]
    with tir.loop(0, groups) as group:
        wide = tir.let(tir.load(k.inputs[0], source + low + group * lanes * step, width))
        tir.store(k.outputs[0], result + group * lanes, tir.T.Shuffle([wide], picked), lanes)
    return groups * lanes
