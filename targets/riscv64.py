"""64-bit RISC-V Linux machines: the generic rv64gc profile."""

from edgecc.targets.target import Region, Target, Toolchain

RISCV64_GENERIC = Target(
    name="riscv64-generic",
    description="any 64-bit RISC-V Linux machine (rv64gc)",
    triple="riscv64-linux-gnu",
    cpu="generic-rv64",
    attributes=("+m", "+a", "+f", "+d", "+c"),
    abi="lp64d",
    features=frozenset({"rv64gc"}),
    architecture="riscv64",
    memories=(Region("ram", 1 << 29),),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "riscv64-linux-musl",
                                "-mcpu=baseline_rv64")),
    emulator=("qemu-riscv64", "-cpu", "rv64"),
    source={
        "features": "The RISC-V Instruction Set Manual, Volume I: RV64GC",
        "cores": "an allowance: one core",
        "memories": "an allowance: 512 MB",
    },
)
TARGETS = (RISCV64_GENERIC,)
