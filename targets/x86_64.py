"""x86-64 Linux machines: AVX2, AVX2 with VNNI, or AVX-512 with VNNI."""

from dataclasses import replace

from edgecc.targets.target import Region, Target, Toolchain

X86_64_V3 = Target(
    name="x86-64-v3",
    description="x86-64 Linux machines with AVX2 and FMA (2013 and later)",
    triple="x86_64-linux-gnu",
    cpu="haswell",
    features=frozenset({"avx2", "fma", "f16c"}),
    architecture="x86_64",
    memories=(Region("ram", 1 << 31),),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "x86_64-linux-musl", "-mcpu=x86_64_v3")),
    emulator=("qemu-x86_64", "-cpu", "max"),
    source={
        "features": "System V ABI, AMD64 supplement, microarchitecture level x86-64-v3",
        "cores": "an allowance: one core",
        "memories": "an allowance: 2 GB",
    },
)
X86_64_V3_VNNI = replace(
    X86_64_V3,
    name="x86-64-v3-vnni",
    description="x86-64 Linux machines with AVX2 and AVX-VNNI (Alder Lake, Sierra Forest and "
                "later); not run yet: checked in the encoding of AVX-512 only",
    cpu="alderlake",
    features=frozenset({"avx2", "fma", "f16c", "avxvnni"}),
    emulator=(),  # QEMU's code generator has no VPDPBUSD
    source={
        "features": "Intel 64 and IA-32 Software Developer's Manual: AVX2, FMA, F16C, AVX-VNNI",
        "cores": "an allowance: one core",
        "memories": "an allowance: 2 GB",
    },
)
X86_64_V4_VNNI = replace(
    X86_64_V3,
    name="x86-64-v4-vnni",
    description="x86-64 Linux machines with AVX-512 and VNNI (Ice Lake, Zen 4 and later)",
    cpu="icelake-server",
    features=frozenset({"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl",
                        "avx512vnni"}),
    toolchain=Toolchain("zig", ("zig", "cc", "-target", "x86_64-linux-musl", "-mcpu=x86_64_v4")),
    emulator=(),  # QEMU's code generator has no AVX-512
    source={
        "features": "Intel 64 and IA-32 Software Developer's Manual: AVX512F, BW, DQ, VL, VNNI",
        "cores": "an allowance: one core",
        "memories": "an allowance: 2 GB",
    },
)
TARGETS = (X86_64_V3, X86_64_V3_VNNI, X86_64_V4_VNNI)
