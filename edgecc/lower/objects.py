"""Objects: the machine code of every kernel, packed weights, and the calls that use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Argument:
    """A pointer given to a kernel: `base` is arena, weights, or null."""

    base: Literal["arena", "weights", "null"]
    offset_bytes: int = 0


@dataclass(frozen=True)
class Call:
    """One step: `symbol(arguments..., args, begin, end)`.

    Arguments are in kernel order: inputs, weights (if the kernel reads any), outputs, scratch
    (if it has any). `symbol` is `memcpy` for a Copy: arguments are then (target, source) and
    `extent` the number of bytes.
    """

    step: str
    symbol: str
    arguments: tuple[Argument, ...]
    extent: int


@dataclass(frozen=True)
class Objects:
    """What `lower` makes and `link` takes.

    `code` maps a file name (`<symbol>.o`) to relocatable ELF bytes; one kernel symbol each.
    `weights` is the flat blob all weight offsets point into (align 64). `stack_bytes` is the
    largest kernel frame, where known.
    """

    code: Mapping[str, bytes] = field(repr=False)
    calls: tuple[Call, ...] = ()
    weights: bytes = field(default=b"", repr=False)
    weight_offsets: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # step: (at, size)
    stack_bytes: int | None = None
