"""Arm's MPS2 and MPS3 boards with the cores of their application notes, as QEMU emulates them."""

from dataclasses import replace

from edgecc.targets.cortex_m import CORTEX_M3, CORTEX_M4F, CORTEX_M7, CORTEX_M33, CORTEX_M55

MPS2_AN385 = replace(CORTEX_M3, name="mps2-an385", description="MPS2 board with a Cortex-M3")
MPS2_AN386 = replace(CORTEX_M4F, name="mps2-an386", description="MPS2 board with a Cortex-M4F")
MPS2_AN500 = replace(CORTEX_M7, name="mps2-an500", description="MPS2 board with a Cortex-M7")
MPS2_AN505 = replace(CORTEX_M33, name="mps2-an505", description="MPS2 board with a Cortex-M33")
MPS3_AN547 = replace(CORTEX_M55, name="mps3-an547", description="MPS3 board with a Cortex-M55")
TARGETS = (MPS2_AN385, MPS2_AN386, MPS2_AN500, MPS2_AN505, MPS3_AN547)
