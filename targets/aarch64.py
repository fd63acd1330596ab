"""Any 64-bit Arm Linux machine: NEON and nothing newer than Armv8.0-A, or all of Armv8.6-A."""

from dataclasses import replace

from edgecc.targets.target import Region, Target, Toolchain

GENERIC_AARCH64 = Target(
    name="generic-aarch64",
    description="any 64-bit Arm Linux machine (Armv8.0-A, NEON)",
    triple="aarch64-linux-gnu",
    cpu="generic",
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
GENERIC_I8MM = replace(
    GENERIC_AARCH64,
    name="generic-aarch64-i8mm",
    description="any Armv8.6-A Linux machine (int8 matrix products: Neoverse V1, N2 and newer)",
    cpu="cortex-a76",
    attributes=("+i8mm",),
    features=frozenset({"neon", "dotprod", "i8mm", "fp16", "fma"}),
    int8_macs_per_cycle=64.0,
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "aarch64-linux-musl",
                                "-mcpu=cortex_a76+i8mm"),
                        gnu_flags=("-mcpu=cortex-a76+i8mm",)),
    emulator=("qemu-aarch64", "-cpu", "max"),
    source={
        "features": "Arm Architecture Reference Manual for A-profile: FEAT_I8MM is mandatory from "
        "Armv8.6-A, FEAT_DotProd from Armv8.4-A; FEAT_FP16: Neoverse V1 and N2 TRMs",
        "int8_macs_per_cycle": "LLVM's scheduling model of the SMMLA loop on Neoverse N2, not "
        "silicon",
        "cores": "an allowance: one core",
        "memories": "an allowance: 512 MB",
    },
)
TARGETS = (GENERIC_AARCH64, GENERIC_I8MM)
