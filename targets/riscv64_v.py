"""64-bit RISC-V Linux machines with vectors: rv64gcv, registers of 128 bits or more."""

from dataclasses import replace

from edgecc.targets.riscv64 import RISCV64_GENERIC

RISCV64_GENERIC_V = replace(
    RISCV64_GENERIC,
    name="riscv64-generic-v",
    description="any 64-bit RISC-V Linux machine with RVV 1.0 (rv64gcv)",
    attributes=("+m", "+a", "+f", "+d", "+c", "+v"),
    vector_bits=128,
    features=frozenset({"rv64gc", "rvv128"}),
    emulator=("qemu-riscv64", "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0"),
    source={
        "features": "RISC-V V Vector Extension, version 1.0, §18.3: VLEN is 128 or more",
        "vector_bits": "the least that V allows",
        "cores": "an allowance: one core",
        "memories": "an allowance: 512 MB",
    },
)
TARGETS = (RISCV64_GENERIC_V,)
