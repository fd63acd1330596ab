"""SpacemiT K1 (Banana Pi BPI-F3 and others): eight X60 cores, RVV 1.0 with 256-bit vectors."""

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
TARGETS = (SPACEMIT_K1,)
