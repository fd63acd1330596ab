"""The null target: compiles everything with the plainest kernels, links and runs nothing."""

from edgecc.targets.target import Target

NULL = Target(
    name="null",
    description="for tests: plain kernels, no toolchain, no board",
    triple="x86_64-linux-gnu",
    cpu="x86-64",
    architecture="x86_64",
    runner="none",
    source={"triple": "any that LLVM knows: nothing is run"},
)
TARGETS = (NULL,)
