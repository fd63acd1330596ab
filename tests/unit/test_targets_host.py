"""The workstation's own target follows from what Linux says of its processor."""

import pytest

from edgecc.targets import get_target, host_cpu
from edgecc.targets.host import cpu_of

BASE = "fpu mmx sse2 ssse3 sse4_1 avx f16c avx2 fma bmi2 "
FOUNDATION = "avx512f avx512dq avx512bw avx512vl "
MACHINES = {  # flags of /proc/cpuinfo: the target whose features they are, LLVM's core
    "alderlake": ("flags", BASE + "avx_vnni gfni vaes", "x86-64-v3-vnni", "alderlake"),
    "haswell": ("flags", BASE, "x86-64-v3", "haswell"),
    "icelake": ("flags", BASE + FOUNDATION + "avx512_vnni", "x86-64-v4-vnni", "icelake-server"),
    "nehalem": ("flags", "fpu mmx sse2 ssse3 sse4_1", None, "x86-64"),
    "cortex-a76": ("Features", "fp asimd evtstrm asimdhp asimddp", None, "cortex-a76"),
    "cortex-a72": ("Features", "fp asimd evtstrm aes crc32", None, "generic"),
}


def cpuinfo(tmp_path, label, flags):
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\nmodel name\t: of avx_vnni\n{label}\t: {flags}\nbugs\t: x\n")
    return path


@pytest.mark.parametrize("label, flags, target, cpu", MACHINES.values(), ids=MACHINES)
def test_a_machine_has_the_features_and_the_core_that_its_flags_say(tmp_path, label, flags,
                                                                    target, cpu):
    have = host_cpu.features(cpuinfo(tmp_path, label, flags))
    assert cpu_of("aarch64" if label == "Features" else "x86_64", have) == cpu
    if target:
        assert have == get_target(target).features and cpu == get_target(target).cpu


@pytest.mark.parametrize("flags, missing", [("avx_vnni avx2", "fma"), ("avx_vnni fma", "avx2")])
def test_avx_vnni_alone_makes_no_alder_lake(tmp_path, flags, missing):
    have = host_cpu.features(cpuinfo(tmp_path, "flags", flags))
    assert "avxvnni" in have and missing not in have and cpu_of("x86_64", have) == "x86-64"


def test_a_machine_with_both_forms_of_vnni_takes_the_wider():
    both = get_target("x86-64-v4-vnni").features | {"avxvnni"}
    assert cpu_of("x86_64", both) == "icelake-server"


def test_an_unknown_machine_has_no_features(tmp_path):
    empty = tmp_path / "empty"
    empty.write_text("processor : 0\n")
    assert host_cpu.features(empty) == host_cpu.features(tmp_path / "absent") == frozenset()
