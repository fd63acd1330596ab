"""Reference answers that are kept: the golden vectors of one model for many targets, or of many
searched programs, ask the same steps with the same values again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from edgecc.kernels.reference import reference
from edgecc.kernels.registry import Law

LIMIT_BYTES = 512 << 20


@dataclass
class Remembered:
    """Laws and `reference`, with their answers kept until they take `limit_bytes` together. What
    comes back is shared between callers: to be read, not written."""

    limit_bytes: int = LIMIT_BYTES
    used_bytes: int = 0
    _answers: dict[bytes, list[np.ndarray]] = field(default_factory=dict)

    def __call__(self, spec: Any, values: Sequence[np.ndarray], constants: Mapping[str, Any],
                 law: Law | None = None) -> list[np.ndarray]:
        rule = "" if law is None else f"{law.__module__}.{law.__qualname__}"
        key = digest(rule, spec, *values, *(part for name in sorted(constants)
                                            for part in (name, constants[name])))
        if key not in self._answers:
            answer = list((law or reference)(spec, values, constants))
            size = sum(value.nbytes for value in answer)
            if self.used_bytes + size > self.limit_bytes:
                return answer
            self.used_bytes += size
            self._answers[key] = answer
        return self._answers[key]


def digest(*parts: Any) -> bytes:
    """Equal for equal arrays (type, shape and bytes) and for whatever else has an equal repr."""
    found = blake2b(digest_size=32)
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype.str} {part.shape} ".encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(f"{type(part).__name__} {part!r} ".encode())
    return found.digest()
