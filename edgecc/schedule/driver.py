"""Model to Program, one named call per stage."""

from __future__ import annotations

from typing import Any

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.levels import LEVELS, shaped
from edgecc.schedule.affines import join_affines
from edgecc.schedule.arrange import arrange
from edgecc.schedule.borders import settle_borders
from edgecc.schedule.dead_channels import remove_dead_channels
from edgecc.schedule.declare import declare
from edgecc.schedule.emit import emit, identifier
from edgecc.schedule.fuse import drop_identities, fuse
from edgecc.schedule.fusion_limits import Limits
from edgecc.schedule.group_norms import join_norms
from edgecc.schedule.phases import split_transposed
from edgecc.schedule.program import Kernel, Program
from edgecc.schedule.qdq import fold_quantization
from edgecc.schedule.reader import read_graph
from edgecc.schedule.recognize import recognize
from edgecc.schedule.selection import Choice
from edgecc.schedule.threads import spread


def run(model: Any, target: Any, config: CompileConfig, context: Context) -> Program:
    """See `edgecc.schedule.schedule`."""
    level, target = LEVELS[config.optimization], shaped(target, config)
    graph = join_norms(join_affines(read_graph(model)))
    graph = fold_quantization(graph)
    graph = settle_borders(graph, config.io)
    graph = drop_identities(graph)
    if config.fusion and not level.plain:
        graph = fuse(recognize(graph), Limits.of(config))
        graph = remove_dead_channels(graph)
    arranged = arrange(split_transposed(graph), config.layout == "NCHW")
    program = emit(arranged, target, config.name or identifier(graph.name, "model"),
                   Choice(level.small, config.tiles))
    program = spread(program, config.threads, target)
    program = declare(program, config.preprocessing)
    context.progress("schedule", summary(program))
    return program


def summary(program: Program) -> str:
    """`27 steps · 7.49 M MAC · 0 layout conversions`."""
    steps = [step for entry in program.entries for step in entry.steps]
    macs = sum(step.macs for step in steps if isinstance(step, Kernel))
    count = program.layout_conversions
    return (f"{len(steps)} steps · {macs / 1e6:.2f} M MAC · "
            f"{count} layout conversion{'' if count == 1 else 's'}")
