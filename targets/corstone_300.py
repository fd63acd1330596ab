"""Arm Corstone-300, its CPU alone: Cortex-M55 of the MPS3 board and of Arm's models."""

from dataclasses import replace

from edgecc.targets.cortex_m import CORTEX_M55
from edgecc.targets.target import Region

CORSTONE_300 = replace(
    CORTEX_M55,
    name="corstone-300",
    description="Arm Corstone-300 without its NPU (Cortex-M55, AN547 on MPS3)",
    memories=(Region("itcm", 512 << 10, base=0x0, may_hold=("code",)),
              Region("code_sram", 2 << 20, base=0x11000000, may_hold=("weights",)),
              Region("dtcm", 512 << 10, base=0x30000000, may_hold=("arena",)),
              Region("isram", 4 << 20, base=0x31000000, may_hold=("arena",))),
    source={
        **CORTEX_M55.source,
        "memories": "Arm Application Note 547, table 3-1: ITCM and DTCM of 512 KB, code SRAM 2 MB, "
        "internal SRAM 2 x 2 MB (secure aliases)",
    },
)
TARGETS = (CORSTONE_300,)
