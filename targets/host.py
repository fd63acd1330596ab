"""The workstation itself, with whatever its CPU has (AVX512, VNNI, AVX2, or Arm's dotprod)."""

from edgecc.targets import host_cpu
from edgecc.targets.target import Region, Target, Toolchain

VNNI = frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vnni"})


def cpu_of(architecture: str, have: frozenset[str]) -> str:
    """LLVM's name of a core that has no more than these features."""
    if architecture == "aarch64":
        return "cortex-a76" if "dotprod" in have else "generic"
    if have >= VNNI:
        return "icelake-server"
    if have >= {"avx2", "fma", "avxvnni"}:
        return "alderlake"
    return "haswell" if have >= {"avx2", "fma"} else "x86-64"


def _host() -> Target:
    have, architecture = host_cpu.features(), host_cpu.architecture()
    return Target(
        name="host",
        description="this workstation",
        triple=f"{architecture}-linux-gnu",
        cpu=cpu_of(architecture, have),
        features=have,
        architecture=architecture,
        cores=host_cpu.cores(),
        memories=(Region("ram", 1 << 32),),
        toolchain=Toolchain("zig", ("zig", "cc", "-target", f"{architecture}-linux-musl")),
        source={
            "cores": "the cores this process may run on",
            "features": "/proc/cpuinfo",
            "memories": "an allowance, not a reading",
        },
    )


TARGETS = (_host(),)
