"""How kernels are written: the C ABI's parameters and flat buffers over TVM's IRBuilder.

A builder opens `kernel(...)`, emits loops and vector loads and stores with plain Python around
them, and takes the finished PrimFunc from `.func`. There are no blocks and no schedules: what is
written is what LLVM gets. Values are TVM expressions; `let` names one so that it is computed once.

Two buffers over one pointer are assumed not to alias by LLVM: read and write a scratch area
through one buffer only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import tvm
from tvm import tirx
from tvm.ir import PointerType, PrimType, Var
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from edgecc.kernels.contraction import separate
from edgecc.kernels.halves import Halves, half_type, stored

Operand = tuple[str, int]  # (dtype, elements)
UNBOUNDED = 1 << 30  # declared length of an area whose extent the code itself respects


class KernelBuilder:
    """The parameters of the kernel under construction, and `func` once the context has closed."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.scratch: Any = None
        self.args: Any = None
        self.begin: Any = None
        self.end: Any = None
        self.func: Any = None
        self._weights: Any = None
        self._scratch: Any = None
        self._functions: dict[str, str] = {}

    def llvm_function(self, name: str, text: Callable[[], str]) -> None:
        """Let the kernel call `name` (by `T.call_extern`), a function in LLVM's own language."""
        if name not in self._functions:
            self._functions[name] = text()

    def close(self, func: Any) -> None:
        """The finished function, with the LLVM functions that it calls."""
        self.func = func
        if self._functions:
            text = tvm.ir.StringImm("\n".join(self._functions.values()))
            zero = tvm.tirx.IntImm("int32", 0)
            self.func = func.with_body(
                tvm.tirx.AttrStmt(zero, "pragma_import_llvm", text, func.body))

    def weights(self, dtype: str, offset_bytes: int = 0) -> Any:
        """The packed constants from `offset_bytes` on, as elements of `dtype`."""
        data, kind = self._weights, half_type() if dtype == "float16" else None
        if offset_bytes:
            data = tirx.handle_add_byte_offset(data, offset_bytes)
        buffer = T.decl_buffer((UNBOUNDED,), kind or dtype, data=data)
        return Halves(buffer, kind) if kind else buffer

    def area(self, dtype: str, offset_bytes: int) -> Any:
        """The scratch from `offset_bytes` on, as elements of `dtype`: a part of its own, read and
        written through this buffer only."""
        data = tirx.handle_add_byte_offset(self._scratch, offset_bytes)
        return T.decl_buffer((UNBOUNDED,), dtype, data=data)


def _pointer(name: str, dtype: str) -> Any:
    return T.arg(name, Var(name, PointerType(PrimType(dtype))))


def _parameters(prefix: str, operands: Sequence[Operand]) -> list[Any]:
    return [(_pointer(f"{prefix}{i}", stored(dtype)), dtype, n)
            for i, (dtype, n) in enumerate(operands)]


def _buffer(pointer: Any, dtype: str, count: int) -> Any:
    """The operand's elements; halves are read and written as float32."""
    kind = stored(dtype)
    buffer = T.decl_buffer((count,), kind, data=pointer)
    return buffer if kind == dtype else Halves(buffer, kind)


@contextmanager
def kernel(
    symbol: str,
    *,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    weights: bool,
    scratch: Operand | None = None,
    may_alias: bool = False,
) -> Iterator[KernelBuilder]:
    """Open a kernel function of the C ABI.

    `may_alias`: an output may share memory with an input (in place), so no restrict pointers.
    """
    k = KernelBuilder()
    with IRBuilder() as builder:
        with T.prim_func(s_tir=True):
            T.func_name(symbol)
            T.func_attr({"global_symbol": symbol, "tirx.noalias": not may_alias})
            taken = _parameters("input", inputs)
            if weights:
                k._weights = _pointer("weights", "uint8")
            given = _parameters("output", outputs)
            work = _pointer("scratch", scratch[0]) if scratch else None
            args = _pointer("args", "int32")
            k.begin, k.end = T.arg("begin", T.int32()), T.arg("end", T.int32())
            k.inputs = [_buffer(*each) for each in taken]
            k.outputs = [_buffer(*each) for each in given]
            k.args = T.decl_buffer((UNBOUNDED,), "int32", data=args)
            if scratch:
                k._scratch = work
                k.scratch = T.decl_buffer((scratch[1],), scratch[0], data=work)
            yield k
        k.close(builder.get())


def vector(dtype: str, lanes: int) -> str:
    return f"{dtype}x{lanes}" if lanes > 1 else dtype


def load(buffer: Any, offset: Any, lanes: int = 1) -> Any:
    """`lanes` consecutive elements from `offset`."""
    if isinstance(buffer, Halves):
        return buffer.load(offset, lanes)
    return buffer[T.ramp(offset, 1, lanes) if lanes > 1 else offset]


def store(buffer: Any, offset: Any, value: Any, lanes: int = 1) -> None:
    if isinstance(buffer, Halves):
        buffer.store(offset, value, lanes)
        return
    T.buffer_store(buffer, separate(value), [T.ramp(offset, 1, lanes) if lanes > 1 else offset])


def local(count: int, dtype: str) -> Any:
    """Registers: `count` elements that are only ever indexed by constants."""
    return T.alloc_buffer((count,), dtype, scope="local")


def let(value: Any) -> Any:
    return T.bind(separate(value))


def splat(value: Any, lanes: int) -> Any:
    return T.broadcast(value, lanes) if lanes > 1 else value


def llvm(result: str, name: str, *arguments: Any) -> Any:
    """A call of the LLVM intrinsic `name` without side effects."""
    return T.call_llvm_pure_intrin(result, name, *arguments)


def fused(a: Any, b: Any, c: Any, dtype: str) -> Any:
    """a * b + c, rounded once whatever contraction says."""
    return llvm(dtype, "llvm.fma", a, b, c)


def fenced(value: Any, dtype: str) -> Any:
    """`value` rounded to float32 before anything is added to it: never contracted to an FMA."""
    return llvm(dtype, "llvm.arithmetic.fence", value)


@contextmanager
def imported(sources: Sequence[str]) -> Iterator[None]:
    """Functions in LLVM IR that the body may call: `T.call_extern` by their name."""
    with ExitStack() as stack:
        for source in sources:
            stack.enter_context(T.attr(0, "pragma_import_llvm", source))
        yield


def loop(begin: Any, end: Any) -> Any:
    """A serial loop: `with loop(0, n) as i`."""
    return T.serial(begin, end)


def when(condition: Any) -> Any:
    """`with when(c):` the body runs if c holds."""
    return _Then(T.If(condition))


class _Then:
    """If and Then frames entered as one."""

    def __init__(self, frame: Any) -> None:
        self.frame: Any = frame
        self.then: Any = None

    def __enter__(self) -> None:
        self.frame.__enter__()
        self.then = T.Then()
        self.then.__enter__()

    def __exit__(self, *info: Any) -> None:
        self.then.__exit__(*info)
        self.frame.__exit__(*info)


def module(func: Any) -> tvm.IRModule:
    return tvm.IRModule({str(func.attrs["global_symbol"]): func})
