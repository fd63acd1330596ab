"""STMicroelectronics STM32F407: Cortex-M4 with FPU (Discovery board and many others)."""

from dataclasses import replace

from edgecc.targets.cortex_m import CODE_AND_WEIGHTS, CORTEX_M4F
from edgecc.targets.target import Region

STM32F407 = replace(
    CORTEX_M4F,
    name="stm32f407",
    description="STM32F407 (Cortex-M4F at 168 MHz, 1 MB flash, 192 KB RAM)",
    clock_hz=168_000_000,
    memories=(Region("flash", 1 << 20, base=0x08000000, may_hold=CODE_AND_WEIGHTS),
              Region("sram", 128 << 10, base=0x20000000, may_hold=("arena",)),
              Region("ccm", 64 << 10, base=0x10000000, may_hold=("arena",))),
    emulator=("qemu-system-arm", "-M", "netduinoplus2"),
    source={
        **CORTEX_M4F.source,
        "clock_hz": "STM32F407xx datasheet DS8626: up to 168 MHz",
        "memories": "RM0090, 2.3: flash 1 MB, SRAM1 and SRAM2 112 + 16 KB, CCM 64 KB; emulated "
        "as an STM32F405, which has the same",
    },
)
TARGETS = (STM32F407,)
