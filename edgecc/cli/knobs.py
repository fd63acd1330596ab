"""Knobs of the compiler: flags, over the project file's [knobs], over the target's own values."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgecc.errors import ConfigError

NUMBERS: dict[str, type] = {
    "fusion_max_operators": int, "fusion_min_score": float, "fusion_min_intensity": float,
    "parallel_chunk": int, "unroll": int,
}


@dataclass(frozen=True)
class Knobs:
    """What the project file says. `tiles_file` is read before `tiles`, which go before it."""

    tiles_file: Path | None = None
    tiles: Mapping[str, str] = field(default_factory=dict)
    fusion_max_operators: int | None = None
    fusion_min_score: float | None = None
    fusion_min_intensity: float | None = None
    parallel_chunk: int | None = None
    unroll: int | None = None


def add(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--tile", action="append", default=[], metavar="STEP=TILE",
        help="the tile (4x16) or kernel of a step or signature; may be repeated")
    add("--tiles", type=Path, metavar="FILE", help="tiles that --save-tiles wrote")
    add("--fusion-max-operators", type=int, metavar="N", help="most ONNX operators in one step")
    add("--fusion-min-score", type=float, metavar="X", help="least part (0 to 1) of the bytes "
        "moved that a fusion must keep out of memory")
    add("--fusion-min-intensity", type=float, metavar="X",
        help="least multiply-accumulates per byte of a fused step")
    add("--parallel-chunk", type=int, metavar="N",
        help="least estimated instructions of a step that are worth a thread")
    add("--unroll", type=int, metavar="N", help="size up to which LLVM may unroll loops")


def fields(args: argparse.Namespace, project: Knobs) -> dict[str, Any]:
    """CompileConfig's fields. Raises ConfigError."""
    tiles = {**_of_file(project.tiles_file), **project.tiles, **_of_file(args.tiles),
             **given(args.tile)}
    numbers = {name: getattr(project, name) if getattr(args, name) is None
               else getattr(args, name) for name in NUMBERS}
    return {"tiles": tiles, **numbers}


def _of_file(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    from edgecc.tune import tiles_file

    return tiles_file.read(path)


def given(texts: list[str]) -> dict[str, str]:
    """{"conv_1": "4x16"} from "conv_1=4x16"; a signature may hold '='. Raises ConfigError."""
    found: dict[str, str] = {}
    for text in texts:
        name, _, tile = text.rpartition("=")
        if not name or not tile or name in found:
            raise ConfigError(f"--tile {text!r} is not a new STEP=TILE",
                              advice="write --tile conv_1=4x16")
        found[name] = tile
    return found
