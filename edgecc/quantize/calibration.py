"""Calibration data: from files, folders, arrays or iterables to validated feeds, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from edgecc.data.preprocessing import Preprocessing, declared
from edgecc.errors import ConfigError, QuantizationError

Feeds = dict[str, np.ndarray]
_FORMS = ("an .npz file, a folder of .npy files or pictures, a mapping of arrays, or an iterable "
          "of samples")


@dataclass(frozen=True)
class Port:
    """What a model input takes."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype


def ports(model: ir.Model) -> list[Port]:
    """The model's inputs."""
    return [
        Port(v.name or "", tuple(v.shape.numpy() if v.shape is not None else ()), v.dtype.numpy())
        for v in model.graph.inputs
        if v.dtype is not None
    ]


def read(
    source: Any, model: ir.Model, preprocessing: Preprocessing | None = None
) -> Iterator[Feeds]:
    """Feeds that fit the model's inputs, one inference each.

    `source` is one of
    - an .npz file or a mapping: arrays by input name, first dimension = samples; a model with one
      input also takes the only array that fits it, whatever its name;
    - a folder: `<input>.npy` stacks for every input, or for a model with one input one sample
      per .npy file in name order;
    - a folder of pictures, in subfolders or not, which `preprocessing` makes inputs of;
    - an iterable of mappings {input: array}, or of arrays for a model with one input.
    Shapes: a sample has the input's shape, with or without its leading 1.
    Raises: QuantizationError saying which sample, what is needed and what was found.
    """
    return feeds(source, ports(model), preprocessing)


def feeds(
    source: Any, inputs: Sequence[Port], preprocessing: Preprocessing | None = None, *,
    what: str = "calibration sample",
) -> Iterator[Feeds]:
    """`read` for given ports; `what` is what messages call a sample."""
    count = 0
    for sample in _samples(source, inputs, preprocessing):
        yield _validated(sample, inputs, f"{what} {count}")
        count += 1
    if not count:
        raise QuantizationError("the calibration set is empty" if "cal" in what else "no samples",
                                needed="1 sample", available="0")


def _samples(
    source: Any, inputs: Sequence[Port], preprocessing: Preprocessing | None
) -> Iterator[Mapping[str, Any]]:
    if source is None:
        raise QuantizationError(
            "int8 quantization needs calibration data", advice=f"give {_FORMS} (--calibrate)"
        )
    if isinstance(source, (str, Path)):
        return _from_path(Path(source), inputs, preprocessing)
    if isinstance(source, Mapping):
        return _from_stacks(source, inputs, "calibration mapping")
    if isinstance(source, np.ndarray):
        return _from_stacks({"array": source}, inputs, "calibration array")
    if isinstance(source, Iterable):
        return _from_iterable(source, inputs)
    raise QuantizationError(
        f"calibration data of type {type(source).__name__} are not understood",
        advice=f"give {_FORMS}",
    )


def _from_path(
    path: Path, inputs: Sequence[Port], preprocessing: Preprocessing | None
) -> Iterator[Mapping[str, Any]]:
    if path.is_dir() and not any(path.glob("*.npy")):
        return _from_pictures(path, inputs, preprocessing)
    if path.is_dir():
        return _from_folder(path, inputs)
    if not path.is_file():
        raise QuantizationError("no such calibration file or folder", where=str(path))
    if path.suffix not in (".npz", ".npy"):
        raise QuantizationError(
            f"calibration files end in .npz or .npy, not {path.suffix!r}", where=str(path)
        )
    loaded = load(path)
    stacks = {"array": loaded} if isinstance(loaded, np.ndarray) else loaded
    return _from_stacks(stacks, inputs, str(path))


def load(path: Path) -> Any:
    """The array of an .npy file, or all readable arrays of an .npz file (None for the others)."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: _member(loaded, name) for name in loaded.files}
    except Exception as error:  # zipfile, numpy and OS errors have no common base
        raise QuantizationError(
            f"cannot be read as a NumPy file ({error or type(error).__name__})", where=str(path)
        ) from error


def _member(archive: Any, name: str) -> np.ndarray | None:
    try:
        return archive[name]
    except ValueError:  # a pickled object: never opened
        return None


def _from_folder(folder: Path, inputs: Sequence[Port]) -> Iterator[Mapping[str, Any]]:
    files = sorted(folder.glob("*.npy"))
    by_name = {f.stem: f for f in files}
    if all(port.name in by_name for port in inputs):
        stacks = {port.name: load(by_name[port.name]) for port in inputs}
        return _from_stacks(stacks, inputs, str(folder))
    if len(inputs) > 1:
        raise _missing(inputs, sorted(by_name), str(folder))
    return ({inputs[0].name: load(file)} for file in files)


def _from_pictures(
    folder: Path, inputs: Sequence[Port], preprocessing: Preprocessing | None
) -> Iterator[Mapping[str, Any]]:
    """Pictures of all classes in turn. Raises QuantizationError naming a file that is broken."""
    from edgecc.data import pictures

    port = inputs[0] if inputs else Port("", (), np.dtype("float32"))
    try:
        found = pictures.interleaved(pictures.find(folder))
        how = declared(preprocessing, [p.name for p in inputs], str(folder))
        for array in pictures.feeds(found, how, port.shape, port.dtype.name):
            yield {port.name: array}
    except ConfigError as error:
        raise QuantizationError(error.what, where=error.where, needed=error.needed,
                                available=error.available,
                                advice=error.advice or f"give {_FORMS}") from error


def _from_iterable(source: Iterable[Any], inputs: Sequence[Port]) -> Iterator[Mapping[str, Any]]:
    for index, sample in enumerate(source):
        if isinstance(sample, Mapping):
            yield sample
        elif len(inputs) == 1:
            yield {inputs[0].name: sample}
        else:
            raise QuantizationError(
                f"the model has {len(inputs)} inputs, the sample is a lone array",
                where=f"calibration sample {index}",
                advice="yield mappings {input name: array}",
            )


def _from_stacks(
    stacks: Mapping[str, Any], inputs: Sequence[Port], where: str
) -> Iterator[Mapping[str, Any]]:
    chosen = {port.name: _stack(stacks, port, inputs, where) for port in inputs}
    counts = {name: len(samples) for name, samples in chosen.items()}
    if len(set(counts.values())) > 1:
        spelled = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise QuantizationError(
            f"inputs have different numbers of samples ({spelled})", where=where
        )
    total = next(iter(counts.values()), 0)
    return ({name: samples[i] for name, samples in chosen.items()} for i in range(total))


def _stack(stacks: Mapping[str, Any], port: Port, inputs: Sequence[Port], where: str) -> np.ndarray:
    array = stacks.get(port.name)
    if port.name not in stacks and len(inputs) == 1:
        array = _only_fitting(stacks, port, where)
    if array is None:
        raise _missing(inputs, sorted(stacks), where)
    return _split(np.asarray(array), port, where)


def _missing(inputs: Sequence[Port], names: Sequence[str], where: str) -> QuantizationError:
    return QuantizationError(
        "the arrays do not have the names of the model's inputs",
        where=where,
        needed=", ".join(port.name for port in inputs),
        available=", ".join(names) or "none",
    )


def _only_fitting(stacks: Mapping[str, Any], port: Port, where: str) -> np.ndarray | None:
    arrays = {n: np.asarray(a) for n, a in stacks.items() if a is not None}
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    fits = [a for a in arrays.values() if _sample_shape(a, port) and _castable(a.dtype, port)]
    if len(fits) > 1:
        raise QuantizationError(
            f"several arrays fit input {port.name}",
            where=where,
            available=", ".join(sorted(arrays)),
            advice=f"name one of them {port.name}",
        )
    return fits[0] if fits else None


def _sample_shape(array: np.ndarray, port: Port) -> bool:
    return array.shape[1:] in _sample_shapes(port)


def _sample_shapes(port: Port) -> list[tuple[int, ...]]:
    return [port.shape, port.shape[1:]] if port.shape[:1] == (1,) else [port.shape]


def _split(array: np.ndarray, port: Port, where: str) -> np.ndarray:
    """Samples along the first axis; a batch larger than 1 is cut from consecutive samples."""
    batch = port.shape[0] if port.shape else 1
    if batch > 1 and array.shape[1:] == port.shape[1:] and len(array) >= batch:
        whole = len(array) // batch * batch
        return array[:whole].reshape(-1, *port.shape)
    if not array.ndim or not _sample_shape(array, port):
        raise QuantizationError(
            f"the array for input {port.name} has the wrong shape",
            where=where,
            needed=f"(samples, {', '.join(map(str, _sample_shapes(port)[-1]))})",
            available=str(array.shape),
        )
    return array


def _castable(dtype: np.dtype, port: Port) -> bool:
    floats = np.issubdtype(dtype, np.floating) and np.issubdtype(port.dtype, np.floating)
    return dtype == port.dtype or floats


def _validated(feeds: Mapping[str, Any], inputs: Sequence[Port], where: str) -> Feeds:
    if set(feeds) != {port.name for port in inputs}:
        raise _missing(inputs, sorted(map(str, feeds)), where)
    return {port.name: _fitted(np.asarray(feeds[port.name]), port, where) for port in inputs}


def _fitted(array: np.ndarray, port: Port, where: str) -> np.ndarray:
    _require(
        _castable(array.dtype, port),
        f"input {port.name} has the wrong type",
        where,
        str(port.dtype),
        str(array.dtype),
    )
    _require(
        array.shape in _sample_shapes(port),
        f"input {port.name} has the wrong shape",
        where,
        str(port.shape),
        str(array.shape),
    )
    with np.errstate(over="ignore"):  # an overflow becomes inf, which is refused below
        fitted = np.ascontiguousarray(array, port.dtype).reshape(port.shape)
    bad = _count(np.isfinite, fitted)
    _require(
        not bad, f"input {port.name} has NaN or Inf", where, "finite values", f"{bad} of them not"
    )
    return fitted


def _count(holds: Callable[[np.ndarray], Any], array: np.ndarray) -> int:
    if not np.issubdtype(array.dtype, np.floating):
        return 0
    return int(array.size - np.count_nonzero(holds(array)))


def _require(condition: bool, what: str, where: str, needed: str, available: str) -> None:
    if not condition:
        raise QuantizationError(what, where=where, needed=needed, available=available)
