"""What a model takes of flash and RAM, to the byte: one link of it alone, read by symbol.

Code and constants are those of everything that the model's functions reach; `support` is what
the compiler's library adds for them: arithmetic that the chip lacks, memcpy and memset.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from edgecc.errors import DoesNotFit
from edgecc.link.depth import deepest
from edgecc.link.elf_symbols import symbols_by_section
from edgecc.link.firmware import firmware
from edgecc.link.linker_script import Layout
from edgecc.link.toolchain import Driver
from edgecc.lower.api_facts import Facts
from edgecc.lower.objects import Objects
from edgecc.memory.plan import MemoryPlan
from edgecc.targets.target import Region

PARTS = ("code", "constants", "support", "weights", "data")
UNNAMED = "(unnamed)"  # literals and padding
# the same bytes as in firmware: only the addresses are made up
SCRIPT = """\
MEMORY { flash : ORIGIN = 0x10000, LENGTH = 0xff0000  ram : ORIGIN = 0x20000000, LENGTH = 1M
         weights : ORIGIN = 0x30000000, LENGTH = 0x10000000 }
SECTIONS
{
  .code : { model.o(.text .text.*) } > flash
  .constants : { model.o(.rodata .rodata.* .srodata .srodata.*) } > flash
  .support : { *(.text .text.* .rodata .rodata.* .srodata .srodata.*) } > flash
  .weights : { *(.edgecc.weights) } > weights
  .data : { *(.data .data.* .sdata .sdata.* .bss .bss.* .sbss .sbss.* COMMON) } > ram
  /DISCARD/ : { *(.ARM.exidx* .ARM.extab* .eh_frame* .comment .debug* .note*) }
}
"""


@dataclass(frozen=True)
class Footprint:
    """Bytes by part and symbol; `arena`, `context` and `stack` (None: unknown) are RAM."""

    symbols: tuple[tuple[str, str, int], ...]  # part, symbol, bytes
    arena_bytes: int
    context_bytes: int
    stack_bytes: int | None

    def part(self, name: str) -> int:
        return sum(size for part, _, size in self.symbols if part == name)

    @property
    def code_bytes(self) -> int:
        """Flash without the weights."""
        return sum(self.part(name) for name in ("code", "constants", "support", "data"))

    @property
    def ram_bytes(self) -> int:
        return (self.arena_bytes + self.context_bytes + (self.stack_bytes or 0)
                + self.part("data"))

    def to_json(self) -> dict[str, Any]:
        """What `report/size.json` holds."""
        return {
            "flash": {name: self.part(name) for name in PARTS},
            "ram": {"arena": self.arena_bytes, "context": self.context_bytes,
                    "stack": self.stack_bytes, "data": self.part("data")},
            "symbols": [{"part": part, "name": name, "bytes": size}
                        for part, name, size in self.symbols],
        }

    def dump(self) -> bytes:
        return (json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n").encode()


def measure(driver: Driver, facts: Facts, texts: dict[str, str], model: bytes, weights: bytes,
            roots: list[str]) -> Footprint:
    """Links the model with nothing but what it needs. Raises ToolchainError."""
    made = image(driver, {"model.o": model, "weights.o": weights},
                 [*roots, f"{facts.prefix}_weights"])
    found = []
    for section, (size, symbols) in sorted(symbols_by_section(made, "image").items()):
        part = section.removeprefix(".")
        if part in PARTS and size:
            named = [(part, name, size) for name, size in symbols]
            rest = size - sum(bytes for _, _, bytes in named)
            found += [*named, *([(part, UNNAMED, rest)] if rest else [])]
    return Footprint(tuple(sorted(found)), facts.arena_bytes, context_bytes(driver, facts, texts),
                     facts.stack_bytes)


def image(driver: Driver, objects: dict[str, bytes], roots: list[str]) -> bytes:
    """A program of the objects alone, with a section for each of PARTS. Raises ToolchainError."""
    return firmware(driver, objects, SCRIPT, None, roots)


def support_stack_bytes(driver: Driver, model: bytes, roots: list[str]) -> int:
    """The deepest that the compiler's support library goes below the model."""
    made = image(driver, {"model.o": model}, roots)
    _, symbols = symbols_by_section(made, "image").get(".support", (0, []))
    return deepest(made, {name for name, _ in symbols}, "image")


def context_bytes(driver: Driver, facts: Facts, texts: dict[str, str]) -> int:
    """sizeof(<prefix>_context), as the target's compiler has it."""
    header = f"{facts.prefix}.h"
    source = (f'#include "{header}"\nextern char edgecc_size[];\n'
              f"char edgecc_size[sizeof({facts.prefix}_context)] = {{1}};\n")
    made = driver.compile("size.c", {"size.c": source, header: texts[f"include/{header}"]})
    return next(size for _, symbols in symbols_by_section(made, "size.o").values()
                for name, size in symbols if name == "edgecc_size")


def check_fits(found: Footprint, objects: Objects, plan: MemoryPlan, layout: Layout,
               target: str) -> None:
    """Raises DoesNotFit for a memory that is too small, with what takes most of it."""
    uses: dict[str, tuple[Region, dict[str, int]]] = {}
    for region, parts in (
        (layout.code, {"code": found.code_bytes}),
        (layout.weights, {"weights": found.part("weights")}),
        (layout.ram, {"arena": found.arena_bytes, "context": found.context_bytes,
                      "stack": found.stack_bytes or 0, "data": found.part("data")}),
    ):
        uses.setdefault(region.name, (region, {}))[1].update(parts)
    largest = {"code": _largest_code(found), "weights": _largest_weights(objects),
               "arena": _largest_buffer(plan)}
    for region, held in uses.values():
        if sum(held.values()) > region.size_bytes:
            raise _does_not_fit(region, held, largest, target)


def _does_not_fit(region: Region, held: dict[str, int], largest: dict[str, str],
                  target: str) -> DoesNotFit:
    needed, size = sum(held.values()), region.size_bytes
    listed = " + ".join(f"{name} {bytes:,} B" for name, bytes in held.items() if bytes)
    most = max((name for name in held if name in largest), key=lambda name: held[name])
    smaller = "a smaller input, or int8 instead of float32" if most == "arena" else (
        "int8 instead of float32 (a quarter of the weights), or fewer channels")
    error = DoesNotFit(
        f"{needed - size:,} B too much for {region.name}: {listed}; most is {largest[most]}",
        where=target, needed=f"{needed:,} B", available=f"{size:,} B of {region.name}",
        advice=f"try {smaller}, or a target with at least {-(-needed // 1024):,} KB there",
    )
    error.region, error.shortfall_bytes, error.live_bytes = region.name, needed - size, held
    return error


def _largest_buffer(plan: MemoryPlan) -> str:
    size, name = max(((p.size_bytes, p.name) for p in plan.placements), default=(0, "nothing"))
    return f"buffer {name} with {size:,} B"


def _largest_weights(objects: Objects) -> str:
    step, (_, size) = max(objects.weight_offsets.items(), key=lambda item: (item[1][1], item[0]),
                          default=("nothing", (0, 0)))
    return f"the weights of {step} with {size:,} B"


def _largest_code(found: Footprint) -> str:
    size, name = max(((size, name) for part, name, size in found.symbols if part == "code"),
                     default=(0, "nothing"))
    return f"{name} with {size:,} B"
