"""link: machine code and generated C into the files of a bundle."""

from edgecc.link.baremetal import link_baremetal
from edgecc.link.elf import ElfInfo, describe
from edgecc.link.linux import LinkedFiles, link_linux
from edgecc.link.stack_bound import stack_bytes

__all__ = ["ElfInfo", "LinkedFiles", "describe", "link_baremetal", "link_linux", "stack_bytes"]
