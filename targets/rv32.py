"""32-bit RISC-V microcontrollers, bare metal: with and without an FPU."""

from dataclasses import replace

from edgecc.targets.target import Region, Serial, Target, Toolchain

RV32IMC = Target(
    name="rv32imc",
    description="32-bit RISC-V microcontroller (rv32imc, no FPU, bare metal)",
    triple="riscv32-unknown-elf",
    cpu="generic-rv32",
    attributes=("+m", "+c"),
    abi="ilp32",
    contracts=False,
    features=frozenset({"rv32", "soft-float"}),
    architecture="riscv32",
    memories=(Region("flash", 1 << 26, base=0x80000000, may_hold=("code", "weights")),
              Region("ram", 1 << 26, base=0x84000000, may_hold=("arena",))),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "riscv32-freestanding-none",
                                "-mcpu=generic_rv32+m+c"), libc="none",
                        gnu_flags=("-march=rv32imc", "-mabi=ilp32")),
    runner="baremetal",
    emulator=("qemu-system-riscv32", "-M", "virt", "-bios", "none"),
    serial=Serial("16550", base=0x10000000, clock_hz=3_686_400),
    source={
        "features": "The RISC-V Instruction Set Manual, Volume I: RV32IMC",
        "cores": "an allowance: one core",
        "memories": "QEMU's virt machine: 128 MB of RAM from 0x80000000, half of it as flash",
        "serial": "QEMU's virt machine: 16550 UART; its cycle counter counts no cycles",
    },
)
RV32IMAFC = replace(
    RV32IMC,
    name="rv32imafc",
    description="32-bit RISC-V microcontroller with FPU (rv32imafc, bare metal)",
    attributes=("+m", "+a", "+f", "+c"),
    abi="ilp32f",
    features=frozenset({"rv32", "fpu32"}),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "riscv32-freestanding-none",
                                "-mcpu=generic_rv32+m+a+f+c", "-mabi=ilp32f"),
                        libc="none", gnu_flags=("-march=rv32imafc", "-mabi=ilp32f")),
    source={
        "features": "The RISC-V Instruction Set Manual, Volume I: RV32IMAFC",
        "cores": "an allowance: one core",
        "memories": "QEMU's virt machine: 128 MB of RAM from 0x80000000, half of it as flash",
        "serial": "QEMU's virt machine: 16550 UART; its cycle counter counts no cycles",
    },
)
TARGETS = (RV32IMC, RV32IMAFC)
