"""NXP i.MX 8M Plus: four Cortex-A53."""

from dataclasses import replace

from edgecc.targets.raspberry_pi import RASPBERRY_PI_3
from edgecc.targets.target import Region

IMX8MP = replace(
    RASPBERRY_PI_3,
    name="imx8mp",
    description="NXP i.MX 8M Plus (4 x Cortex-A53 at 1.8 GHz, Linux)",
    clock_hz=1_800_000_000,
    memories=(Region("ram", 1 << 31),),
    source={
        "cores": "NXP IMX8MPCEC datasheet: quad Cortex-A53",
        "clock_hz": "NXP IMX8MPCEC datasheet: 1.8 GHz, commercial parts",
        "features": "Arm Cortex-A53 Technical Reference Manual r0p4: Advanced SIMD",
        "int8_macs_per_cycle": "LLVM's scheduling model of the smull/smlal2/sadalp loop, not "
        "silicon",
        "memories": "an allowance for common modules: 2 GB",
    },
)
TARGETS = (IMX8MP,)
