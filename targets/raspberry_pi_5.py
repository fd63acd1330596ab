"""Raspberry Pi 5: Broadcom BCM2712, four Cortex-A76 cores."""

from edgecc.targets.target import Region, Target, Toolchain

RASPBERRY_PI_5 = Target(
    name="raspberry-pi-5",
    description="Raspberry Pi 5 (BCM2712, 4 x Cortex-A76 at 2.4 GHz, Linux)",
    triple="aarch64-linux-gnu",
    cpu="cortex-a76",
    features=frozenset({"neon", "dotprod", "fp16", "fma"}),
    architecture="aarch64",
    cores=4,
    clock_hz=2_400_000_000,
    int8_macs_per_cycle=32.0,
    float32_macs_per_cycle=8.0,
    memories=(Region("ram", 1 << 30),),
    toolchain=Toolchain(
        "zig", ("zig", "cc", "-target", "aarch64-linux-musl", "-mcpu=cortex_a76"), libc="musl"
    ),
    emulator=("qemu-aarch64", "-cpu", "cortex-a76"),
    source={
        "cores": "Raspberry Pi 5 product brief, 2023: quad-core Cortex-A76 at 2.4 GHz",
        "clock_hz": "Raspberry Pi 5 product brief, 2023",
        "features": "Arm Cortex-A76 Core Technical Reference Manual r4p1, §1.3: FEAT_DotProd",
        "int8_macs_per_cycle": "Arm Cortex-A76 Software Optimization Guide: two ASIMD pipes, "
        "16 int8 products per SDOT",
        "float32_macs_per_cycle": "Arm Cortex-A76 Software Optimization Guide: two ASIMD pipes, "
        "4 lanes per FMLA",
        "memories": "smallest model sold: 1 GB",
    },
)
TARGETS = (RASPBERRY_PI_5,)
