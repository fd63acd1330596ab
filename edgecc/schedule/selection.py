"""Kernel selection: the cheapest kernel that the target's features and its own list allow, the
smallest, or the tile that was asked for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgecc.errors import ConfigError, UnsupportedModel
from edgecc.kernels import registry, tiles
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Spec, is_real
from edgecc.schedule.program import Kernel

# what only moves values asks nothing of the chip's arithmetic
MOVES = frozenset({"fixed", "strided_copy", "take", "transpose"})
MOST_NAMED = 6  # tiles that an error offers


@dataclass(frozen=True)
class Choice:
    """What decides besides the target. `tiles`: step or signature (its spec's text) to a tile
    (4x16) or to a kernel's whole name; a step's own goes before its signature's."""

    small: bool = False
    tiles: Mapping[str, str] = field(default_factory=dict)

    def tile(self, step: str, spec: Spec) -> str | None:
        return self.tiles.get(step, self.tiles.get(spec.text()))

    def check_used(self, steps: Iterable[Kernel]) -> None:
        """Raises ConfigError for a tile of a step that the program does not have."""
        known = [name for step in steps for name in (step.name, step.spec.text())]
        for name in self.tiles:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                raise ConfigError(f"no step and no signature is {name!r}", where="tiles",
                                  advice=f"did you mean {near[0]}?" if near else
                                  "`edgecc inspect` lists the steps")


CHEAPEST = Choice()


def select_kernel(spec: Spec, target: Any, where: str, choice: Choice = CHEAPEST,
                  step: str = "") -> tuple[KernelRecord, str | None]:
    """The kernel for `spec`, and why it is not a fast one (None if it is).

    Raises UnsupportedModel when the target does not compute in the spec's type, or no kernel, or
    none of those the target allows, takes the spec; ConfigError for a tile that does not suit it.
    """
    _check_dtype(spec, target, where)
    tile = choice.tile(step, spec)
    if tile is not None:
        return _of_tile(spec, target, step, tile)
    if target.kernels is None:
        return registry.select(spec, target.features, where, choice.small)
    found = allowed(registry.candidates(spec, target.features, choice.small), target)
    if not found:
        raise UnsupportedModel(
            f"none of the kernels that target {target.name} allows computes {spec.text()}",
            where=where, advice="widen the target's `kernels`")
    return found[0], None if found[0].fast else f"target {target.name} restricts its kernels"


def allowed(records: list[KernelRecord], target: Any) -> list[KernelRecord]:
    """Those of them that the target's own list has."""
    return [k for k in records if target.kernels is None or k.name in target.kernels]


def _of_tile(spec: Spec, target: Any, step: str,
             tile: str) -> tuple[KernelRecord, str | None]:
    found = allowed(tiles.candidates(spec, target.features), target)
    for record in found:
        if tile in (record.name, tiles.tile_of(record.name)):
            usual, why = registry.select(spec, target.features, step)
            return record, None if record.fast else why or f"not the tile of {usual.name}"
    names = ", ".join(dict.fromkeys(tiles.tile_of(k.name) for k in found[:MOST_NAMED]))
    raise ConfigError(f"no kernel with tile {tile!r} computes {spec.text()}", where=step,
                      advice=f"the cheapest tiles that do: {names}" if names else
                      "leave this tile out")


def _check_dtype(spec: Spec, target: Any, where: str) -> None:
    arithmetic = "float32" if is_real(spec.dtype) else spec.dtype  # what float16 is widened to
    if arithmetic in (*target.dtypes, "bool") or spec.op in MOVES:
        return
    to_int8 = is_real(spec.dtype) and "int8" in target.dtypes
    raise UnsupportedModel(
        f"target {target.name} does not compute in {spec.dtype}", where=where, needed=spec.dtype,
        available=", ".join(target.dtypes),
        advice="quantize the model to int8 (--quantize int8); what stays in float32 after that "
        "needs another form, or another target" if to_int8 else "choose another target")
