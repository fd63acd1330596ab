"""Run the float model on the calibration data and watch the tensors that need a range."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import onnx_ir as ir

from edgecc.errors import QuantizationError
from edgecc.model import oracle
from edgecc.quantize.observers import OBSERVERS, Observer

Feeds = dict[str, np.ndarray]


def observe(
    model: ir.Model, tensors: list[str], samples: Iterable[Feeds], observer: str, keep: int
) -> tuple[dict[str, tuple[float, float]], list[Feeds], int]:
    """Ranges of `tensors`, the first `keep` samples, and how many samples there were.

    One sample is in flight at a time: memory does not grow with the calibration set.
    Raises: QuantizationError if the float model itself gives NaN or Inf.
    """
    observers = {name: OBSERVERS[observer]() for name in tensors}
    fed = [name for name in tensors if name in {v.name for v in model.graph.inputs}]
    computed = [name for name in tensors if name not in fed]
    session = oracle.session(oracle.with_outputs(model, computed))
    kept: list[Feeds] = []
    count = 0
    for feeds in samples:
        found = session.run(computed, feeds) if computed else []
        _see(observers, zip(computed, found, strict=True), count)
        _see(observers, ((name, feeds[name]) for name in fed), count)
        kept += [feeds] if count < keep else []
        count += 1
    return {name: o.range() for name, o in observers.items()}, kept, count


def _see(
    observers: Mapping[str, Observer], arrays: Iterable[tuple[str, np.ndarray]], sample: int
) -> None:
    for name, array in arrays:
        # One pass finds both NaN and Inf: they survive a sum (an overflowing sum is no fault).
        if not np.isfinite(array.sum(dtype=np.float64)) and not np.isfinite(array).all():
            raise QuantizationError(
                f"the float model gives NaN or Inf at {name}",
                where=f"calibration sample {sample}",
                advice="check the model and the scaling of its inputs",
            )
        observers[name].see(array)


def values(
    model: ir.Model, names: list[str], samples: Iterable[Feeds]
) -> Iterator[dict[str, np.ndarray]]:
    """The named tensors, one sample at a time."""
    session = oracle.session(oracle.with_outputs(model, names))
    inputs = {i.name for i in session.get_inputs()}
    asked = [name for name in names if name not in inputs]
    for feeds in samples:
        found = dict(zip(asked, session.run(asked, feeds), strict=True)) if asked else {}
        yield {name: feeds[name] if name in inputs else found[name] for name in names}
