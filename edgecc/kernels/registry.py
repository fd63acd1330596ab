"""The one list of kernels: it drives selection, tests and benchmarks.

Importing this module does not import tvm; builders do, when called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgecc.errors import UnsupportedModel
from edgecc.kernels.spec import Spec

Law = Callable[[Any, Sequence[np.ndarray], Mapping[str, Any]], list[np.ndarray]]
WITH_VECTORS = frozenset({"neon", "armv7-neon", "avx2", "avx512bw", "rvv256", "rvv128", "mve"})


@dataclass(frozen=True)
class KernelRecord:
    """A way to compute one operator.

    `name` is `<dtype>_<op>_<tile>__<isa>`. `requires` are ISA features (as targets spell them).
    `wants` are `strengths` without which it is right but slow: it is then the last choice.
    `accepts(spec)` is None, or the reason why not. `cost(spec)` estimates instructions: selection
    takes the cheapest accepting kernel. `extent(spec)` is the outermost parallel loop's trip
    count: begin and end run over it. `pack(spec, constants)` gives the bytes read through the
    weights pointer (empty: the kernel has no such parameter). `build(spec, symbol, target)`
    returns a tvm PrimFunc with parameters
    (inputs..., weights if any, outputs..., scratch if scratch_bytes, args, begin, end).
    `code(spec)`: all that the function depends on, for kernels whose shape is data: one function
    serves every spec of the same text. They are the choice for small code.
    `law(spec, inputs, constants)`: what it computes, to the byte, where that is not the operator's
    reference. `half`: it adds in float16, so inputs that differ a little change all its roundings.
    `over_input(spec)`: the bytes by which the output must lie before the first input at least to
    overwrite it, if one call computes it all (0: on it, and nowhere else); None if it may not.
    """

    name: str
    op: str
    dtype: str
    requires: frozenset[str]
    accepts: Callable[[Any], str | None]
    cost: Callable[[Any], float]
    extent: Callable[[Any], int]
    pack: Callable[[Any, Mapping[str, Any]], np.ndarray]
    build: Callable[[Any, str, Any], Any]
    scratch_bytes: Callable[[Any], int] = lambda spec: 0
    fast: bool = False
    wants: frozenset[str] = frozenset()
    code: Callable[[Any], str] | None = None
    law: Law | None = None
    half: bool = False
    over_input: Callable[[Any], int | None] = lambda spec: None


def all_kernels() -> tuple[KernelRecord, ...]:
    """Every kernel that edgecc has, in no particular order."""
    from edgecc.kernels import catalogue

    return catalogue.KERNELS


def find(name: str) -> KernelRecord:
    """A kernel of the catalogue, or one with a tile of its own. Raises KeyError."""
    known = next((k for k in all_kernels() if k.name == name), None)
    if known is None:
        from edgecc.kernels import tiles

        known = tiles.made(name)
    if known is None:
        raise KeyError(name)
    return known


def candidates(spec: Spec, features: Iterable[str], small: bool = False) -> list[KernelRecord]:
    """Kernels for `spec` that the features allow and that accept it: those that suit the core
    first, cheapest first. `small`: those whose shape is data, where there are any and no
    vectors to lose."""
    fitting = suited(all_kernels(), spec, features)
    shared = [k for k in fitting if k.code is not None]
    small = small and bool(shared) and "vectors" not in strengths(frozenset(features))
    return shared if small else [k for k in fitting if k.code is None]


def suited(records: Iterable[KernelRecord], spec: Spec,
           features: Iterable[str]) -> list[KernelRecord]:
    """Those that compute `spec` with these features: those that suit the core first, cheapest
    first."""
    have = frozenset(features)
    strong = strengths(have)
    fitting = [k for k in records if (k.op, k.dtype) == (spec.op, spec.dtype)
               and k.requires <= have and k.accepts(spec) is None]
    return sorted(fitting, key=lambda k: (not k.wants <= strong, k.cost(spec), k.name))


def strengths(features: frozenset[str]) -> frozenset[str]:
    """What a core is good at: `vectors` (LLVM takes them apart where there are none) and `fpu`
    (without one every float operation is a call)."""
    vectors = {"vectors"} if features & WITH_VECTORS else set()
    return frozenset(vectors | (set() if "soft-float" in features else {"fpu"}))


def select(spec: Spec, features: Iterable[str], where: str,
           small: bool = False) -> tuple[KernelRecord, str | None]:
    """The cheapest kernel, and why it is not a fast one (None if it is).

    Raises UnsupportedModel when no kernel accepts the spec.
    """
    found = candidates(spec, features, small)
    if not found:
        raise UnsupportedModel(f"no kernel computes {spec.text()}", where=where)
    best = found[0]
    return best, None if best.fast else _why_not_fast(spec, frozenset(features))


def _why_not_fast(spec: Spec, have: frozenset[str]) -> str:
    reasons = []
    for kernel in all_kernels():
        if kernel.fast and (kernel.op, kernel.dtype) == (spec.op, spec.dtype):
            missing = kernel.requires - have
            if not missing and (reason := kernel.accepts(spec)):
                reasons.append(f"{kernel.name}: {reason}")
    return "; ".join(reasons) or f"no fast {spec.dtype} {spec.op} kernel for this target"
