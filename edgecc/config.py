"""CompileConfig: everything a user may choose. A value that is not implemented raises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from edgecc.data.preprocessing import Preprocessing
from edgecc.errors import ConfigError

IMPLEMENTED: dict[str, tuple] = {
    "optimization": ("O2", "Os"),
    "fusion": (True, False),
    "quantization": ("none", "int8"),
    "layout": ("auto", "NHWC"),
    "io": ("auto", "int8", "float32"),
    "observer": ("minmax", "percentile", "entropy", "mse"),
    "check": ("structure", "full"),
}

MOST_THREADS = 16
LIBC = re.compile(r"musl|glibc(-2\.\d{1,3})?")


@dataclass(frozen=True)
class CompileConfig:
    """What to compile for and how.

    `optimization` Os wants little code: kernels that serve every shape, nothing unrolled.
    `io="auto"` means int8 inputs and outputs for INT8 models and float32 for others.
    `shapes` fixes dynamic inputs: {"x": (1, 3, 224, 224)}.
    `threads` share the large steps; the results do not depend on their number.
    `toolchain`: None for the target's own (ziglang), or an argv such as
    ("aarch64-linux-gnu-gcc",). `sysroot`, `cflags` and `ldflags` (when linking) are given to it;
    `libc` is musl, glibc or glibc-2.31: glibc means a runner that uses the board's own.
    `preprocessing` says how pictures become the model's input; with its `folded` the model
    itself scales uint8 pixels. `keep_float` packs the float model for `edgecc evaluate`.
    """

    target: str = "host"
    optimization: str = "O2"
    fusion: bool = True
    quantization: str = "none"
    layout: str = "auto"
    threads: int = 1
    io: str = "auto"
    observer: str = "minmax"
    check: str = "structure"
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    toolchain: tuple[str, ...] | None = None
    sysroot: str | None = None
    cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    libc: str | None = None
    name: str | None = None
    preprocessing: Preprocessing | None = None
    keep_float: bool = False

    def __post_init__(self):
        if self.libc is not None and not LIBC.fullmatch(self.libc):
            raise ConfigError(f"libc={self.libc!r} is not implemented",
                              advice="choose musl, glibc, or glibc-2.31 for a version")
        self._check_threads()
        for key, allowed in IMPLEMENTED.items():
            value = getattr(self, key)
            if value not in allowed:
                raise ConfigError(
                    f"{key}={value!r} is not implemented",
                    advice=f"choose one of {', '.join(map(repr, allowed))}",
                )

    def _check_threads(self) -> None:
        if not isinstance(self.threads, int) or not 1 <= self.threads <= MOST_THREADS:
            raise ConfigError(
                f"threads={self.threads!r} is out of range",
                needed="a whole number from 1", available=f"{MOST_THREADS} at most",
            )
