"""What normalization kernels share: where a slice lies, and its constants."""

from __future__ import annotations

from typing import Any

from edgecc.kernels.elementwise import vector_bytes
from edgecc.kernels.math_spec import Normalize
from edgecc.kernels.square_root import square_root

HEADER_WORDS = 4


class Work:
    """The kernel under construction: where things lie, and the two passes over a slice."""

    def __init__(self, k: Any, spec: Normalize, target: Any) -> None:
        self.k, self.spec, self.target = k, spec, target
        self.channels = spec.groups * spec.m
        self.lanes = vector_bytes(target) // (4 if spec.dtype == "float32" else 1)
        self.root = square_root(k, target)
        self.rows = k.weights("float32", 4 * HEADER_WORDS)

    def constant_rows(self, at: Any, lanes: int) -> tuple[Any, Any]:
        from edgecc.kernels import tir

        return tuple(tir.load(self.rows, i * self.channels + at, lanes)  # type: ignore
                     for i in (0, 1))
