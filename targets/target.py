"""Target: a chip as passive data. Every number carries its source in `source`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Region:
    """A memory of the chip. `may_hold` says what the planner may put there."""

    name: str
    size_bytes: int
    base: int | None = None
    align_bytes: int = 16
    bandwidth_bytes_per_s: int | None = None
    may_hold: tuple[str, ...] = ("arena", "weights")


@dataclass(frozen=True)
class Toolchain:
    """How to compile C and link for the target: `kind` is zig, gcc, clang or none.

    `argv` is the compiler driver with its fixed flags; for zig, `-target TRIPLE` included.
    `libc` is musl, glibc, glibc-<version>, or empty where it is the compiler's own affair.
    `link_flags` are for programs and shared libraries alone. `gnu_flags` are what a GCC or Clang
    of the user's own must be told about the chip, where its name does not say it.
    """

    kind: str
    argv: tuple[str, ...]
    libc: str = "musl"
    sysroot: str | None = None
    flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    gnu_flags: tuple[str, ...] = ()


UARTS = ("cmsdk", "16550", "stm32f4", "stm32h7", "nrf")
"""UARTs that the bare-metal runner has a driver for."""


@dataclass(frozen=True)
class Serial:
    """The UART over which a program of a bare chip speaks, as the chip is after reset.

    `kind` is one of UARTS, `base` its address, `clock_hz` what its divisor divides. `setup` are
    registers to change before: (address, bits to clear, bits to set). `pins` (transmit, receive)
    are for UARTs that choose their own. `core_hz` is the clock of the core, where it has a cycle
    counter (DWT); None: runs are not timed.
    """

    kind: str
    base: int
    clock_hz: int
    baud: int = 115_200
    setup: tuple[tuple[int, int, int], ...] = ()
    pins: tuple[int, int] | None = None
    core_hz: int | None = None


@dataclass(frozen=True)
class Target:
    """One chip or board family.

    `triple`, `cpu`, `attributes`, `abi`, `float_abi`, `vector_bits` and `llvm_level` (of
    optimization) go to LLVM; `cpu` is chosen for the schedule it gives. `unroll` is the size up to
    which LLVM may unroll a loop (kernels have unrolled theirs), `parallel_chunk` the
    least estimated instructions of a step that are worth another thread. `contracts`: float32
    products may be added before they are rounded, so floats depend on the core.
    `features` are the ISA features kernels ask for (neon, dotprod, avx2, avx512vnni ...).
    `emulator` is the QEMU command that runs its programs, e.g. ("qemu-aarch64", "-cpu",
    "cortex-a76"); empty when QEMU knows no such CPU. `serial` is the UART of a bare chip's runner,
    None where none is known to work without a boot loader's help. `source` maps field names to a
    datasheet, manual or file.
    """

    name: str
    description: str
    triple: str
    cpu: str
    attributes: tuple[str, ...] = ()
    abi: str | None = None
    float_abi: str | None = None
    vector_bits: int | None = None
    llvm_options: tuple[str, ...] = ()
    llvm_level: int = 3
    unroll: int = 0
    parallel_chunk: int = 10_000
    contracts: bool = True
    features: frozenset[str] = frozenset()
    architecture: str = "aarch64"  # as `uname -m` says; bare metal: how the triple begins
    cores: int = 1
    clock_hz: int | None = None
    int8_macs_per_cycle: float | None = None
    float32_macs_per_cycle: float | None = None
    memories: tuple[Region, ...] = ()
    dtypes: tuple[str, ...] = ("int8", "float32")
    preferred_layout: str = "NHWC"
    kernels: tuple[str, ...] | None = None  # names allowed; None: all that the features allow
    npu: str | None = None
    toolchain: Toolchain = Toolchain("none", ())
    runner: str = "linux"  # linux, baremetal, or none
    emulator: tuple[str, ...] = ()
    serial: Serial | None = None
    source: Mapping[str, str] = field(default_factory=dict)
