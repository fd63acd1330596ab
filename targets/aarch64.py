"""Any 64-bit Arm Linux machine: NEON, and nothing newer than Armv8.0-A."""

from edgecc.targets.target import Region, Target, Toolchain

GENERIC_AARCH64 = Target(
    name="generic-aarch64",
    description="any 64-bit Arm Linux machine (Armv8.0-A, NEON)",
    triple="aarch64-linux-gnu",
    cpu="generic",
    llvm_options=("-unroll-threshold-aggressive:uint=0",),
    features=frozenset({"neon", "fma"}),
    architecture="aarch64",
    memories=(Region("ram", 1 << 29),),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "aarch64-linux-musl", "-mcpu=generic")),
    emulator=("qemu-aarch64", "-cpu", "cortex-a53"),
    source={
        "features": "Arm Architecture Reference Manual, Armv8-A: Advanced SIMD is mandatory for "
        "Linux, fused multiply-add included",
        "cores": "an allowance: one core",
        "memories": "an allowance: 512 MB",
    },
)
TARGETS = (GENERIC_AARCH64,)
