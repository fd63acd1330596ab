"""What all kernels of convolutions begin with, but those whose sizes are data: their operands."""

from __future__ import annotations

from typing import Any

from edgecc.kernels.spec import Conv2d


def open_kernel(spec: Conv2d, symbol: str, scratch: tuple[str, int] | None,
                kind: str = "int8") -> Any:
    """A kernel of an NHWC input, a residual if there is one, and an output, all of `kind`; the
    output may overwrite either. `scratch`: its type and elements, if any."""
    from edgecc.kernels import tir

    result = (kind, spec.n * spec.oh * spec.ow * spec.k)
    inputs = [(kind, spec.n * spec.h * spec.w * spec.c)]
    return tir.kernel(symbol, inputs=inputs + [result] * spec.residual, outputs=[result],
                      weights=True, scratch=scratch, may_alias=True)
