"""Levels of optimization: what each asks of the verbs, and the target as a configuration shapes it.

There is no O1: with fusion and the fast kernels, LLVM's lower levels save no time worth a name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgecc.config import CompileConfig
    from edgecc.targets import Target

# What plain kernels may still ask of a core: without an FPU, their integer forms.
PLAIN = frozenset({"soft-float"})


@dataclass(frozen=True)
class Level:
    """`plain`: kernels of no particular instruction set, one step per operator. `small`: kernels
    that serve every shape. `llvm` is LLVM's own level (None: the target's). `searches`: tiles are
    chosen by measurement."""

    about: str
    plain: bool = False
    small: bool = False
    llvm: int | None = None
    searches: bool = False


LEVELS = {
    "O0": Level("plain kernels, no fusion, quickest to compile", plain=True, llvm=0),
    "O2": Level("fusion, and the kernels that the cost model finds fastest"),
    "O3": Level("O2, with the tiles that measure fastest on a board", searches=True),
    # of LLVM: nothing is unrolled by guesswork, no loop is doubled for a condition
    "Os": Level("small code", small=True, llvm=1),
}


def shaped(target: Target, config: CompileConfig) -> Target:
    """The target as the verbs up to `lower` see it: only what the level uses, and the knobs over
    the target's own values."""
    level = LEVELS[config.optimization]
    features = target.features & PLAIN if level.plain else target.features
    return replace(
        target, features=features,
        llvm_level=target.llvm_level if level.llvm is None else level.llvm,
        unroll=target.unroll if config.unroll is None else config.unroll,
        contracts={"on": True, "off": False}.get(config.contraction, target.contracts),
        parallel_chunk=(target.parallel_chunk if config.parallel_chunk is None
                        else config.parallel_chunk))
