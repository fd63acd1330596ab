"""Vectors of one value each, made by assembler text where it is emitted and nowhere else.

LLVM would make them ahead of all loops, and spill them where a statement takes every register.
Source: Arm Architecture Reference Manual, A64 SIMD instructions, DUP (general) and LD4R.
"""

from __future__ import annotations

from typing import Any

from edgecc.kernels.isa.assembled import REGISTERS, function, statement

ELEMENTS = {"int8": ("b", "i8"), "int16": ("h", "i16"), "int32": ("s", "i32"),
            "float32": ("s", "float")}


def spread(k: Any, value: Any, lanes: int) -> Any:
    """A vector of `lanes` times a value, made where this is called."""
    from edgecc.kernels import tir

    dtype = str(value.ty.dtype)
    word = tir.T.reinterpret("int32", value) if dtype == "float32" else tir.T.cast(value, "int32")
    name, (suffix, kind) = f"edgecc_spread_{dtype}x{lanes}", ELEMENTS[dtype]
    text = f'asm sideeffect "dup $0.{lanes}{suffix}, ${{1:w}}", "=w,r"(i32 %word)'
    vector = f"<{lanes} x {kind}>"
    k.llvm_function(name, lambda: (
        f"define internal {vector} @{name}(i32 %word) alwaysinline nounwind {{\n"
        f"  %r = call {vector} {text}\n  ret {vector} %r\n}}\n"))
    return tir.let(tir.T.call_extern(tir.vector(dtype, lanes), name, word))


def spread_four(k: Any, values: Any) -> list[Any]:
    """The same of each of four float32 in memory, in one instruction."""
    from edgecc.kernels import tir

    made, name = tir.local(16, "float32"), "edgecc_spread_four"
    last = range(REGISTERS - 4, REGISTERS)  # the statements' own
    kind = "{ " + ", ".join(["<4 x float>"] * 4) + " }"
    line = f"ld4r {{{', '.join(f'v{i}.4s' for i in last)}}}, [$4]"
    constraints = ",".join([*(f"={{v{i}}}" for i in last), "r", "~{memory}"])
    body = [statement("%r", kind, [line], constraints, ["ptr %values"])]
    for i in range(4):
        body += [f"%p{i} = getelementptr i8, ptr %made, i64 {16 * i}",
                 f"%o{i} = extractvalue {kind} %r, {i}",
                 f"store <4 x float> %o{i}, ptr %p{i}, align 4"]
    k.llvm_function(name, lambda: function(name, "ptr %made, ptr %values", body))
    tir.T.evaluate(tir.T.call_extern("int32", name, tir.T.address_of(made[0]), values))
    return [tir.let(tir.load(made, 4 * i, 4)) for i in range(4)]
