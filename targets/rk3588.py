"""Rockchip RK3588: four Cortex-A76 and four Cortex-A55, both with dot products."""

from dataclasses import replace

from edgecc.targets.raspberry_pi_5 import RASPBERRY_PI_5
from edgecc.targets.target import Region

RK3588 = replace(
    RASPBERRY_PI_5,
    name="rk3588",
    description="Rockchip RK3588 (4 x Cortex-A76 at 2.4 GHz, 4 x Cortex-A55 at 1.8 GHz, Linux)",
    memories=(Region("ram", 1 << 32),),
    source={
        "cores": "Rockchip RK3588 datasheet: the four Cortex-A76 of eight cores",
        "clock_hz": "Rockchip RK3588 datasheet: Cortex-A76 up to 2.4 GHz",
        "features": "Arm Cortex-A76 TRM r4p1 and Cortex-A55 TRM r2p0: both have FEAT_DotProd",
        "int8_macs_per_cycle": "Arm Cortex-A76 Software Optimization Guide: two ASIMD pipes, "
        "16 int8 products per SDOT",
        "float32_macs_per_cycle": RASPBERRY_PI_5.source["float32_macs_per_cycle"],
        "memories": "a common board's size: 4 GB",
    },
)
TARGETS = (RK3588,)
