"""The ctypes wrapper of one model: the shipped template with the model's numbers filled in."""

from __future__ import annotations

import zlib
from pprint import pformat

from edgecc.lower import parallel
from edgecc.lower.api_facts import ABI, Facts
from edgecc.lower.runner_glue import runtime_text


def wrapper(facts: Facts, weights: bytes) -> str:
    """Text of `python/<prefix>.py`."""
    numbers = {
        "PREFIX": facts.prefix,
        "ABI_MAJOR": ABI[0],
        "BUILD": facts.build,
        "ARENA_BYTES": facts.arena_bytes,
        "ARENA_ALIGN": facts.arena_align,
        "WEIGHTS_BYTES": len(weights),
        "WEIGHTS_CRC32": zlib.crc32(weights),
        "INPUT_COUNT": len(facts.inputs),
        "OUTPUT_COUNT": len(facts.outputs),
        "THREADS": facts.threads,
        "POOL_BYTES": dict(parallel.sizes(facts)).get("POOL_BYTES", 0),
        "PREPROCESSING": _pictures(facts),
    }
    text = runtime_text("wrapper.py.in")
    for name, value in numbers.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def _pictures(facts: Facts) -> str:
    """A Python literal: input name to preprocessing record."""
    found = {port.name: port.preprocessing.to_json() for port, _ in facts.inputs
             if port.preprocessing is not None}
    return pformat(found, width=98)
