"""Portable C99 of one kernel: a printer of TIR of our own.

No assumption about the toolchain: no GNU constructs, no libm, no types beyond <stdint.h>, clean
under strict warnings, and the same results whatever the compiler does with floats. Vectors become
loops over their lanes.
"""

from __future__ import annotations

from typing import Any

from edgecc.lower.portable.functions import definitions
from edgecc.lower.portable.statements import Function

__all__ = ["c_source"]
# compilers in ISO C mode round every product, except Clang
FRONT = """\
#include <stdint.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

"""


def c_source(func: Any) -> str:
    """C of a PrimFunc of the kernel C ABI, complete with the helpers that it calls.

    Files of several kernels may be joined to one. Raises UnsupportedModel for what C99 has no
    form of: float16, and instructions of one machine.
    """
    body = Function(func).text()  # TVM's simplifier would make trees of shared expressions
    return FRONT + definitions(body) + "\n" + body
