"""float16 kernels, from the float32 ones: halves in memory, widened where they are read and rounded
where they are written, computed in float32 in between. Weights are halves too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from edgecc.kernels.halves import stored_in_half
from edgecc.kernels.registry import KernelRecord

# what moves elements knows every type already
COMPUTED = frozenset({"arg_reduce", "binary", "broadcast", "choose", "compare", "conv2d",
                      "fully_connected", "interpolate", "matmul", "normalize", "pool2d", "reduce",
                      "rowwise", "softmax", "unary"})
WEIGHTED = frozenset({"conv2d", "fully_connected"})  # whose weights are halves: they see the type


def derived(records: Iterable[KernelRecord]) -> Iterator[KernelRecord]:
    """The float16 form of every float32 kernel that computes."""
    for record in records:
        if record.dtype == "float32" and record.op in COMPUTED:
            yield in_half(record)


def in_half(record: KernelRecord) -> KernelRecord:
    """A float32 kernel over halves."""
    seen: Callable[[Any], Any] = _same if record.op in WEIGHTED else _wide

    def build(spec: Any, symbol: str, target: Any) -> Any:
        with stored_in_half(target.features):
            return record.build(seen(spec), symbol, target)

    return replace(
        record, name=record.name.replace("float32", "float16"), dtype="float16", build=build,
        accepts=lambda spec: record.accepts(seen(spec)),
        cost=lambda spec: record.cost(seen(spec)),
        extent=lambda spec: record.extent(seen(spec)),
        pack=lambda spec, constants: record.pack(seen(spec), constants),
        scratch_bytes=lambda spec: record.scratch_bytes(seen(spec)))


def _same(spec: Any) -> Any:
    return spec


def _wide(spec: Any) -> Any:
    return replace(spec, dtype="float32")
