"""Kernel selection: the cheapest kernel that the target's features and its own list allow, or
the smallest."""

from __future__ import annotations

from typing import Any

from edgecc.errors import UnsupportedModel
from edgecc.kernels import registry
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Spec

# what only moves values asks nothing of the chip's arithmetic
MOVES = frozenset({"fixed", "strided_copy", "take", "transpose"})


def select_kernel(spec: Spec, target: Any, where: str,
                  small: bool = False) -> tuple[KernelRecord, str | None]:
    """The kernel for `spec`, and why it is not a fast one (None if it is).

    Raises UnsupportedModel when the target does not compute in the spec's type, or no kernel, or
    none of those the target allows, takes the spec.
    """
    _check_dtype(spec, target, where)
    if target.kernels is None:
        return registry.select(spec, target.features, where, small)
    found = [k for k in registry.candidates(spec, target.features, small)
             if k.name in target.kernels]
    if not found:
        raise UnsupportedModel(
            f"none of the kernels that target {target.name} allows computes {spec.text()}",
            where=where, advice="widen the target's `kernels`")
    return found[0], None if found[0].fast else f"target {target.name} restricts its kernels"


def _check_dtype(spec: Spec, target: Any, where: str) -> None:
    if spec.dtype in target.dtypes or spec.op in MOVES:
        return
    to_int8 = spec.dtype == "float32" and "int8" in target.dtypes
    raise UnsupportedModel(
        f"target {target.name} does not compute in {spec.dtype}", where=where, needed=spec.dtype,
        available=", ".join(target.dtypes),
        advice="quantize the model to int8 (--quantize int8); what stays in float32 after that "
        "needs another form, or another target" if to_int8 else "choose another target")
