"""Raspberry Pi 3 and 4: Cortex-A53 and Cortex-A72, NEON without dot products."""

from dataclasses import replace

from edgecc.targets.aarch64 import GENERIC_AARCH64
from edgecc.targets.target import Region, Toolchain

RASPBERRY_PI_3 = replace(
    GENERIC_AARCH64,
    name="raspberry-pi-3",
    description="Raspberry Pi 3 (BCM2837, 4 x Cortex-A53 at 1.2 GHz, Linux)",
    cores=4,
    clock_hz=1_200_000_000,
    int8_macs_per_cycle=4.06,
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "aarch64-linux-musl",
                                "-mcpu=cortex_a53")),
    source={
        "cores": "Raspberry Pi 3 Model B product page: quad-core Cortex-A53 at 1.2 GHz",
        "clock_hz": "Raspberry Pi 3 Model B product page",
        "features": "Arm Cortex-A53 Technical Reference Manual r0p4: Advanced SIMD",
        "int8_macs_per_cycle": "LLVM's scheduling model of the smull/smlal2/sadalp loop, not "
        "silicon",
        "memories": "smallest model sold: Raspberry Pi 3 Model A+, 512 MB",
    },
)
RASPBERRY_PI_4 = replace(
    GENERIC_AARCH64,
    name="raspberry-pi-4",
    description="Raspberry Pi 4 (BCM2711, 4 x Cortex-A72 at 1.5 GHz, Linux)",
    cores=4,
    clock_hz=1_500_000_000,
    int8_macs_per_cycle=7.98,
    memories=(Region("ram", 1 << 30),),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "aarch64-linux-musl",
                                "-mcpu=cortex_a72")),
    emulator=("qemu-aarch64", "-cpu", "cortex-a72"),
    source={
        "cores": "Raspberry Pi 4 Model B product brief: quad-core Cortex-A72 at 1.5 GHz",
        "clock_hz": "Raspberry Pi 4 Model B product brief",
        "features": "Arm Cortex-A72 Technical Reference Manual r1p0: Advanced SIMD",
        "int8_macs_per_cycle": "LLVM's scheduling model of the smull/smlal2/sadalp loop, not "
        "silicon",
        "memories": "smallest model sold: 1 GB",
    },
)
TARGETS = (RASPBERRY_PI_3, RASPBERRY_PI_4)
