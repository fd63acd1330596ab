"""Objects: the machine code of every kernel, packed weights, and the calls that use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Argument:
    """A pointer given to a kernel: `base` is arena, weights, or null. `stride_bytes` is what
    one thread's lies behind that of the thread before (scratch of a shared step)."""

    base: Literal["arena", "weights", "null"]
    offset_bytes: int = 0
    stride_bytes: int = 0


@dataclass(frozen=True)
class Call:
    """One step: `symbol(arguments..., args, begin, end)`.

    Arguments are in kernel order: inputs, weights (if the kernel reads any), outputs, scratch
    (if it has any). `symbol` is `memcpy` for a Copy: arguments are then (target, source) and
    `extent` the number of bytes. `threads` split [0, extent) among them, because of the `cost`:
    an estimate of the instructions.
    """

    step: str
    symbol: str
    arguments: tuple[Argument, ...]
    extent: int
    threads: int = 1
    cost: int = 0


@dataclass(frozen=True)
class Objects:
    """What `lower` makes and `link` takes.

    `code` maps a file name (`<symbol>.o`) to relocatable ELF bytes; one kernel symbol each.
    `weights` is the flat blob all weight offsets point into (align 64). `stack_bytes` is the
    largest kernel frame, where known. `threads` is how many the run function may use.
    """

    code: Mapping[str, bytes] = field(repr=False)
    calls: tuple[Call, ...] = ()
    weights: bytes = field(default=b"", repr=False)
    weight_offsets: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # step: (at, size)
    stack_bytes: int | None = None
    threads: int = 1
