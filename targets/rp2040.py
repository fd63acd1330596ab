"""Raspberry Pi RP2040: two Cortex-M0+ (Raspberry Pi Pico)."""

from dataclasses import replace

from edgecc.targets.cortex_m import CODE_AND_WEIGHTS, CORTEX_M0PLUS
from edgecc.targets.target import Region

BOOT2_BYTES = 256  # the second-stage bootloader lies before the program

RP2040 = replace(
    CORTEX_M0PLUS,
    name="rp2040",
    description="RP2040 (2 x Cortex-M0+ at 133 MHz, 264 KB RAM, 2 MB flash of a Pico)",
    cores=2,
    clock_hz=133_000_000,
    memories=(Region("flash", (2 << 20) - BOOT2_BYTES, base=0x10000000 + BOOT2_BYTES,
                     may_hold=CODE_AND_WEIGHTS),
              Region("sram", 264 << 10, base=0x20000000, may_hold=("arena",))),
    emulator=(),
    serial=None,  # starts through a boot loader of its own format
    source={
        **CORTEX_M0PLUS.source,
        "cores": "RP2040 datasheet, 1.2: two cores",
        "clock_hz": "RP2040 datasheet, 1.2: up to 133 MHz",
        "memories": "RP2040 datasheet, 2.6 and 2.8.3: SRAM 264 KB, XIP flash, 256 bytes of it "
        "for the second-stage bootloader; Pico datasheet: 2 MB of flash",
    },
)
TARGETS = (RP2040,)
