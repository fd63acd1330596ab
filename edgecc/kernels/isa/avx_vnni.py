"""x86 AVX-VNNI: VPDPBUSD on vectors of 256 bits, for cores without AVX-512.

Source: Intel 64 and IA-32 Software Developer's Manual, VPDPBUSD, VEX.256 form.
"""

from __future__ import annotations

from typing import ClassVar

from edgecc.kernels.isa.vnni import Vnni


class AvxVnni(Vnni):
    """Four bytes of an activation row broadcast to 8 lanes, times 8 columns."""

    name: ClassVar[str] = "avxvnni"
    requires: ClassVar[frozenset[str]] = frozenset({"avx2", "avxvnni"})
    lanes: ClassVar[int] = 8
    registers: ClassVar[int] = 17  # one more than there are: weights come a vector at a time
    copy_lanes: ClassVar[int] = 32
