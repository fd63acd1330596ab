"""Dataset: model inputs that can be gone through again and again, and their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from edgecc.data import labels as answers
from edgecc.data import pictures
from edgecc.data.preprocessing import Preprocessing, declared
from edgecc.errors import ConfigError, QuantizationError
from edgecc.quantize import calibration
from edgecc.quantize.calibration import Feeds, Port

KEPT_BYTES = 512 << 20  # decoded once and kept if all samples together need no more


@dataclass(eq=False)
class Dataset:
    """`open` starts anew at the first sample; `labels` has one entry per sample, or is None."""

    open: Callable[[], Iterator[Feeds]]
    labels: np.ndarray | None
    count: int
    _kept: list[Feeds] = field(default_factory=list)

    def __iter__(self) -> Iterator[Feeds]:
        if len(self._kept) == self.count:
            yield from self._kept
            return
        kept, room = list[Feeds](), KEPT_BYTES
        for feeds in islice(self.open(), self.count):
            room -= sum(array.nbytes for array in feeds.values())
            kept += [feeds] if room >= 0 else []
            yield feeds
        self._kept = kept

    def __len__(self) -> int:
        return self.count


def dataset(
    source: Any, ports: Sequence[Port], *, labels: Any = None, inputs: Sequence[str] = (),
    how: Preprocessing | None = None, limit: int | None = None,
) -> Dataset:
    """Data for the model inputs `ports`, checked as they are read.

    `source`: what calibration takes (an .npz, a folder of pictures or .npy files, a mapping, an
    array, a sequence of samples). `inputs` names its arrays in the order of `ports`, where they
    are not called as the inputs are. Raises ConfigError.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"limit {limit}: there must be a sample", where="data")
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and path.is_dir() and not any(path.glob("*.npy")):
        return _of_pictures(path, ports, labels, how, limit)
    arrays = _arrays(source, path)
    if arrays is None:
        return _of_samples(source, ports, labels, limit)
    wanted = answers.of_arrays(labels, arrays, None)
    feeds = _named(arrays, inputs, ports, labels)
    count = _count(lambda: _read(feeds, ports))
    wanted = answers.of_arrays(wanted, {}, count)
    return _limited(lambda: _read(feeds, ports), wanted, count, limit)


def _limited(opened: Callable[[], Iterator[Feeds]], labels: np.ndarray | None, count: int,
             limit: int | None) -> Dataset:
    kept = count if limit is None else min(count, limit)
    return Dataset(opened, None if labels is None else labels[:kept], kept)


def _of_pictures(folder: Path, ports: Sequence[Port], labels: Any, how: Preprocessing | None,
                 limit: int | None) -> Dataset:
    found = pictures.interleaved(pictures.find(folder))
    chosen = declared(how, [port.name for port in ports], str(folder))
    port, wanted = ports[0], answers.of_pictures(found, labels, folder)

    def opened() -> Iterator[Feeds]:
        arrays = pictures.feeds(found, chosen, port.shape, port.dtype.name)
        return ({port.name: array} for array in arrays)

    return _limited(opened, wanted, len(found), limit)


def _arrays(source: Any, path: Path | None) -> Mapping[str, Any] | None:
    """Stacks of samples by name; None where the samples come one by one."""
    if isinstance(source, Mapping):
        return source
    if isinstance(source, np.ndarray):
        return {"array": source}
    if path is None or path.is_dir():
        return None
    try:
        loaded = calibration.load(path)
    except QuantizationError as error:
        raise _told(error) from error
    return {"array": loaded} if isinstance(loaded, np.ndarray) else loaded


def _named(arrays: Mapping[str, Any], inputs: Sequence[str], ports: Sequence[Port],
           labels: Any) -> Mapping[str, Any]:
    """Arrays by input; without `inputs`, all but the labels under their own names."""
    if not inputs:
        kept = labels if isinstance(labels, str) else None
        return {name: array for name, array in arrays.items() if name != kept}
    unknown = [name for name in inputs if name not in arrays]
    if unknown or len(inputs) != len(ports):
        raise ConfigError("the named arrays do not make the model's inputs", where="data",
                          needed=", ".join(port.name for port in ports),
                          available=f"{', '.join(inputs)} of {', '.join(arrays)}")
    return {port.name: arrays[name] for port, name in zip(ports, inputs, strict=True)}


def _of_samples(source: Any, ports: Sequence[Port], labels: Any, limit: int | None) -> Dataset:
    samples = list(source) if hasattr(source, "__next__") else source
    count = _count(lambda: _read(samples, ports))
    return _limited(lambda: _read(samples, ports), answers.of_arrays(labels, {}, count), count,
                    limit)


def _count(opened: Callable[[], Iterator[Feeds]]) -> int:
    return sum(1 for _ in opened())


def _read(source: Any, ports: Sequence[Port]) -> Iterator[Feeds]:
    try:
        yield from calibration.feeds(source, ports, what="sample")
    except QuantizationError as error:
        raise _told(error) from error


def _told(error: QuantizationError) -> ConfigError:
    return ConfigError(error.what, where=error.where, needed=error.needed,
                       available=error.available, advice=error.advice)
