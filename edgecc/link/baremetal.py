"""Bare-metal forms of a model: static library, header, sources, weights, and a whole program.

The library is freestanding: it needs memcpy and memset, and arithmetic from the compiler's own
support library where the chip has no instruction for it. The programs speak the runner protocol,
over semihosting and over the chip's UART, so that a chip is a board like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ConfigError, ToolchainError
from edgecc.link import footprint
from edgecc.link.archive import archive
from edgecc.link.firmware import firmware
from edgecc.link.footprint import Footprint
from edgecc.link.linker_script import Layout, layout_of, linker_script
from edgecc.link.linux import LinkedFiles
from edgecc.link.model_object import api, check_kernels, model_object
from edgecc.link.serial_board import serial_header
from edgecc.link.toolchain import Driver, driver_for
from edgecc.lower import run_function
from edgecc.lower.api_facts import Facts, facts_of
from edgecc.lower.objects import Objects
from edgecc.lower.runner_glue import glue, runtime_text
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Program
from edgecc.targets.target import Target

RUNNER_STACK_BYTES = 2048  # of the runner itself, below the model's
UNKNOWN_STACK_BYTES = 32768  # where the model's cannot be told
MORE_BYTES = 1 << 24
HEADERS = ("baremetal.h", "line.h", "semihost.h", "uart.h")
SEMIHOSTING = ("console.c", "line_semihost.c")
START = {"arm": "start_arm.c", "riscv32": "start_riscv.c"}


@dataclass(frozen=True)
class _Parts:
    """What the forms are made of."""

    driver: Driver
    facts: Facts
    texts: dict[str, str]
    objects: Objects
    target: Target
    model: bytes
    weights: bytes

    @property
    def prefix(self) -> str:
        return self.facts.prefix


def link_baremetal(
    program: Program, plan: MemoryPlan, objects: Objects, target: Target, *,
    config: CompileConfig, context: Context, name: str, version: str,
) -> LinkedFiles:
    """Everything that a bundle for a chip without an operating system holds of code and C.

    Paths: lib/lib<p>.a, lib/<p>_weights.o, include/<p>.h, src/<p>.c, src/<p>_weights.s (for
    weights.bin beside it), src/<p>.ld (the memory map) and, where the chip has room for it beside
    the model, runner/runner; where its UART is known, runner/serial.
    Raises ToolchainError as `link_linux`, DoesNotFit for a memory that is too small,
    TargetError for memories that hold no program, ConfigError for several threads.
    """
    if config.threads > 1:
        raise ConfigError(f"threads={config.threads}: {target.name} has no threads",
                          where=target.name, advice="compile with threads=1")
    prefix = run_function.prefix_of(name)
    facts = facts_of(program, plan, objects, prefix=prefix, version=version, target=target.name)
    texts = run_function.texts_of(facts)
    driver = driver_for(target, config, context)
    check_kernels(objects, target)
    parts = _Parts(driver, facts, texts, objects, target,
                   model_object(driver, facts, texts, objects, target),
                   _weights_object(driver, prefix, objects.weights))
    layout = layout_of(target, _arena_region(plan))
    found = footprint.measure(driver, facts, texts, parts.model, parts.weights, api(facts))
    footprint.check_fits(found, objects, plan, layout, target.name)
    facts = replace(facts, code_bytes=found.code_bytes)
    parts = replace(parts, facts=facts, texts=run_function.texts_of(facts))
    return dict(sorted(_files(parts, layout, found, name).items()))


def _files(parts: _Parts, layout: Layout, found: Footprint, name: str) -> LinkedFiles:
    prefix, stack = parts.prefix, found.stack_bytes
    script = _script(parts, layout, stack)
    runners = _runners_that_fit(parts, layout, script, stack, name)
    return {
        **{path: text.encode() for path, text in parts.texts.items()},
        f"src/{prefix}_weights.s": weights_source(parts.driver, prefix).encode(),
        f"src/{prefix}.ld": script.encode(),
        f"lib/lib{prefix}.a": archive({f"{prefix}.o": parts.model}),
        f"lib/{prefix}_weights.o": parts.weights,
        "report/size.json": found.dump(),
        **runners,
    }


def _script(parts: _Parts, layout: Layout, stack: int | None) -> str:
    room = RUNNER_STACK_BYTES + (UNKNOWN_STACK_BYTES if stack is None else stack)
    return linker_script(layout, stack_bytes=room, arena_bytes=parts.facts.arena_bytes,
                         align=parts.facts.arena_align)


def _runners_that_fit(parts: _Parts, layout: Layout, script: str, stack: int | None,
                      name: str) -> dict[str, bytes]:
    """None where the chip has room for the model but not for the runner around it: what fails to
    link for another reason fails with more memory too."""
    try:
        return _runners(parts, script, name)
    except ToolchainError:
        larger = Layout(*(replace(region, size_bytes=region.size_bytes + MORE_BYTES)
                          for region in (layout.code, layout.weights, layout.ram)))
        _runners(parts, _script(parts, larger, stack), name)
        return {}


def _arena_region(plan: MemoryPlan) -> str | None:
    return plan.placements[0].region if plan.placements else None


def weights_source(driver: Driver, prefix: str) -> str:
    """Assembly that puts weights.bin into flash, as `<prefix>_weights`."""
    return f"""\
    .section .edgecc.weights,"a",%progbits
    .balign 64
    .global {prefix}_weights
    .type {prefix}_weights, %object
{prefix}_weights:
    .incbin "weights.bin"
    .size {prefix}_weights, . - {prefix}_weights
"""


def _weights_object(driver: Driver, prefix: str, weights: bytes) -> bytes:
    source = "weights.s"
    argv = [*driver.argv, "-c", source, "-o", "made"]
    files = {source: weights_source(driver, prefix).encode(), "weights.bin": weights}
    return driver.make(files, argv)


def _runners(parts: _Parts, script: str, name: str) -> dict[str, bytes]:
    """The program over semihosting and, where the target says how its UART works, over that."""
    objects = _runner_objects(parts, name)
    counted = {f"{parts.prefix}_run", "memcpy", *(c.symbol for c in parts.objects.calls)}
    named = script + f"edgecc_weights = {parts.prefix}_weights;\n"
    lines = {"runner/runner": _compiled(parts, {n: () for n in SEMIHOSTING}, {})}
    if parts.target.serial is not None:
        header = serial_header(parts.target.serial, _identity(objects, script))
        lines["runner/serial"] = _compiled(parts, {"serial.c": ()}, {"serial_board.h": header})
    return {path: firmware(parts.driver, {**objects, **line}, named, counted)
            for path, line in lines.items()}


def _runner_objects(parts: _Parts, name: str) -> dict[str, bytes]:
    """All of a program but its line."""
    facts = parts.facts
    room = sum(port.view.size_bytes for port, _ in facts.inputs)
    sources = {START[machine(parts.target)]: (), "words.c": (), "arithmetic.c": (),
               "runner.c": (f"-DINPUT_ROOM={room}u", f"-DSTEP_ROOM={len(facts.steps)}u")}
    own = {"glue.c": glue(facts, parts.objects.weights, model=name, target=parts.target.name),
           f"{facts.prefix}.h": parts.texts[f"include/{facts.prefix}.h"], **_headers()}
    return {**_compiled(parts, sources, {}), "model.o": parts.model, "weights.o": parts.weights,
            "glue.o": parts.driver.compile("glue.c", own)}


def _compiled(parts: _Parts, sources: Mapping[str, tuple[str, ...]],
              more: Mapping[str, str]) -> dict[str, bytes]:
    headers = {**_headers(), **more}
    return {f"{n}.o": parts.driver.compile(n, {n: runtime_text(f"baremetal/{n}"), **headers},
                                           *flags) for n, flags in sources.items()}


def _headers() -> dict[str, str]:
    return {"runner_model.h": runtime_text("runner_model.h"),
            **{n: runtime_text(f"baremetal/{n}") for n in HEADERS}}


def _identity(objects: Mapping[str, bytes], script: str) -> str:
    """What tells a program from every other, so that a board can say which one it has."""
    digest = hashlib.sha256(script.encode())
    for name in sorted(objects):
        digest.update(hashlib.sha256(objects[name]).digest())
    return digest.hexdigest()[:16]


def machine(target: Target) -> str:
    from edgecc.link.elf import machine_of

    return machine_of(target.architecture)
