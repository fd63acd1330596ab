"""Running and timing a bundle on a board: the way from a Bundle to edgecc.rpc."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from edgecc.bundle import ports
from edgecc.context import Context
from edgecc.errors import BoardError


def default_board(manifest: Mapping[str, Any]) -> str:
    """`host` when this machine has the target's architecture and features, else the target's
    emulated board. Raises BoardError for a target that runs nowhere."""
    from edgecc.targets import host_cpu

    info = manifest["target_info"]
    if info["runner"] == "none":
        raise BoardError(f"target {manifest['target']!r} has no runner", where="run",
                         advice="compile for a target with a board: `edgecc targets`")
    same = info["architecture"] == host_cpu.architecture()
    if same and set(info["features"]) <= host_cpu.features():
        return "host"
    return f"emulated-{manifest['target']}"


def as_board(board: Any, manifest: Mapping[str, Any]) -> Any:
    """A Board from a name, a Board or None (the default one). Raises BoardError."""
    from edgecc.rpc.boards import get_board

    if board is None:
        board = default_board(manifest)
    return get_board(board) if isinstance(board, str) else board


def run(bundle: Any, inputs: Mapping[str, Any], *, board: Any, native: bool,
        context: Context) -> dict[str, np.ndarray]:
    """Outputs by name; see Bundle.run."""
    return run_many(bundle, [inputs], board=board, native=native, context=context)[0]


def run_many(bundle: Any, samples: Iterable[Mapping[str, Any]], *, board: Any, native: bool,
             context: Context) -> list[dict[str, np.ndarray]]:
    """Outputs by name for each sample; see Bundle.run_many."""
    from edgecc.rpc import bench as boards

    manifest = bundle.manifest
    given = (_as_bytes(manifest, inputs) for inputs in samples)
    found = boards.run_many(bundle.files, manifest, as_board(board, manifest), given,
                            context=context)
    return [_as_arrays(manifest, outputs, native) for outputs in found]


def _as_bytes(manifest: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[bytes]:
    arrays = ports.native_inputs(manifest["inputs"], inputs)
    return [arrays[port["name"]].tobytes() for port in manifest["inputs"]]


def _as_arrays(manifest: Mapping[str, Any], found: Sequence[bytes],
               native: bool) -> dict[str, np.ndarray]:
    outputs = {}
    for port, data in zip(manifest["outputs"], found, strict=True):
        value = ports.from_bytes(port, data, "run")
        outputs[port["name"]] = value if native else ports.to_model(port, value)
    return outputs


def bench(bundle: Any, board: Any, *, count: int, warmup: int, profile: bool,
          context: Context) -> Any:
    """A Report; see Bundle.bench."""
    from edgecc.rpc.bench import bench as measure

    manifest = bundle.manifest
    return measure(bundle.files, manifest, as_board(board, manifest), context=context,
                   count=count, warmup=warmup, profile=profile)
