"""Facts: what header, run function, runner and wrapper say about one model, checked once."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from edgecc.errors import CheckFailed, UnsupportedModel
from edgecc.lower import c_text
from edgecc.lower.objects import Call, Objects
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Port, Program, contiguous_strides

ABI = (1, 2)
WEIGHTS_ALIGN = 64
LONGEST_SHAPE = 8


@dataclass(frozen=True)
class Facts:
    """One model as its C API shows it. `version` is the text of `<prefix>_version()`."""

    prefix: str
    version: str
    arena_bytes: int
    arena_align: int
    weights_bytes: int
    inputs: tuple[tuple[Port, int], ...]  # (port, offset in the arena)
    outputs: tuple[tuple[Port, int], ...]
    steps: tuple[tuple[str, tuple[Call, ...]], ...]
    threads: int = 1
    target: str = ""
    stack_bytes: int | None = None
    code_bytes: int | None = None  # code and constants, where they are counted
    weights_align: int = WEIGHTS_ALIGN

    @property
    def build(self) -> int:
        """Tells compilations apart whose header and library do not fit each other."""
        words = [self.prefix, self.version, self.target, self.arena_bytes, self.weights_bytes,
                 self.threads, *(name for name, _ in self.steps)]
        return zlib.crc32(repr(words).encode())

    @property
    def upper(self) -> str:
        return self.prefix.upper()


def facts_of(
    program: Program, plan: MemoryPlan, objects: Objects, *, prefix: str, version: str,
    target: str = "",
) -> Facts:
    """Checks the values and gathers what the texts need. Raises as `generate`."""
    if len(program.entries) != 1 or any(b.kind == "state" for b in program.buffers):
        raise UnsupportedModel(
            "the C API serves programs of one entry without persistent state",
            where=program.name, needed="1 entry, 0 states",
            available=f"{len(program.entries)} entries, "
            f"{sum(b.kind == 'state' for b in program.buffers)} states",
        )
    entry = program.entries[0]
    steps = tuple((name, tuple(calls)) for name, calls in groupby(objects.calls, lambda c: c.step))
    return Facts(
        c_text.identifier(prefix), version, plan.arena_bytes, plan.align_bytes,
        len(objects.weights), _placed(entry.inputs, plan), _placed(entry.outputs, plan), steps,
        objects.threads, target, objects.stack_bytes,
    )


def _placed(ports: tuple[Port, ...], plan: MemoryPlan) -> tuple[tuple[Port, int], ...]:
    return tuple((_plain(p), plan.offset(p.view.buffer) + p.view.offset_bytes) for p in ports)


def _plain(port: Port) -> Port:
    view = port.view
    if len(view.shape) > LONGEST_SHAPE:
        raise UnsupportedModel(
            "the shape has too many dimensions for the C API", where=port.name,
            needed=f"{len(view.shape)} dimensions", available=f"{LONGEST_SHAPE}",
            advice="reshape it in the model",
        )
    if view.strides not in (None, contiguous_strides(view.shape)):
        raise CheckFailed(f"input or output {port.name!r} is not contiguous")
    return port


def tensor_facts(port: Port) -> dict[str, Any]:
    """An input or output as JSON; scale and zero point are null where not quantized."""
    view, quantization = port.view, port.view.quantization
    return {
        "name": port.name,
        "shape": list(view.shape),
        "dtype": view.dtype,
        "layout": view.layout,
        "bytes": view.size_bytes,
        "scale": float(quantization.scale) if quantization else None,
        "zero_point": int(quantization.zero_point) if quantization else None,
    }
