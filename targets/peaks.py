"""The most multiply-accumulates that one instruction of an instruction set does: the yardstick of
reports that count instructions. What a chip does per cycle is the chip's own (`Target`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgecc.targets.target import Target


@dataclass(frozen=True)
class Peak:
    """`feature`: of a target, or how its architecture begins. Figures are of the best sequence of
    instructions, loads left out; None: nothing to measure by."""

    feature: str
    macs_per_instruction: float
    source: str


ARM = "Arm Architecture Reference Manual"
INT8 = (
    Peak("i8mm", 32, f"{ARM}, A64: SMMLA, two rows by two columns of eight"),
    Peak("dotprod", 16, f"{ARM}, A64: SDOT, four lanes of four"),
    Peak("neon", 16 / 3, f"{ARM}, A64: SMULL, SMLAL2 and SADALP for sixteen"),
    Peak("armv7-neon", 4, f"{ARM}, Armv7-A: VMLAL.S16, four lanes"),
    Peak("avx512vnni", 64, "Intel SDM: VPDPBUSD, sixteen lanes of four"),
    Peak("avxvnni", 32, "Intel SDM: VPDPBUSD, eight lanes of four"),
    Peak("avx2", 8, "Intel SDM: VPMADDWD and VPADDD for sixteen"),
    Peak("mve", 16, f"{ARM}, Armv8-M: VMLADAVA.S8"),
    Peak("dsp", 2, f"{ARM}, Armv7-M: SMLAD"),
    Peak("rvv256", 64, "RISC-V V 1.0, 11.13: VWMACC.VX into eight registers of 256 bits"),
    Peak("rvv128", 32, "RISC-V V 1.0, 11.13: VWMACC.VX into eight registers of 128 bits"),
    Peak("thumb2", 1, f"{ARM}, Armv7-M: MLA"),
    Peak("thumb", 0.5, f"{ARM}, Armv6-M: MULS and ADDS"),
    Peak("aarch64", 1, f"{ARM}, A64: MADD"),
    Peak("riscv", 0.5, "RISC-V Instruction Set Manual, Volume I: MUL and ADD"),
    Peak("x86_64", 0.5, "Intel SDM: IMUL and ADD"),
)
FLOAT32 = (
    Peak("neon", 4, f"{ARM}, A64: FMLA, four lanes"),
    Peak("armv7-neon", 4, f"{ARM}, Armv7-A: VFMA.F32, four lanes"),
    Peak("avx512f", 16, "Intel SDM: VFMADD231PS, sixteen lanes"),
    Peak("fma", 8, "Intel SDM: VFMADD231PS, eight lanes"),
    Peak("mve", 4, f"{ARM}, Armv8.1-M: VFMA.F32, four lanes"),
    Peak("rvv256", 64, "RISC-V V 1.0, 13.7: VFMACC.VF on a group of eight registers of 256 bits"),
    Peak("rvv128", 32, "RISC-V V 1.0, 13.7: VFMACC.VF on a group of eight registers of 128 bits"),
    Peak("fpu32", 1, "one fused multiply-add of the FPU"),
    Peak("rv64gc", 1, "RISC-V Instruction Set Manual, Volume I: FMADD.S"),
)


def per_instruction(target: Target) -> Mapping[str, Peak]:
    """The target's best instruction by type; a type without one is left out."""
    found = {"int8": _best(INT8, target), "float32": _best(FLOAT32, target)}
    return {dtype: peak for dtype, peak in found.items() if peak is not None}


def _best(peaks: tuple[Peak, ...], target: Target) -> Peak | None:
    for peak in peaks:
        if peak.feature in target.features or target.architecture.startswith(peak.feature):
            return peak
    return None
