"""Espressif ESP32-C3: one RISC-V core without FPU, with Wi-Fi (ESP32-C3-DevKitM-1)."""

from dataclasses import replace

from edgecc.targets.rv32 import RV32IMC
from edgecc.targets.target import Region

ESP32_C3 = replace(
    RV32IMC,
    name="esp32-c3",
    description="ESP32-C3 (rv32imc at 160 MHz, 400 KB RAM, 4 MB flash)",
    clock_hz=160_000_000,
    memories=(Region("irom", 4 << 20, base=0x42000000, may_hold=("code",)),
              Region("drom", 4 << 20, base=0x3C000000, may_hold=("weights",)),
              Region("dram", 384 << 10, base=0x3FC80000, may_hold=("arena",))),
    emulator=(),
    serial=None,  # starts through a boot loader of its own format
    source={
        **RV32IMC.source,
        "clock_hz": "ESP32-C3 Series Datasheet v1.8: up to 160 MHz",
        "memories": "ESP32-C3 Technical Reference Manual v1.1, 3.3: SRAM1 384 KB on the data bus, "
        "flash mapped for instructions and for data; ESP32-C3FH4: 4 MB of flash",
    },
)
TARGETS = (ESP32_C3,)
