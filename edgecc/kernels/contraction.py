"""Contraction: whether a float32 product may be added before it is rounded (a fused
multiply-add).

Inside `off`, every product is rounded on its own, so floats are the same bytes wherever sums have
the same order, on cores with and without the instruction. LLVM contracts whatever TVM gives it, so
products are fenced one by one. Portable C needs no fences: it is compiled without contraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

_off: ContextVar[bool] = ContextVar("contraction_off", default=False)


@contextmanager
def off(active: bool = True) -> Iterator[None]:
    """No contraction in what kernels store and name meanwhile."""
    token = _off.set(active)
    try:
        yield
    finally:
        _off.reset(token)


def separate(value: Any) -> Any:
    """The expression, its float32 products fenced where contraction is off."""
    return _separate(value) if _off.get() else value


def _separate(value: Any) -> Any:
    make = _rebuilders().get(type(value))
    return value if make is None else make(value)


@cache
def _rebuilders() -> dict[type, Callable[[Any], Any]]:
    """By kind of expression: the same one, of separate parts. Others have no float32 in them."""
    from tvm import tirx
    from tvm.ir import Call

    def binary(kind: Any) -> Callable[[Any], Any]:
        return lambda e: kind(_separate(e.a), _separate(e.b))

    return {
        **{kind: binary(kind) for kind in (tirx.Add, tirx.Sub, tirx.Div, tirx.Max, tirx.Min)},
        tirx.Mul: _product,
        tirx.Cast: lambda e: tirx.Cast(e.ty, _separate(e.value)),
        tirx.Select: lambda e: tirx.Select(e.condition, _separate(e.true_value),
                                           _separate(e.false_value)),
        tirx.Broadcast: lambda e: tirx.Broadcast(_separate(e.value), e.lanes),
        tirx.Shuffle: lambda e: tirx.Shuffle([_separate(v) for v in e.vectors], e.indices),
        Call: lambda e: Call(e.op, [_separate(a) for a in e.args], e.attrs, e.ty_args, None, e.ty),
    }


def _product(value: Any) -> Any:
    from edgecc.kernels import tir

    made = type(value)(_separate(value.a), _separate(value.b))
    kind = str(value.ty.dtype)
    return tir.fenced(made, kind) if kind.startswith("float") else made
