"""Golden vectors: inputs and the exact bytes that the model must answer with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc import tolerance
from edgecc.errors import BoardError, BundleError
from edgecc.rpc.runner_client import RunnerClient

PATH = re.compile(r"vectors/(\d{1,6})/(input|output)_(\d{1,3})\.bin")


@dataclass(frozen=True)
class Vector:
    """One inference: bytes of every input and of every output, and the outputs' dtypes. Floats may
    differ by `tolerance` of the largest."""

    name: str
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    dtypes: tuple[str, ...]
    tolerance: float = tolerance.FLOAT32


def vectors_of(files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> list[Vector]:
    """The bundle's vectors in order. Raises BundleError when there are none, or when one does not
    have the inputs and outputs of the manifest."""
    numbers = sorted({int(m[1]) for path in files if (m := PATH.fullmatch(path))})
    if not numbers:
        raise BundleError("has no golden vectors, so no answer can be verified",
                          where=str(manifest.get("name")), advice="compile it anew")
    dtypes = tuple(port["dtype"] for port in manifest["outputs"])
    return [Vector(str(number), _ports(files, manifest, number, "input"),
                   _ports(files, manifest, number, "output"), dtypes,
                   tolerance.of_manifest(manifest)) for number in numbers]


def _ports(files: Mapping[str, bytes], manifest: Mapping[str, Any], number: int,
           kind: str) -> tuple[bytes, ...]:
    found = []
    for index, port in enumerate(manifest[f"{kind}s"]):
        path = f"vectors/{number}/{kind}_{index}.bin"
        data = files.get(path)
        if data is None or len(data) != port["bytes"]:
            raise BundleError("golden vector is missing or has another size", where=path,
                              needed=f"{port['bytes']:,} B",
                              available="nothing" if data is None else f"{len(data):,} B")
        found.append(data)
    return tuple(found)


def infer(client: RunnerClient, inputs: tuple[bytes, ...] | list[bytes],
          output_bytes: list[int]) -> list[bytes]:
    """One inference on the board."""
    for index, data in enumerate(inputs):
        client.set_input(index, data)
    client.run_untimed(1)
    return [client.get_output(index, size) for index, size in enumerate(output_bytes)]


def replay(client: RunnerClient, vectors: list[Vector], board: str) -> str:
    """How the answers agree: "identical" or "within 0.0001".

    Raises BoardError at the first one that does not: a wrong answer is never timed.

    Integers must be equal. Floats may differ by the tolerance of the largest expected value:
    compilers may fuse a float multiply and add, which rounds once instead of twice.
    """
    identical = True
    for vector in vectors:
        answers = infer(client, vector.inputs, [len(data) for data in vector.outputs])
        identical &= tuple(answers) == vector.outputs
        for index, (want, got) in enumerate(zip(vector.outputs, answers, strict=True)):
            if not agrees(vector.dtypes[index], want, got, vector.tolerance):
                raise _mismatch(vector, index, want, got, board)
    return "identical" if identical else f"within {vectors[0].tolerance:g}"


def agrees(dtype: str, want: bytes, got: bytes, part: float = tolerance.FLOAT32) -> bool:
    """Whether an answer is right: equal, or for floats within the tolerance. Infinities and NaN
    must be where they are expected."""
    if want == got or not dtype.startswith("float") or len(want) != len(got):
        return want == got
    expected, found = _numbers(dtype, want), _numbers(dtype, got)
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], found[~finite], equal_nan=True):
        return False
    limit = part * np.abs(expected[finite]).max(initial=0.0)
    return bool((np.abs(expected[finite] - found[finite]) <= limit).all())


def _numbers(dtype: str, data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(np.float64)


def _mismatch(vector: Vector, index: int, want: bytes, got: bytes, board: str) -> BoardError:
    at = next(i for i, (a, b) in enumerate(zip(want, got, strict=True)) if a != b)
    wrong = sum(a != b for a, b in zip(want, got, strict=True))
    return BoardError(
        f"golden vector {vector.name}: output {index} differs in {wrong:,} of {len(want):,} bytes, "
        f"first at byte {at}: expected {want[at]}, got {got[at]}"
        f"{_distance(vector, index, want, got)}", where=board,
        advice="nothing was timed; `edgecc verify` checks the bundle, and the same bundle on the "
        "target's emulated board tells whether the board is at fault",
    )


def _distance(vector: Vector, index: int, want: bytes, got: bytes) -> str:
    """How far floats are apart, in parts of the largest one expected."""
    dtype = vector.dtypes[index]
    if not dtype.startswith("float"):
        return ""
    expected, found = _numbers(dtype, want), _numbers(dtype, got)
    finite = np.isfinite(expected) & np.isfinite(found)
    worst = np.abs(expected[finite] - found[finite]).max(initial=0.0)
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    return (f" (largest difference {worst:.3g}, allowed {vector.tolerance:g} of the largest "
            f"value, {largest:.3g})")
