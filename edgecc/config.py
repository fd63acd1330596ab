"""CompileConfig: everything a user may choose. A value that is not implemented raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgecc.errors import ConfigError

IMPLEMENTED: dict[str, tuple] = {
    "optimization": ("O2",),
    "fusion": (True, False),
    "quantization": ("none", "int8"),
    "layout": ("auto", "NHWC"),
    "threads": (1,),
    "io": ("auto", "int8", "float32"),
    "observer": ("minmax", "percentile", "entropy", "mse"),
    "check": ("structure", "full"),
}


@dataclass(frozen=True)
class CompileConfig:
    """What to compile for and how.

    `io="auto"` means int8 inputs and outputs for INT8 models and float32 for others.
    `shapes` fixes dynamic inputs: {"x": (1, 3, 224, 224)}.
    `toolchain`: None for ziglang, or an argv such as ("aarch64-linux-gnu-gcc",).
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
    name: str | None = None

    def __post_init__(self):
        for key, allowed in IMPLEMENTED.items():
            value = getattr(self, key)
            if value not in allowed:
                raise ConfigError(
                    f"{key}={value!r} is not implemented",
                    advice=f"choose one of {', '.join(map(repr, allowed))}",
                )
