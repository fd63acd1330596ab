"""A torch module's weights from a file, and its answers beside those of its ONNX form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from edgecc.errors import UnsupportedModel
from edgecc.model import oracle
from edgecc.model.torch import evaluating

_LONGEST = 300


def load_weights(module: Any, path: Path) -> None:
    """Load a state_dict into the module; nothing in the file is executed (weights_only=True).

    A checkpoint's `state_dict` entry and DataParallel's `module.` prefix are understood.
    Raises: UnsupportedModel for a file that holds no state_dict of this module.
    """
    state = _state(path)
    parallel = all(key.startswith("module.") for key in state)
    if parallel:
        state = {key.removeprefix("module."): value for key, value in state.items()}
    try:
        module.load_state_dict(state)
    except Exception as error:
        raise UnsupportedModel(
            f"does not fit {type(module).__name__}: {_told(error)}", where=str(path),
            advice="name the module that these weights were saved from",
        ) from error


def _state(path: Path) -> dict[str, Any]:
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # pickle, zipfile and OS errors have no common base
        raise UnsupportedModel(
            f"cannot be read as weights: {_told(error)}", where=str(path),
            advice="save them with torch.save(module.state_dict(), path)",
        ) from error
    if isinstance(found, Mapping):
        found = found.get("state_dict", found)
    if not isinstance(found, Mapping):
        raise UnsupportedModel(
            f"holds a {type(found).__name__}, not a state_dict", where=str(path),
            advice="save it with torch.save(module.state_dict(), path)")
    return {str(key): value for key, value in found.items()}


def _told(error: Exception) -> str:
    """The first line that says something: torch's own headline only names the class."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Error(s) in loading")]
    return (told[0] if told else type(error).__name__)[:_LONGEST]


def difference(module: Any, model: ir.Model, seed: int = 0) -> float:
    """The largest difference between torch and ONNX Runtime on seeded random inputs, relative
    to the largest value. The model's inputs must have the names of forward's arguments."""
    import torch

    generator = np.random.default_rng(seed)
    feeds = {v.name or "": generator.standard_normal(v.shape.numpy()).astype(v.dtype.numpy())
             for v in model.graph.inputs if v.shape is not None and v.dtype is not None}
    with evaluating(module), torch.no_grad():
        wanted = _leaves(module(**{name: torch.from_numpy(a) for name, a in feeds.items()}))
    found = oracle.run(model, feeds).values()
    return max(_relative(w.numpy(), f) for w, f in zip(wanted, found, strict=True))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in _leaves(part)]
    return [] if value is None else [value]


def _relative(wanted: np.ndarray, found: np.ndarray) -> float:
    largest = float(np.abs(wanted).max(initial=0.0)) or 1.0
    return float(np.abs(wanted - found).max(initial=0.0)) / largest
