"""How pictures become the program's input, told to all who use the program later."""

from __future__ import annotations

from dataclasses import replace

from edgecc.data.preprocessing import Preprocessing, declared, picture_layout
from edgecc.schedule.program import Program


def declare(program: Program, how: Preprocessing | None) -> Program:
    """The program whose only input says so. Raises ConfigError when pictures do not fit it."""
    if how is None:
        return program
    entry = program.entries[0]
    declared(how, [port.name for port in entry.inputs], program.name)
    port = entry.inputs[0]
    picture_layout(port.model_shape, how.channels)
    how.check_dtype(port.model_dtype)
    layout, _ = picture_layout(port.view.shape, how.channels)
    view = replace(port.view, layout=layout)
    told = replace(entry, inputs=(replace(port, view=view, preprocessing=how),))
    return replace(program, entries=(told, *program.entries[1:]))
