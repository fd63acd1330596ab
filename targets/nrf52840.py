"""Nordic nRF52840: Cortex-M4 with FPU and Bluetooth (nRF52840 DK, Arduino Nano 33 BLE)."""

from dataclasses import replace

from edgecc.targets.cortex_m import CODE_AND_WEIGHTS, CORTEX_M4F
from edgecc.targets.target import Region, Serial

NRF52840 = replace(
    CORTEX_M4F,
    name="nrf52840",
    description="nRF52840 (Cortex-M4F at 64 MHz, 1 MB flash, 256 KB RAM)",
    clock_hz=64_000_000,
    memories=(Region("flash", 1 << 20, base=0x0, may_hold=CODE_AND_WEIGHTS),
              Region("ram", 256 << 10, base=0x20000000, may_hold=("arena",))),
    emulator=(),
    serial=Serial("nrf", base=0x40002000, clock_hz=16_000_000, core_hz=64_000_000, pins=(6, 8),
                  setup=((0x50000508, 0, 1 << 6), (0x50000518, 0, 1 << 6))),  # P0.06 high, output
    source={
        **CORTEX_M4F.source,
        "clock_hz": "nRF52840 Product Specification v1.11: 64 MHz",
        "serial": "nRF52840 Product Specification v1.11, GPIO and UART; nRF52840 DK: P0.06 (TX) "
        "and P0.08 (RX) are the debugger's serial port",
        "memories": "nRF52840 Product Specification v1.11, 4.2: flash 1 MB, RAM 256 KB",
    },
)
TARGETS = (NRF52840,)
