"""SpacemiT K1 (Banana Pi BPI-F3 and others): eight X60 cores, RVV 1.0 with 256-bit vectors, with
and without float16 arithmetic (`zvfh`: Zvfh of vectors and Zfh of single numbers)."""

from dataclasses import replace

from edgecc.targets.riscv64 import RISCV64_GENERIC
from edgecc.targets.target import Region

SPACEMIT_K1 = replace(
    RISCV64_GENERIC,
    name="spacemit-k1",
    description="SpacemiT K1 (8 x X60 at 1.6 GHz, RVV 1.0, VLEN 256, Linux)",
    attributes=("+m", "+a", "+f", "+d", "+c", "+v", "+zvl256b", "+zba", "+zbb"),
    vector_bits=256,
    features=frozenset({"rv64gc", "rvv256"}),
    cores=8,
    clock_hz=1_600_000_000,
    memories=(Region("ram", 1 << 31),),
    emulator=("qemu-riscv64", "-cpu", "rv64,v=true,vlen=256,vext_spec=v1.0"),
    source={
        "cores": "SpacemiT K1 datasheet: eight X60 cores",
        "clock_hz": "SpacemiT K1 datasheet: up to 1.6 GHz",
        "features": "SpacemiT K1 datasheet: RVA22 profile, RVV 1.0 with 256-bit registers",
        "vector_bits": "SpacemiT K1 datasheet: VLEN 256",
        "memories": "smallest BPI-F3 sold: 2 GB",
    },
)

# A target of its own: its emulated board needs QEMU 8 or newer, which many distributions lack.
SPACEMIT_K1_ZVFH = replace(
    SPACEMIT_K1,
    name="spacemit-k1-zvfh",
    description="SpacemiT K1 (8 x X60 at 1.6 GHz, RVV 1.0 with float16 arithmetic, Linux)",
    attributes=(*SPACEMIT_K1.attributes, "+zfh", "+zvfh"),
    features=SPACEMIT_K1.features | {"zvfh"},
    emulator=("qemu-riscv64", "-cpu",
              "rv64,v=true,vlen=256,vext_spec=v1.0,zfh=true,zvfh=true"),
    source={
        **SPACEMIT_K1.source,
        "features": f"{SPACEMIT_K1.source['features']}; Zfh and Zvfh: isa line of /proc/cpuinfo on "
        "BPI-F3, and spacemit-x60 of LLVM's RISCVProcessors.td",
    },
)
TARGETS = (SPACEMIT_K1, SPACEMIT_K1_ZVFH)
