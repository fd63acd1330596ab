"""STMicroelectronics STM32F407: Cortex-M4 with FPU (Discovery board and many others)."""

from dataclasses import replace

from edgecc.targets.cortex_m import CODE_AND_WEIGHTS, CORTEX_M4F
from edgecc.targets.target import Region, Serial

STM32F407 = replace(
    CORTEX_M4F,
    name="stm32f407",
    description="STM32F407 (Cortex-M4F at 168 MHz, 1 MB flash, 192 KB RAM)",
    clock_hz=168_000_000,
    memories=(Region("flash", 1 << 20, base=0x08000000, may_hold=CODE_AND_WEIGHTS),
              Region("sram", 128 << 10, base=0x20000000, may_hold=("arena",)),
              Region("ccm", 64 << 10, base=0x10000000, may_hold=("arena",))),
    emulator=("qemu-system-arm", "-M", "netduinoplus2"),
    serial=Serial("stm32f4", base=0x40004400, clock_hz=16_000_000, core_hz=16_000_000, setup=(
        (0x40023830, 0, 1 << 0),  # RCC_AHB1ENR: GPIOA
        (0x40023840, 0, 1 << 17),  # RCC_APB1ENR: USART2
        (0x40020000, 0xF0, 0xA0),  # GPIOA_MODER: PA2 and PA3 have an alternate function,
        (0x40020020, 0xFF00, 0x7700),  # GPIOA_AFRL: the seventh
    )),
    source={
        **CORTEX_M4F.source,
        "clock_hz": "STM32F407xx datasheet DS8626: up to 168 MHz",
        "serial": "RM0090, 7.3, 8.4 and 30.6; DS8626, table 9: USART2 on PA2 (TX) and PA3 (RX); "
        "after reset the core runs from the 16 MHz HSI",
        "memories": "RM0090, 2.3: flash 1 MB, SRAM1 and SRAM2 112 + 16 KB, CCM 64 KB; emulated "
        "as an STM32F405, which has the same",
    },
)
TARGETS = (STM32F407,)
