"""What a bundle takes of flash and RAM, by part and symbol, and what two bundles differ in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from edgecc.errors import BundleError

FLASH = ("code", "constants", "support", "data", "weights")
RAM = ("arena", "context", "stack", "data")


def size_of(files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """`report/size.json` of firmware; for other bundles what their manifest and library say.

    Keys: flash and ram (bytes by part), symbols (part, name, bytes), flash_bytes, ram_bytes.
    """
    found = json.loads(files["report/size.json"]) if "report/size.json" in files else (
        _of_library(files, manifest))
    if not isinstance(found, dict) or not {"flash", "ram", "symbols"} <= set(found):
        raise BundleError("report/size.json has no sizes", where=str(manifest.get("name")),
                          advice="compile the bundle anew")
    ram = [value for value in found["ram"].values() if value is not None]
    return {**found, "flash_bytes": sum(found["flash"].values()), "ram_bytes": sum(ram)}


def _of_library(files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The shared library's loaded bytes are exact; the static one names the functions."""
    from edgecc.link.archive import members
    from edgecc.link.elf_symbols import symbols_by_section

    symbols = []
    for data in members(files.get(f"lib/lib{manifest['name']}.a", b"")).values():
        for section, (_, named) in symbols_by_section(data, "library").items():
            if section.startswith((".text", ".rodata")):
                part = "code" if section.startswith(".text") else "constants"
                symbols += [{"part": part, "name": name, "bytes": size} for name, size in named]
    return {"flash": {"code": manifest["code_bytes"], "weights": manifest["weights_bytes"]},
            "ram": {"arena": manifest["arena_bytes"], "stack": manifest["stack_bytes"]},
            "symbols": symbols}


def totals(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> list[tuple[str, ...]]:
    """Rows of the table: memory, part, bytes, and those of the other bundle with the change."""
    rows: list[tuple[str, ...]] = []
    for memory, parts in (("flash", FLASH), ("ram", RAM)):
        for part in parts:
            if part in one[memory] or (other and part in other[memory]):
                before = other[memory].get(part) if other else None
                rows.append((memory, part, *_pair(one[memory].get(part), before, other)))
        rows.append((memory, "total", *_pair(one[f"{memory}_bytes"],
                                             other[f"{memory}_bytes"] if other else None, other)))
    return rows


def symbols(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> list[tuple[str, ...]]:
    """Rows by size, or by change where there is another bundle: part, symbol, figures."""
    here, there = _by_name(one), _by_name(other)
    names = sorted(set(here) | set(there))
    if other is None:
        names.sort(key=lambda name: -here[name])
    else:
        names = [name for name in names if here.get(name) != there.get(name)]
        names.sort(key=lambda name: -abs(there.get(name, 0) - here.get(name, 0)))
    return [(*name, *_pair(here.get(name, 0), there.get(name, 0), other)) for name in names]


def _by_name(found: Mapping[str, Any] | None) -> dict[tuple[str, str], int]:
    sizes: dict[tuple[str, str], int] = {}
    for symbol in (found or {}).get("symbols", []):
        name = (str(symbol["part"]), str(symbol["name"]))
        sizes[name] = sizes.get(name, 0) + int(symbol["bytes"])
    return sizes


def _pair(one: int | None, other: int | None, compared: Any) -> tuple[str, ...]:
    if compared is None:
        return (_figure(one),)
    return _figure(one), _figure(other), f"{(other or 0) - (one or 0):+,}"


def _figure(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
