"""Small code: one kernel for all layers of a kind, or one for each. Which is less shows only in
the linked program: a model of few layers may have less code with kernels made for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import DoesNotFit
from edgecc.kernels import registry
from edgecc.schedule import schedule
from edgecc.schedule.program import Kernel
from edgecc.targets import get_target
from edgecc.tune.search import Build


def smallest(graph: Any, build: Build, *, config: CompileConfig,
             context: Context) -> Mapping[str, str]:
    """The tiles that take the least flash, the ones of `config` among them.

    Raises what building raises.
    """
    quiet = replace(context, progress=lambda verb, line: None, dump_dir=None)
    own = {**own_kernels(graph, config, quiet), **config.tiles}
    if own == dict(config.tiles):
        return config.tiles
    sizes = [_flash_bytes(build, replace(config, tiles=tiles), quiet)
             for tiles in (config.tiles, own)]
    return own if sizes[1] < sizes[0] else config.tiles


def own_kernels(graph: Any, config: CompileConfig, context: Context) -> dict[str, str]:
    """By signature, the kernels made for each layer that would otherwise share one."""
    target = get_target(config.target)
    small, usual = (
        [s for s in schedule(graph, target, config=c, context=context).entry().steps
         if isinstance(s, Kernel)] for c in (config, replace(config, optimization="O2")))
    return {step.spec.text(): other.kernel for step, other in zip(small, usual, strict=True)
            if registry.find(step.kernel).code is not None}


def _flash_bytes(build: Build, config: CompileConfig, context: Context) -> float:
    try:
        return float(build(config, context).manifest["flash_bytes"])
    except DoesNotFit:
        return float("inf")
