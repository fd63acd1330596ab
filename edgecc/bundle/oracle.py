"""Outputs against ONNX Runtime, an independent engine, in the C API's own dtype."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgecc import tolerance
from edgecc.bundle import ports
from edgecc.errors import CheckFailed

if TYPE_CHECKING:
    from edgecc.bundle.bundle import Bundle

Vector = tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
INTEGER_TOLERANCE = 2  # docs/numerics.md names the operators that may differ, and by how much


@dataclass(frozen=True)
class Agreement:
    """How one output agrees over all vectors.

    `largest` is the largest difference: in steps of the output's scale for quantized outputs,
    else as a part of the largest |reference|, of which `tolerance` is allowed.
    """

    output: str
    quantized: bool
    values: int
    different: int
    largest: float
    tolerance: float = tolerance.FLOAT32

    @property
    def holds(self) -> bool:
        return self.largest <= (INTEGER_TOLERANCE if self.quantized else self.tolerance)

    @property
    def text(self) -> str:
        if self.different == 0:
            return "identical"
        if self.quantized:
            return f"{self.different} of {self.values} differ, by {self.largest:.0f} at most"
        return f"within {self.largest:.1e}"


def compare(bundle: Bundle, vectors: Iterable[Vector] | None = None) -> list[Agreement]:
    """One Agreement per output, over `vectors` of native (inputs, outputs); without any, over
    the bundle's golden vectors, whose outputs are the numpy references'."""
    from edgecc.model.oracle import session

    manifest = bundle.manifest
    engine = session(_model(bundle.files[manifest["model"]["file"]]))
    names = [port["name"] for port in manifest["outputs"]]
    pairs: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in names}
    for given, ours in bundle.vectors() if vectors is None else vectors:
        theirs = dict(zip(names, engine.run(names, _feeds(manifest, given)), strict=True))
        for port in manifest["outputs"]:
            name = port["name"]
            pairs[name].append((ours[name], ports.to_native(port, theirs[name])))
    return [_agreement(port, pairs[port["name"]], tolerance.beside_others(manifest))
            for port in manifest["outputs"]]


def _model(data: bytes) -> Any:
    import onnx

    return onnx.load_model_from_string(data)


def _feeds(manifest: Mapping[str, Any], given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {port["name"]: ports.to_model(port, given[port["name"]]).astype(port["model_dtype"])
            for port in manifest["inputs"]}


def _agreement(port: ports.Port, pairs: list[tuple[np.ndarray, np.ndarray]],
               part: float) -> Agreement:
    ours = np.stack([a for a, _ in pairs]).astype(np.float64)
    theirs = np.stack([b for _, b in pairs]).astype(np.float64)
    gaps, quantized = np.abs(ours - theirs), port["scale"] is not None
    size = 1.0 if quantized else max(float(np.abs(theirs).max(initial=0.0)), 1e-30)
    largest = float(gaps.max(initial=0.0)) / size
    return Agreement(port["name"], quantized, gaps.size, int(np.count_nonzero(gaps)), largest,
                     part)


def check_against_onnxruntime(bundle: Bundle) -> list[Agreement]:
    """Raises CheckFailed where an output leaves the tolerance."""
    found = compare(bundle)
    for agreement in found:
        if not agreement.holds:
            raise CheckFailed(f"output {agreement.output!r} against ONNX Runtime: {agreement.text}")
    return found
