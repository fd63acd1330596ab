"""Arm Cortex-M cores, bare metal. Boards and chips with their memory maps stand on these."""

from dataclasses import replace

from edgecc.targets.target import Region, Serial, Target, Toolchain

CODE_AND_WEIGHTS = ("code", "weights")


def _zig(cpu: str, gnu: str, floats: str = "hard") -> Toolchain:
    """zig's names of cores say nothing of the FPU: its features are added."""
    abi = "eabihf" if floats == "hard" else "eabi"
    return Toolchain("zig", ("zig", "cc", "-target", f"thumb-freestanding-{abi}", f"-mcpu={cpu}"),
                     libc="none", gnu_flags=("-mthumb", f"-mfloat-abi={floats}", *gnu.split()))


# gnueabi: the Arm ABI's names for arithmetic (__aeabi_fmul), and plain memcpy and memset
CORTEX_M4F = Target(
    name="cortex-m4f",
    description="Arm Cortex-M4 with FPU (DSP instructions, bare metal)",
    triple="thumbv7em-unknown-none-gnueabihf",
    cpu="cortex-m4",
    float_abi="hard",
    vector_bits=128,
    contracts=False,
    features=frozenset({"thumb2", "dsp", "fpu32"}),
    architecture="thumbv7em",
    int8_macs_per_cycle=2.0,
    memories=(Region("flash", 1 << 22, base=0x0, may_hold=CODE_AND_WEIGHTS),
              Region("ram", 1 << 24, base=0x21000000, may_hold=("arena",))),
    toolchain=_zig("cortex_m4+vfp4d16sp", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16"),
    runner="baremetal",
    emulator=("qemu-system-arm", "-M", "mps2-an386"),
    serial=Serial("cmsdk", base=0x40004000, clock_hz=25_000_000, core_hz=25_000_000),
    source={
        "features": "Arm Cortex-M4 Technical Reference Manual r0p1: Armv7E-M, FPv4-SP",
        "cores": "one by design",
        "int8_macs_per_cycle": "Technical Reference Manual: SMLAD, two products in one cycle",
        "vector_bits": "an MVE register; only quietens LLVM on cores without vectors",
        "memories": "Arm Application Note 386: ZBT SRAM 1 of 4 MB, PSRAM of 16 MB",
        "serial": "Arm Application Note 386 (385 and 500 alike): CMSDK UART 0, 25 MHz",
    },
)
CORTEX_M3 = replace(
    CORTEX_M4F,
    name="cortex-m3",
    description="Arm Cortex-M3 (no DSP instructions, no FPU, bare metal)",
    triple="thumbv7m-unknown-none-gnueabi",
    cpu="cortex-m3",
    float_abi="soft",
    int8_macs_per_cycle=None,
    features=frozenset({"thumb2", "soft-float"}),
    architecture="thumbv7m",
    toolchain=_zig("cortex_m3", "-mcpu=cortex-m3", "soft"),
    emulator=("qemu-system-arm", "-M", "mps2-an385"),
    source={
        **CORTEX_M4F.source,
        "features": "Arm Cortex-M3 Technical Reference Manual r2p0: Armv7-M",
        "memories": "Arm Application Note 385: ZBT SRAM 1 of 4 MB, PSRAM of 16 MB",
    },
)
CORTEX_M0PLUS = replace(
    CORTEX_M3,
    name="cortex-m0plus",
    description="Arm Cortex-M0+ (Armv6-M, no FPU, bare metal)",
    triple="thumbv6m-unknown-none-gnueabi",
    cpu="cortex-m0plus",
    features=frozenset({"thumb", "soft-float"}),
    serial=Serial("cmsdk", base=0x40004000, clock_hz=25_000_000),  # no cycle counter
    architecture="thumbv6m",
    toolchain=_zig("cortex_m0plus", "-mcpu=cortex-m0plus", "soft"),
    source={
        **CORTEX_M3.source,
        "features": "Arm Cortex-M0+ Technical Reference Manual r0p1: Armv6-M",
    },
)
CORTEX_M7 = replace(
    CORTEX_M4F,
    name="cortex-m7",
    description="Arm Cortex-M7 with FPU (DSP instructions, bare metal)",
    cpu="cortex-m7",
    toolchain=_zig("cortex_m7+fp_armv8d16sp", "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16"),
    emulator=("qemu-system-arm", "-M", "mps2-an500"),
    memories=(Region("flash", 1 << 22, base=0x0, may_hold=CODE_AND_WEIGHTS),
              Region("ram", 1 << 24, base=0x60000000, may_hold=("arena",))),
    source={
        **CORTEX_M4F.source,
        "features": "Arm Cortex-M7 Technical Reference Manual r1p2: Armv7E-M, FPv5",
        "memories": "Arm Application Note 500: ZBT SRAM 1 of 4 MB, PSRAM of 16 MB",
    },
)
CORTEX_M33 = replace(
    CORTEX_M4F,
    name="cortex-m33",
    description="Arm Cortex-M33 with FPU and DSP extension (bare metal)",
    triple="thumbv8m.main-unknown-none-gnueabihf",
    cpu="cortex-m33",
    architecture="thumbv8m.main",
    toolchain=_zig("cortex_m33+fp_armv8d16sp+dsp", "-mcpu=cortex-m33 -mfpu=fpv5-sp-d16"),
    emulator=("qemu-system-arm", "-M", "mps2-an505"),
    serial=Serial("cmsdk", base=0x50200000, clock_hz=20_000_000, core_hz=20_000_000),
    memories=(Region("flash", 1 << 22, base=0x10000000, may_hold=CODE_AND_WEIGHTS),
              Region("ram", 1 << 24, base=0x80000000, may_hold=("arena",))),
    source={
        **CORTEX_M4F.source,
        "features": "Arm Cortex-M33 Technical Reference Manual r1p0: Armv8-M Mainline, DSP, FPv5",
        "memories": "Arm Application Note 505: SSRAM 1 of 4 MB (secure alias), PSRAM of 16 MB",
        "serial": "Arm Application Note 505: CMSDK UART 0 (secure alias), 20 MHz",
    },
)
CORTEX_M55 = replace(
    CORTEX_M4F,
    name="cortex-m55",
    description="Arm Cortex-M55 with MVE (Helium) and FPU (bare metal)",
    triple="thumbv8.1m.main-unknown-none-gnueabihf",
    cpu="cortex-m55",
    int8_macs_per_cycle=8.0,
    features=frozenset({"thumb2", "dsp", "fpu32", "mve"}),
    architecture="thumbv8.1m.main",
    toolchain=_zig("cortex_m55+mve_fp+fp_armv8d16sp", "-mcpu=cortex-m55"),
    emulator=("qemu-system-arm", "-M", "mps3-an547"),
    serial=Serial("cmsdk", base=0x59303000, clock_hz=25_000_000, core_hz=32_000_000),
    memories=(Region("itcm", 1 << 19, base=0x0, may_hold=("code",)),
              Region("code_sram", 1 << 21, base=0x11000000, may_hold=("weights",)),
              Region("ram", 1 << 22, base=0x31000000, may_hold=("arena",))),
    source={
        **CORTEX_M4F.source,
        "features": "Arm Cortex-M55 Technical Reference Manual r1p0: Armv8.1-M, MVE-I and MVE-F",
        "int8_macs_per_cycle": "Technical Reference Manual: VMLADAV, 16 products in two beats",
        "memories": "Arm Application Note 547: ITCM 512 KB, code SRAM 2 MB, internal SRAM 4 MB "
        "(secure aliases)",
        "serial": "Arm Application Note 547: CMSDK UART 0 (secure alias), peripherals 25 MHz, core "
        "32 MHz",
    },
)
CORTEX_M85 = replace(
    CORTEX_M55,
    name="cortex-m85",
    description="Arm Cortex-M85 with MVE (Helium) and FPU (bare metal)",
    cpu="cortex-m85",
    toolchain=_zig("cortex_m85+mve_fp+fp_armv8d16sp", "-march=armv8.1-m.main+mve.fp+fp.dp"),
    source={
        **CORTEX_M55.source,
        "features": "Arm Cortex-M85 Technical Reference Manual r0p2: Armv8.1-M, MVE-I and MVE-F",
        "memories": CORTEX_M55.source["memories"] + "; QEMU has no board with an M85",
    },
)
TARGETS = (CORTEX_M0PLUS, CORTEX_M3, CORTEX_M4F, CORTEX_M7, CORTEX_M33, CORTEX_M55, CORTEX_M85)
