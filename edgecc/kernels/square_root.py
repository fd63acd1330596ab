"""The square root of cores without an FPU: kernels call no libm, and LLVM would call sqrtf.

It is defined beside the kernel that needs it. Digit by digit in
32-bit integers, rounded once: the bytes that IEEE 754 asks for, as an FPU gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgecc.kernels import float_math

NAME = "edgecc_square_root"
# the exponent is halved; the root of the fraction, four times it where the exponent is odd, gets
# 25 binary digits, the last one for rounding (never a tie), and `rest` is what is left
TEXT = f"""
declare i32 @llvm.ctlz.i32(i32, i1)

define internal float @{NAME}(float %x) noinline nounwind {{
begin:
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %zero = icmp eq i32 %size, 0
  br i1 %zero, label %same, label %signed
signed:
  %negative = icmp slt i32 %bits, 0
  br i1 %negative, label %none, label %positive
positive:
  %endless = icmp uge i32 %size, 2139095040
  br i1 %endless, label %same, label %finite
same:
  ret float %x
none:
  ret float 0x7FF8000000000000
finite:
  %small = icmp ult i32 %size, 8388608
  %zeros = call i32 @llvm.ctlz.i32(i32 %size, i1 true)
  %shift = sub i32 %zeros, 8
  %raised = shl i32 %size, %shift
  %lowered = sub i32 1, %shift
  %low = and i32 %size, 8388607
  %whole = or i32 %low, 8388608
  %above = lshr i32 %size, 23
  %fraction = select i1 %small, i32 %raised, i32 %whole
  %exponent = select i1 %small, i32 %lowered, i32 %above
  %power = sub i32 %exponent, 127
  %odd = and i32 %power, 1
  %half = ashr i32 %power, 1
  %left = add i32 %odd, 1
  %first = shl i32 %fraction, %left
  br label %digit
digit:
  %mark = phi i32 [ 16777216, %finite ], [ %next, %digit ]
  %root = phi i32 [ 0, %finite ], [ %root.new, %digit ]
  %twice = phi i32 [ 0, %finite ], [ %twice.new, %digit ]
  %rest = phi i32 [ %first, %finite ], [ %rest.new, %digit ]
  %trial = add i32 %twice, %mark
  %fits = icmp ule i32 %trial, %rest
  %root.with = or i32 %root, %mark
  %root.new = select i1 %fits, i32 %root.with, i32 %root
  %twice.with = add i32 %trial, %mark
  %twice.new = select i1 %fits, i32 %twice.with, i32 %twice
  %rest.less = sub i32 %rest, %trial
  %rest.kept = select i1 %fits, i32 %rest.less, i32 %rest
  %rest.new = shl i32 %rest.kept, 1
  %next = lshr i32 %mark, 1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %digit, label %end
end:
  %inexact = icmp ne i32 %rest.new, 0
  %last = and i32 %root.new, 1
  %up = select i1 %inexact, i32 %last, i32 0
  %rounded = add i32 %root.new, %up
  %digits = lshr i32 %rounded, 1
  %scale = shl i32 %half, 23
  %based = add i32 %digits, 1056964608
  %found = add i32 %based, %scale
  %result = bitcast i32 %found to float
  ret float %result
}}
"""


def square_root(k: Any, target: Any) -> Callable[[Any, int], Any]:
    """The function (x, lanes) that gives the root in kernel `k`. Cores without an FPU have no
    vectors either."""
    from edgecc.kernels import tir

    if "soft-float" not in target.features:
        return float_math.square_root
    k.llvm_function(NAME, lambda: TEXT)
    return lambda x, lanes: tir.let(tir.T.call_extern("float32", NAME, x))
