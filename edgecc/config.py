"""CompileConfig: everything a user may choose. A value that is not implemented raises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from edgecc.data.preprocessing import Preprocessing
from edgecc.errors import ConfigError
from edgecc.levels import LEVELS

IMPLEMENTED: dict[str, tuple] = {
    "optimization": tuple(LEVELS),
    "fusion": (True, False),
    "quantization": ("none", "int8", "int4", "float16"),
    "int4_group": (32, 64, 128),
    "int4_zeros": ("symmetric", "affine"),
    "int4_activations": ("float32", "int8"),
    "contraction": ("auto", "on", "off"),
    "layout": ("auto", "NHWC", "NCHW"),
    "io": ("auto", "int8", "float32", "float16"),
    "observer": ("minmax", "percentile", "entropy", "mse"),
    "check": ("structure", "full"),
}

MOST_THREADS = 16
# knobs that are numbers, whole ones or not as their bounds are: least and most; None is the
# target's, or no bound
RANGES = {"threads": (1, MOST_THREADS), "fusion_max_operators": (1, 1000),
          "parallel_chunk": (0, 1_000_000_000), "unroll": (0, 10_000),
          "fusion_min_score": (0.0, 1.0), "fusion_min_intensity": (0.0, 1e6)}
LIBC = re.compile(r"musl|glibc(-2\.\d{1,3})?")


@dataclass(frozen=True)
class CompileConfig:
    """What to compile for and how.

    `optimization`: O0 plain kernels without fusion, quickest to compile; O2; O3 searches the tiles
    that measure fastest on a board; Os little code. The results are the same bytes.
    `tiles` chooses kernels: step or signature (as a manifest's steps say) to a tile (4x16) or to
    a kernel's name. `fusion_max_operators`: most ONNX operators in one step.
    `fusion_min_score` and `fusion_min_intensity`: operators stay apart where a fusion would keep
    less than that share of the bytes that they move out of memory, or where the fused one would
    have fewer multiply-accumulates (elements, if it multiplies none) per byte. `parallel_chunk`:
    least estimated instructions of a step that are worth a thread. `unroll`: the size up to which
    LLVM may unroll loops that kernels left. None: the target's own, or no bound.
    `io="auto"` means int8 inputs and outputs for INT8 models and float32 for others; float16
    models keep their ports, and `quantization="float16"` has float16 ones with `io="float16"`.
    `quantization="int4"` rounds the weights of large matrix products to 4 bits and leaves the
    rest float32; `int4_group` of them share a scale, and a zero point with `int4_zeros="affine"`.
    `int4_activations="int8"` rounds what they multiply, group by group, when it is there.
    `layout` is of pictures at the inputs and outputs: NHWC as kernels want them, or NCHW, the
    model's own order, which steps of the program turn.
    `contraction="off"` rounds every float32 product before it is added, so floats do not depend
    on whether a core can do both at once; auto is off on chips without an operating system.
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
    contraction: str = "auto"
    threads: int = 1
    io: str = "auto"
    observer: str = "minmax"
    int4_group: int = 32
    int4_zeros: str = "symmetric"
    int4_activations: str = "float32"
    check: str = "structure"
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    tiles: Mapping[str, str] = field(default_factory=dict)
    fusion_max_operators: int | None = None
    fusion_min_score: float | None = None
    fusion_min_intensity: float | None = None
    parallel_chunk: int | None = None
    unroll: int | None = None
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
        for key in RANGES:
            self._check_range(key)
        for key, allowed in IMPLEMENTED.items():
            self._check_choice(key, allowed)
        self._check_tiles()

    def _check_range(self, key: str) -> None:
        value, (least, most) = getattr(self, key), RANGES[key]
        if value is None and key != "threads":
            return
        kinds, kind = ((int, float), "number") if type(least) is float else ((int,), "whole number")
        if type(value) not in kinds or not least <= value <= most:
            raise ConfigError(f"{key}={value!r} is out of range",
                              needed=f"a {kind} from {least:g}", available=f"{most:,.10g} at most")

    def _check_choice(self, key: str, allowed: tuple) -> None:
        value = getattr(self, key)
        if value in allowed:
            return
        known = f"choose one of {', '.join(map(repr, allowed))}"
        if (key, value) == ("optimization", "O1"):
            known += "; O1 would compile no faster than O2, and O0 does"
        raise ConfigError(f"{key}={value!r} is not implemented", advice=known)

    def _check_tiles(self) -> None:
        for name, tile in self.tiles.items():
            if not (isinstance(name, str) and isinstance(tile, str) and name and tile):
                raise ConfigError(f"tiles: {name!r}: {tile!r} is not a step and a tile",
                                  advice='write {"conv_1": "4x16"}')
