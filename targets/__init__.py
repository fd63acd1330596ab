"""Targets by name: ours, one module each, and third parties' through the entry point group
`edgecc.targets` (each entry point is a Target, or a tuple of them)."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points

from edgecc.errors import TargetError
from edgecc.targets.target import Region, Serial, Target, Toolchain

__all__ = ["Region", "Serial", "Target", "Toolchain", "all_targets", "get_target"]
NOT_A_TARGET = {"target", "host_cpu", "peaks"}


@cache
def all_targets() -> dict[str, Target]:
    """Every registered target by name. Raises TargetError for a broken plug-in, by its name."""
    found: dict[str, Target] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name not in NOT_A_TARGET and not module.ispkg:
            _add(found, importlib.import_module(f"{__name__}.{module.name}").TARGETS, module.name)
    for point in entry_points(group="edgecc.targets"):
        try:
            value = point.load()
        except Exception as error:
            raise TargetError(
                f"target plug-in {point.name!r} failed to load: {error}",
                where=point.value,
                advice="repair or uninstall the package that registers it",
            ) from error
        _add(found, value if isinstance(value, tuple) else (value,), point.name)
    return found


def _add(found: dict[str, Target], targets: tuple[Target, ...], origin: str) -> None:
    for target in targets:
        if not isinstance(target, Target):
            raise TargetError(f"{origin!r} registers {target!r}, which is not a Target")
        if target.name in found:
            raise TargetError(f"{origin!r} registers target {target.name!r} a second time")
        found[target.name] = target


def get_target(name: str) -> Target:
    """Raises TargetError with near matches for an unknown name."""
    targets = all_targets()
    if name in targets:
        return targets[name]
    near = difflib.get_close_matches(name, targets, n=3, cutoff=0.4)
    raise TargetError(
        f"unknown target {name!r}",
        advice=f"did you mean {' or '.join(near)}?" if near else "`edgecc targets` lists them",
    )
