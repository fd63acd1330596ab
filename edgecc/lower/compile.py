"""PrimFuncs to relocatable objects: the few TVM passes a kernel of the C ABI needs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tvm
from tvm import tirx

from edgecc.kernels.tir import module
from edgecc.targets import Target

# TVM gives every buffer a type of its own, so LLVM would take two buffers over one pointer (and a
# step done in place) for disjoint, and would hoist packed weights out of the tile loop to spill
# them. Kernels that want their pointers disjoint say so (`may_alias=False`: restrict).
NO_TYPE_BASED_ALIASING = "-enable-tbaa:bool=false"

# At level 3 and below it. LLVM takes inline assembly for one instruction, and would write a
# tile's out for every turn of the loop around it.
UNROLL_THRESHOLDS = ("aggressive", "default")


def tvm_target(target: Target) -> tvm.target.Target:
    """TVM's description of `target`. Options are scoped to it, so targets do not mix."""
    spec: dict[str, Any] = {"kind": "llvm", "mtriple": target.triple, "mcpu": target.cpu}
    optional = {"mattr": list(target.attributes), "mabi": target.abi,
                "mfloat-abi": target.float_abi, "vector-width": target.vector_bits}
    spec |= {key: value for key, value in optional.items() if value}
    unroll = [f"-unroll-threshold-{name}:uint={target.unroll}" for name in UNROLL_THRESHOLDS]
    spec["cl-opt"] = [NO_TYPE_BASED_ALIASING, *unroll, *target.llvm_options]
    spec["opt-level"] = target.llvm_level
    return tvm.target.Target(spec)


def build(func: Any, target: Target) -> Any:
    """A TVM runtime module of one kernel; `.inspect_source("asm")` shows its code."""
    llvm = tvm_target(target)
    mod = tirx.transform.BindTarget(llvm.with_host(llvm))(module(func))
    mod = tirx.transform.StmtSimplify()(mod)
    mod = tirx.transform.LowerIntrin()(mod)  # LowerTVMBuiltin would call for workspaces
    return tvm.get_global_func("target.build.llvm")(mod, llvm)


def object_bytes(func: Any, target: Target) -> bytes:
    """The relocatable ELF object of one kernel."""
    with tempfile.TemporaryDirectory(prefix="edgecc-") as folder:
        path = Path(folder) / "kernel.o"
        build(func, target).write_to_file(str(path))
        return path.read_bytes()


def assembly(func: Any, target: Target) -> str:
    return str(build(func, target).inspect_source("asm"))
