"""Arrays in the model's shape and their native form (the C API's dtype, shape and layout).

A port is one entry of the manifest's `inputs` or `outputs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.data.preprocessing import Preprocessing
from edgecc.errors import BundleError, ConfigError

Port = Mapping[str, Any]


def to_native(port: Port, value: Any) -> np.ndarray:
    """`value` as the C API takes it.

    Takes the model's shape in the model's dtype (quantized and permuted here), or the port's
    dtype in the port's shape. Raises ConfigError for anything else, and for NaN.
    """
    array = np.asarray(value)
    native, model = tuple(port["shape"]), tuple(port["model_shape"])
    if array.dtype == port["dtype"] and not _is_model_shaped(port, array):
        _check_shape(port, array, native)
        return np.asarray(array, order="C")
    _check_shape(port, array, model)
    return _arranged(port, _in_dtype(port, array))


def _is_model_shaped(port: Port, array: np.ndarray) -> bool:
    """Whether an array of the port's own dtype is in the model's layout. Where the shapes do
    not tell (1x3x3x3), quantized values are taken as native and plain ones as the model's."""
    model, native = tuple(port["model_shape"]), tuple(port["shape"])
    return array.shape == model and (native != model or port["dtype"] == port["model_dtype"])


def _check_shape(port: Port, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ConfigError(
            f"input {port['name']!r} has the wrong shape or dtype", where="run",
            needed=f"{port['model_dtype']} {list(port['model_shape'])} or {port['dtype']} "
            f"{list(port['shape'])}", available=f"{array.dtype} {list(array.shape)}",
        )


def _in_dtype(port: Port, array: np.ndarray) -> np.ndarray:
    if array.dtype == port["dtype"]:
        return array
    if array.dtype.kind not in "fiub":
        raise ConfigError(f"input {port['name']!r} is {array.dtype}, not numbers", where="run")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ConfigError(f"input {port['name']!r} has NaN or infinite values", where="run")
    return quantize(port, array) if port["scale"] else array.astype(port["dtype"])


def quantize(port: Port, array: np.ndarray) -> np.ndarray:
    """saturate(rint(x / scale) + zero_point), in float32 as QuantizeLinear does."""
    limits = np.iinfo(port["dtype"])
    steps = np.rint(array.astype(np.float32) / np.float32(port["scale"]))
    shifted = steps.astype(np.float64) + port["zero_point"]
    return np.clip(shifted, limits.min, limits.max).astype(port["dtype"])


def dequantize(port: Port, array: np.ndarray) -> np.ndarray:
    """float32((q - zero_point) * scale); values of an unquantized port are returned as is."""
    if not port["scale"]:
        return array
    centred = array.astype(np.int32) - np.int32(port["zero_point"])
    return centred.astype(np.float32) * np.float32(port["scale"])


def _arranged(port: Port, array: np.ndarray) -> np.ndarray:
    if port["permutation"] is not None:
        array = array.transpose(port["permutation"])
    return np.asarray(array.reshape(port["shape"]), order="C")


def to_model(port: Port, native: np.ndarray) -> np.ndarray:
    """A native output dequantized and in the model's shape."""
    values = dequantize(port, native)
    if port["permutation"] is None:
        return values.reshape(port["model_shape"])
    order = port["permutation"]
    permuted = values.reshape([port["model_shape"][axis] for axis in order])
    return np.ascontiguousarray(permuted.transpose(np.argsort(order)))


def from_bytes(port: Port, data: bytes, where: str) -> np.ndarray:
    """Native bytes as an array. Raises BundleError when their number is wrong."""
    if len(data) != port["bytes"]:
        raise BundleError(f"{port['name']!r} has the wrong size", where=where,
                          needed=f"{port['bytes']:,} B", available=f"{len(data):,} B")
    return np.frombuffer(data, port["dtype"]).reshape(port["shape"])


def preprocessing(ports: Sequence[Port]) -> Preprocessing | None:
    """How pictures become the only input, where the bundle says so. Raises BundleError."""
    record = ports[0].get("preprocessing") if len(ports) == 1 else None
    if record is None:
        return None
    try:
        return Preprocessing.from_json(record)
    except ConfigError as error:
        raise BundleError(f"preprocessing of {ports[0]['name']!r}: {error}") from error


def native_inputs(ports: Sequence[Port], inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Every input in native form. Raises ConfigError for missing and unknown names."""
    names = [port["name"] for port in ports]
    missing, unknown = set(names) - set(inputs), set(inputs) - set(names)
    if missing or unknown:
        raise ConfigError(
            "inputs do not match the model", where="run", needed=", ".join(names),
            available=", ".join(map(str, inputs)) or "none",
        )
    return {port["name"]: to_native(port, inputs[port["name"]]) for port in ports}
