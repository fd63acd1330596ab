"""Raspberry Pi RP2350: two Cortex-M33 (Raspberry Pi Pico 2)."""

from dataclasses import replace

from edgecc.targets.cortex_m import CODE_AND_WEIGHTS, CORTEX_M33
from edgecc.targets.target import Region

RP2350 = replace(
    CORTEX_M33,
    name="rp2350",
    description="RP2350 (2 x Cortex-M33 at 150 MHz, 520 KB RAM, 4 MB flash of a Pico 2)",
    cores=2,
    clock_hz=150_000_000,
    memories=(Region("flash", 4 << 20, base=0x10000000, may_hold=CODE_AND_WEIGHTS),
              Region("sram", 520 << 10, base=0x20000000, may_hold=("arena",))),
    emulator=(),
    serial=None,  # starts through a boot loader of its own format
    source={
        **CORTEX_M33.source,
        "cores": "RP2350 datasheet, 1.2: two cores of either kind",
        "clock_hz": "RP2350 datasheet, 1.2: up to 150 MHz",
        "memories": "RP2350 datasheet, 2.2 and 4.2: SRAM 520 KB, XIP flash; Pico 2 datasheet: "
        "4 MB of flash",
    },
)
TARGETS = (RP2350,)
