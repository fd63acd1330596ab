"""The README of a package: what it is, the line that builds it, the figures, the API in ten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def readme(manifest: Mapping[str, Any], build: Sequence[str], layout: Sequence[tuple[str, str]],
           notes: Sequence[str] = ()) -> bytes:
    """Markdown. `build` are the commands, `layout` (path, what it is)."""
    name, upper = manifest["name"], manifest["name"].upper()
    commands = "\n".join(f"    {line}" for line in build)
    listed = "\n".join(f"- `{path}`: {what}" for path, what in layout)
    more = "".join(f"\n{note}\n" for note in notes)
    stack = manifest["stack_bytes"]
    return f"""\
# {name}

The model {manifest["model"]["name"]} for {manifest["target"]}, compiled by edgecc. Build and run
its self-test:

{commands}

It says `{name}: self-test passed`.

RAM: {manifest["arena_bytes"]:,} bytes of arena{"" if stack is None else (
    f" and {stack:,} bytes of stack")}. Flash: {manifest["flash_bytes"]:,} bytes, of which \
{manifest["weights_bytes"]:,} are weights.
{more}
## Files

{listed}

## Use

    static {name}_context model;
    int code = {name}_init(&model, arena, {upper}_ARENA_BYTES, {name}_weights,
                           {upper}_WEIGHTS_BYTES);         /* {name}_error(code) explains */
    memcpy({name}_input(&model, 0), data, {upper}_INPUT_0_BYTES);
    {name}_run(&model);                                    /* or {name}_run_step, bit by bit */
    result = {name}_output(&model, 0);                     /* {upper}_OUTPUT_0_BYTES bytes */

`arena` is memory of {upper}_ARENA_BYTES bytes, aligned to {upper}_ARENA_ALIGN. Nothing is
allocated, and several instances work side by side. `{name}_input_info` and `{name}_output_info`
give shape, scale and zero point; `edgecc_quantize_int8` and `edgecc_dequantize` convert values.
""".encode()
