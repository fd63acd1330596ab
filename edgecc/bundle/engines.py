"""ONNX Runtime on a bundle's model and on the float model it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgecc.bundle import ports
from edgecc.data.preprocessing import Preprocessing
from edgecc.errors import ConfigError
from edgecc.quantize.calibration import Port

TYPES = {"tensor(float)": "float32", "tensor(uint8)": "uint8", "tensor(int8)": "int8"}


@dataclass(frozen=True, eq=False)
class Engine:
    """A session. `inputs` maps the bundle's input names to the session's; where it takes floats
    and the bundle pixels, `how` says how the one becomes the other."""

    session: Any
    inputs: Mapping[str, str]
    outputs: Sequence[str]
    quantized: bool
    how: Preprocessing | None = None

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs by the bundle's names, for model-shaped inputs of the bundle."""
        given = {self.inputs[name]: self._fitted(array, name) for name, array in feeds.items()}
        found = self.session.run(None, given)
        return dict(zip(self.outputs, found, strict=True))

    def _fitted(self, array: np.ndarray, name: str) -> np.ndarray:
        entry = next(i for i in self.session.get_inputs() if i.name == self.inputs[name])
        wanted = TYPES.get(entry.type)
        if array.dtype != "uint8" or wanted != "float32":
            return array
        if self.how is None:
            raise ConfigError("the float model takes floats, the bundle pixels", where=name,
                              advice="compile with --keep-float, and leave --float out")
        return self.how.unfold(array, _picture_shape(entry.shape, self.how.channels, array.shape))


def _picture_shape(dims: Sequence[Any], channels: int, pixels: Sequence[int]) -> tuple[int, ...]:
    """The float input's shape; names of dynamic dimensions are filled in from the pixels."""
    height, width = pixels[-3], pixels[-2]
    last = len(dims) == 4 and dims[-1] == channels and dims[1] != channels
    return (1, height, width, channels) if last else (1, channels, height, width)


def model_ports(manifest: Mapping[str, Any]) -> list[Port]:
    """What the bundle's inputs take, in the model's own shapes."""
    return [Port(port["name"], tuple(port["model_shape"]), np.dtype(port["model_dtype"]))
            for port in manifest["inputs"]]


def of_bundle(bundle: Any) -> Engine:
    """The model in the bundle."""
    manifest = bundle.manifest
    return _engine(_parsed(bundle.files[manifest["model"]["file"]]), manifest, None)


def float_engine(bundle: Any, float_model: Any, how: Preprocessing | None) -> Engine | None:
    """`float_model`, or the one kept in the bundle; None without either.

    Raises ConfigError, UnsupportedModel.
    """
    from edgecc.model import reading

    manifest = bundle.manifest
    if float_model is not None:
        source = Path(float_model) if isinstance(float_model, str) else float_model
        return _engine(reading.read(source)[0], manifest, how)
    kept = manifest["model"].get("float_file")
    if kept is not None:
        return _engine(_parsed(bundle.files[kept]), manifest, how)
    return None


def _parsed(data: bytes) -> Any:
    import onnx

    return onnx.load_model_from_string(data)


def _engine(proto: Any, manifest: Mapping[str, Any], how: Preprocessing | None) -> Engine:
    """Raises ConfigError when the model's inputs and outputs are not the bundle's."""
    from edgecc.model.oracle import session

    opened = session(proto)
    names = _matched([p["name"] for p in manifest["inputs"]],
                     [i.name for i in opened.get_inputs()], "inputs")
    outputs = _matched([p["name"] for p in manifest["outputs"]],
                       [o.name for o in opened.get_outputs()], "outputs")
    back = {theirs: ours for ours, theirs in outputs.items()}
    order = [back[o.name] for o in opened.get_outputs()]
    quantized = any(node.op_type == "QuantizeLinear" for node in proto.graph.node)
    return Engine(opened, names, order, quantized, how)


def _matched(ours: list[str], theirs: list[str], what: str) -> dict[str, str]:
    """The bundle's names to the model's: by name, or by place where no name is the same."""
    if set(ours) == set(theirs):
        return {name: name for name in ours}
    if len(ours) != len(theirs) or set(ours) & set(theirs):
        raise ConfigError(f"the float model has other {what} than the bundle", where="evaluate",
                          needed=", ".join(ours), available=", ".join(theirs))
    return dict(zip(ours, theirs, strict=True))


def gaps(described: Sequence[ports.Port], ours: Sequence[Mapping[str, np.ndarray]],
         theirs: Sequence[Mapping[str, np.ndarray]]) -> tuple[int, int, float]:
    """Values, how many differ, and the largest difference of native outputs from an engine's."""
    values = different = 0
    largest = 0.0
    for port in described:
        size = 1.0
        if port["scale"] is None:
            size = max(float(np.abs(t[port["name"]]).max(initial=0.0)) for t in theirs) or 1.0
        for mine, other in zip(ours, theirs, strict=True):
            found = mine[port["name"]].astype(np.float64)
            gap = np.abs(found - ports.to_native(port, other[port["name"]]).astype(np.float64))
            values, different = values + gap.size, different + int(np.count_nonzero(gap))
            largest = max(largest, float(gap.max(initial=0.0)) / size)
    return values, different, largest
