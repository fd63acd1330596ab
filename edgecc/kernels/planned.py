"""Kernel records of kernels that are described by a plan: a spec, an instruction set, tile sizes.

Whatever packing, cost and code must agree on is a property of the plan, and made only there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from edgecc.kernels.isa.base import Isa
from edgecc.kernels.registry import KernelRecord


class Plan(Protocol):
    """What a record asks of a plan; see `KernelRecord`."""

    @property
    def extent(self) -> int: ...

    def accepts(self) -> str | None: ...

    def cost(self) -> float: ...

    def pack(self, constants: Mapping[str, Any]) -> np.ndarray: ...

    def scratch_bytes(self) -> int: ...


@runtime_checkable
class Sliding(Protocol):
    """A plan whose outputs may overwrite what its window slides over; see `KernelRecord`."""

    def over_input(self) -> int | None: ...


def planned(
    name: str, op: str, isa: Isa, plan: Callable[[Any], Plan], build: Callable[[Any, str], Any],
    code: Callable[[Any], str] | None = None,
) -> KernelRecord:
    """The record of an int8 kernel: `plan(spec)` describes it, `build(plan, symbol)` emits it,
    from `code(spec)` alone if that is given."""
    return KernelRecord(
        name=f"int8_{name}__{isa.name}",
        op=op,
        dtype="int8",
        requires=isa.requires,
        accepts=lambda spec: plan(spec).accepts(),
        cost=lambda spec: plan(spec).cost(),
        extent=lambda spec: plan(spec).extent,
        pack=lambda spec, constants: plan(spec).pack(constants),
        build=lambda spec, symbol, target: build(plan(spec), symbol),
        scratch_bytes=lambda spec: plan(spec).scratch_bytes(),
        fast=isa.fast,
        wants=isa.wants,
        code=code,
        over_input=lambda spec: _over_input(plan(spec)),
    )


def _over_input(plan: Plan) -> int | None:
    return plan.over_input() if isinstance(plan, Sliding) else None
