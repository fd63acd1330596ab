"""StarFive VisionFive 2: JH7110, four SiFive U74."""

from dataclasses import replace

from edgecc.targets.riscv64 import RISCV64_GENERIC
from edgecc.targets.target import Region

VISIONFIVE_2 = replace(
    RISCV64_GENERIC,
    name="visionfive-2",
    description="StarFive VisionFive 2 (JH7110, 4 x SiFive U74 at 1.5 GHz, Linux)",
    cpu="sifive-u74",
    attributes=("+m", "+a", "+f", "+d", "+c", "+zba", "+zbb"),
    cores=4,
    clock_hz=1_500_000_000,
    memories=(Region("ram", 1 << 31),),
    source={
        "cores": "StarFive JH7110 datasheet: four U74 application cores",
        "clock_hz": "StarFive JH7110 datasheet: 1.5 GHz",
        "features": "SiFive U74-MC Core Complex Manual: RV64GC, Zba, Zbb",
        "memories": "smallest VisionFive 2 sold: 2 GB",
    },
)
TARGETS = (VISIONFIVE_2,)
