"""32-bit Arm Linux machines with NEON and VFPv4 (Cortex-A7 and later)."""

from edgecc.targets.target import Region, Target, Toolchain

ARMV7_NEON = Target(
    name="armv7-neon",
    description="32-bit Arm Linux machines with NEON (Cortex-A7 and later, hard float)",
    triple="armv7-linux-gnueabihf",
    cpu="cortex-a7",
    attributes=("+neon", "+vfp4"),
    float_abi="hard",
    features=frozenset({"armv7-neon"}),
    architecture="armv7l",
    memories=(Region("ram", 1 << 29),),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "arm-linux-musleabihf",
                                "-mcpu=cortex_a7")),
    emulator=("qemu-arm", "-cpu", "cortex-a7"),
    source={
        "features": "Arm Architecture Reference Manual, Armv7-A: Advanced SIMDv2, VFPv4",
        "cores": "an allowance: one core",
        "memories": "an allowance: 512 MB",
    },
)
TARGETS = (ARMV7_NEON,)
