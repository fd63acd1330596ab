"""STMicroelectronics STM32H743: Cortex-M7 (Nucleo-H743ZI and others)."""

from dataclasses import replace

from edgecc.targets.cortex_m import CODE_AND_WEIGHTS, CORTEX_M7
from edgecc.targets.target import Region, Serial

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
    serial=Serial("stm32h7", base=0x40004800, clock_hz=64_000_000, core_hz=64_000_000, setup=(
        (0x580244E0, 0, 1 << 3),  # RCC_AHB4ENR: GPIOD
        (0x580244E8, 0, 1 << 18),  # RCC_APB1LENR: USART3
        (0x58020C00, 0xF0000, 0xA0000),  # GPIOD_MODER: PD8 and PD9 have an alternate function,
        (0x58020C24, 0xFF, 0x77),  # GPIOD_AFRH: the seventh
    )),
    source={
        **CORTEX_M7.source,
        "clock_hz": "STM32H743xI datasheet DS12110: up to 480 MHz",
        "serial": "RM0433, 8.7, 11.4 and 48.7; UM2407: USART3 on PD8 (TX) and PD9 (RX) is the "
        "Nucleo's ST-LINK; after reset all runs from the 64 MHz HSI",
        "memories": "RM0433, 2.3.2: flash 2 MB, DTCM 128 KB, AXI SRAM 512 KB, SRAM1 to SRAM3 "
        "128 + 128 + 32 KB",
    },
)
TARGETS = (STM32H743,)
