"""Tiles as a file, so that a later compilation needs no search.

    {"format": "edgecc-tiles 1.0", "target": "raspberry-pi-5",
     "tiles": {"conv2d(dtype='int8', ...)": "int8_conv2d_8x8__dotprod"}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgecc.errors import ConfigError

FORMAT = "edgecc-tiles"
VERSION = "1.0"
MOST_BYTES = 16 << 20


def read(path: Path) -> dict[str, str]:
    """Signature or step to tile. Raises ConfigError for a file that is no tiles file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError("is too large for a tiles file", where=str(path),
                              available=f"{MOST_BYTES:,} B at most")
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot be read: {error}", where=str(path)) from error
    fields = value if isinstance(value, dict) else {}
    name, _, version = str(fields.get("format")).partition(" ")
    if name != FORMAT or version.partition(".")[0] != VERSION.partition(".")[0]:
        raise ConfigError(f"is not a file of {FORMAT} {VERSION}", where=str(path),
                          advice="`edgecc compile --save-tiles FILE` writes one")
    found = fields.get("tiles")
    if not isinstance(found, dict) or not all(isinstance(tile, str) for tile in found.values()):
        raise ConfigError("its tiles are not names of kernels by signature", where=str(path))
    return found


def text(manifest: Mapping[str, Any]) -> str:
    """The file's text for the tiles that a bundle was made with."""
    value = {"format": f"{FORMAT} {VERSION}", "target": manifest["target"],
             "tiles": tiles_of(manifest)}
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def tiles_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Signature to kernel; a step whose signature has another kernel elsewhere goes by name."""
    found: dict[str, str] = {}
    for step in manifest["steps"]:
        if step["kernel"] is not None:
            kept = found.setdefault(step["signature"], step["kernel"])
            if kept != step["kernel"]:
                found[step["name"]] = step["kernel"]
    return found
