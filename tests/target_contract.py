"""What every target must hold to, as a list of findings: the contract of targets/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

from edgecc.kernels.registry import all_kernels
from edgecc.rpc.boards import built_in_boards
from edgecc.rpc.probe import FEATURES
from edgecc.targets import Region, Target
from edgecc.targets.target import UARTS

NUMBERS = ("cores", "clock_hz", "int8_macs_per_cycle", "float32_macs_per_cycle", "unroll",
           "parallel_chunk", "memories", "serial")
HOLDS = {"arena", "weights", "code"}
TOOLCHAINS = {"zig", "gcc", "clang", "none"}
RUNNERS = {"linux", "baremetal", "none"}
DTYPES = {"int8", "int16", "float16", "float32"}
LAYOUTS = {"NHWC", "NCHW", "NCHWc8", "NC1HWC0"}
BASES = frozenset({"rv64gc", "armv7-neon"})  # whole base instruction sets, spelled as one feature
# what cores without an operating system have: no probe runs there
MICROCONTROLLER = frozenset({"thumb", "thumb2", "dsp", "mve", "fpu32", "rv32"})
FAMILIES = {"armv7l": "arm"}  # how triples begin where `uname -m` says something longer
DEFAULTS = {field.name: field.default for field in fields(Target)}


def findings(target: Target) -> list[str]:
    """Everything that is wrong with `target`; empty when it keeps the contract."""
    rules = (naming, sources, memories, features, toolchain, running, serial, words)
    return [f"{target.name}: {finding}" for rule in rules for finding in rule(target)]


def naming(target: Target) -> Iterator[str]:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", target.name):
        yield "the name is not lower-case words joined by '-'"
    if not target.description:
        yield "there is no description"
    if not target.triple.startswith(family(target)):
        yield f"triple {target.triple} is not of architecture {target.architecture}"


def family(target: Target) -> str:
    return FAMILIES.get(target.architecture, f"{target.architecture}-")


def sources(target: Target) -> Iterator[str]:
    known = {field.name for field in fields(Target)}
    for name in NUMBERS:
        if getattr(target, name) != DEFAULTS[name] and not target.source.get(name):
            yield f"{name} has no source"
    if target.features and not target.source.get("features"):
        yield "features have no source"
    for name in target.source:
        if name not in known:
            yield f"source names {name}, which is no field"


def memories(target: Target) -> Iterator[str]:
    names = [region.name for region in target.memories]
    if len(names) != len(set(names)):
        yield "two memories have the same name"
    for region in target.memories:
        yield from region_findings(region)
    if target.runner == "baremetal":
        yield from map_findings(target)


def map_findings(target: Target) -> Iterator[str]:
    """Without an operating system every memory has an address, and no two share one."""
    placed = sorted((r.base, r.size_bytes, r.name) for r in target.memories if r.base is not None)
    if len(placed) != len(target.memories):
        yield "a memory of a bare-metal target has no base address"
    for (base, size, name), (next_base, _, next_name) in pairwise(placed):
        if base + size > next_base:
            yield f"memories {name} and {next_name} overlap"
    if HOLDS - {"code"} - {use for region in target.memories for use in region.may_hold}:
        yield "no memory may hold the arena, or none the weights"


def region_findings(region: Region) -> Iterator[str]:
    if region.size_bytes <= 0:
        yield f"memory {region.name} has no bytes"
    if region.align_bytes < 1 or region.align_bytes & (region.align_bytes - 1):
        yield f"memory {region.name}: align_bytes is not a power of two"
    if not set(region.may_hold) <= HOLDS:
        yield f"memory {region.name} may hold {sorted(set(region.may_hold) - HOLDS)}"


def features(target: Target) -> Iterator[str]:
    asked = {feature for kernel in all_kernels() for feature in kernel.requires}
    known = FEATURES.get(target.architecture, frozenset()) | asked | BASES
    bare = target.runner == "baremetal"
    unknown = target.features - (known | MICROCONTROLLER if bare else known - MICROCONTROLLER)
    if unknown:
        yield f"no kernel and no probe knows the features {sorted(unknown)}"
    names = {kernel.name for kernel in all_kernels()}
    if target.kernels is not None and not set(target.kernels) <= names:
        yield f"no such kernels: {sorted(set(target.kernels) - names)}"


def toolchain(target: Target) -> Iterator[str]:
    kind, argv = target.toolchain.kind, target.toolchain.argv
    if kind not in TOOLCHAINS:
        yield f"toolchain kind {kind!r} is not one of {sorted(TOOLCHAINS)}"
    if (kind == "none") != (not argv):
        yield "a toolchain has an argv exactly when its kind is not none"
    if not all(isinstance(word, str) and word for word in (*argv, *target.toolchain.flags)):
        yield "toolchain argv and flags are not all words"
    if kind == "zig" and not (argv[:3] == ("zig", "cc", "-target")
                              and argv[3:4] and argv[3].startswith(zig_family(target))):
        yield "a zig toolchain is (zig, cc, -target, <triple of its architecture>)"


def zig_family(target: Target) -> str:
    """How zig's triples begin: Thumb is one architecture there, and no system is spelled out."""
    if target.runner != "baremetal":
        return family(target)
    name = "thumb" if target.architecture.startswith("thumb") else target.architecture
    return f"{name}-freestanding-"


def running(target: Target) -> Iterator[str]:
    if target.runner not in RUNNERS:
        yield f"runner {target.runner!r} is not one of {sorted(RUNNERS)}"
    if target.runner != "none" and target.toolchain.kind == "none":
        yield "a runner needs a toolchain to link it"
    board = built_in_boards().get(f"emulated-{target.name}")
    if target.emulator and (board is None or board.emulator != target.emulator):
        yield "there is no built-in emulated board with its emulator"
    kind = "qemu-system-" if target.runner == "baremetal" else "qemu-"
    if target.emulator and not target.emulator[0].startswith(kind):
        yield f"{target.emulator[0]} is not QEMU of the kind {kind}*"


def serial(target: Target) -> Iterator[str]:
    if (own := target.serial) is None:
        return
    if target.runner != "baremetal":
        yield "a serial line is for chips without an operating system"
    if own.kind not in UARTS:
        yield f"serial kind {own.kind!r} is not one of {sorted(UARTS)}"
    if (own.kind == "nrf") != (own.pins is not None):
        yield "serial pins are for UARTs that choose them, and those need them"
    for name, address in [("base", own.base), *(("setup", at) for at, _, _ in own.setup)]:
        if address % 4 or not 0 < address < 1 << 32:
            yield f"serial {name} {address:#x} is no register of a 32-bit chip"
    if min(own.clock_hz, own.baud, own.core_hz or 1) < 1 or own.clock_hz < 16 * own.baud:
        yield "serial clocks and baud are not positive, or the baud is too fast for the clock"
    if own.core_hz is not None and not target.architecture.startswith("thumb"):
        yield "serial core_hz is for cores with a DWT"


def words(target: Target) -> Iterator[str]:
    if not set(target.dtypes) <= DTYPES or not target.dtypes:
        yield f"dtypes {target.dtypes} are not among {sorted(DTYPES)}"
    if target.preferred_layout not in LAYOUTS:
        yield f"layout {target.preferred_layout} is not one of {sorted(LAYOUTS)}"
    for name, value in numbers(target):
        if value is not None and value <= 0:
            yield f"{name} is not positive"


def numbers(target: Target) -> Iterator[tuple[str, Any]]:
    for name in ("cores", "clock_hz", "int8_macs_per_cycle", "float32_macs_per_cycle"):
        yield name, getattr(target, name)
