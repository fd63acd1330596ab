"""STMicroelectronics STM32H743: Cortex-M7 (Nucleo-H743ZI and others)."""

from dataclasses import replace

from edgecc.targets.cortex_m import CODE_AND_WEIGHTS, CORTEX_M7
from edgecc.targets.target import Region

STM32H743 = replace(
    CORTEX_M7,
    name="stm32h743",
    description="STM32H743 (Cortex-M7 at 480 MHz, 2 MB flash, 1 MB RAM)",
    clock_hz=480_000_000,
    memories=(Region("flash", 2 << 20, base=0x08000000, may_hold=CODE_AND_WEIGHTS),
              Region("dtcm", 128 << 10, base=0x20000000, may_hold=("arena",)),
              Region("axi_sram", 512 << 10, base=0x24000000, may_hold=("arena",)),
              Region("sram123", 288 << 10, base=0x30000000, may_hold=("arena",))),
    emulator=(),
    source={
        **CORTEX_M7.source,
        "clock_hz": "STM32H743xI datasheet DS12110: up to 480 MHz",
        "memories": "RM0433, 2.3.2: flash 2 MB, DTCM 128 KB, AXI SRAM 512 KB, SRAM1 to SRAM3 "
        "128 + 128 + 32 KB",
    },
)
TARGETS = (STM32H743,)
