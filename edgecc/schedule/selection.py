"""Kernel selection: the cheapest kernel that the target's features and its own list allow, or
the smallest."""

from __future__ import annotations

from typing import Any

from edgecc.errors import UnsupportedModel
from edgecc.kernels import registry
from edgecc.kernels.registry import KernelRecord
from edgecc.kernels.spec import Spec


def select_kernel(spec: Spec, target: Any, where: str,
                  small: bool = False) -> tuple[KernelRecord, str | None]:
    """The kernel for `spec`, and why it is not a fast one (None if it is).

    Raises UnsupportedModel when no kernel, or none of those the target allows, takes the spec.
    """
    if target.kernels is None:
        return registry.select(spec, target.features, where, small)
    found = [k for k in registry.candidates(spec, target.features, small)
             if k.name in target.kernels]
    if not found:
        raise UnsupportedModel(
            f"none of the kernels that target {target.name} allows computes {spec.text()}",
            where=where, advice="widen the target's `kernels`")
    return found[0], None if found[0].fast else f"target {target.name} restricts its kernels"
