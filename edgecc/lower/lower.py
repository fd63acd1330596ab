"""Steps to calls: one object per distinct (kernel, spec), constants packed and shared."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import CheckFailed, UnsupportedModel
from edgecc.kernels import contraction, copy, registry
from edgecc.kernels.spec import Spec, StridedCopy
from edgecc.levels import shaped
from edgecc.lower.objects import Argument, Call, Objects
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import (
    ITEM_BYTES,
    Copy,
    Kernel,
    Program,
    View,
    contiguous_strides,
)
from edgecc.schedule.threads import scratch_stride, shared_scratch
from edgecc.targets import Target

WEIGHTS_ALIGN = 64
SUFFIXES = {"object": ".o", "assembly": ".s", "c": ".c"}


def lower(
    program: Program,
    plan: MemoryPlan,
    target: Target,
    *,
    config: CompileConfig,
    context: Context,
    prefix: str,
    form: str = "object",
) -> Objects:
    """Compile every kernel of the entry `run` and lay out its weights.

    `prefix` begins every symbol, so that several models link into one program. `form` is what
    the code becomes: an object (`.o`), assembly (`.s`) or portable C (`.c`).
    Raises UnsupportedModel for a step kind that no code generator handles yet.
    """
    target = shaped(target, config)
    weights, calls = _Weights(), []
    code: dict[str, bytes] = {}

    def compiled(kernel: str, spec: Spec) -> str:
        symbol = symbol_of(prefix, kernel, spec)
        if symbol not in code:
            code[symbol] = kernel_code(kernel, spec, symbol, target, context, form)
        return symbol

    for step in program.entry().steps:
        if isinstance(step, Kernel):
            calls.append(_kernel_call(step, compiled(step.kernel, step.spec), plan, weights))
        elif isinstance(step, Copy):
            calls.append(_copy_call(step, plan, compiled))
        else:
            raise UnsupportedModel(f"a {type(step).__name__} step cannot be lowered yet",
                                   where=step.name)
    files = {f"{s}{SUFFIXES[form]}": data for s, data in code.items()}
    return Objects(files, tuple(calls), weights.blob(), dict(weights.placed),
                   threads=config.threads)


def symbol_of(prefix: str, kernel: str, spec: Spec) -> str:
    """A C identifier that stands for one kernel specialised on one spec."""
    digest = hashlib.sha256(f"{kernel} {code_text(kernel, spec)}".encode()).hexdigest()[:10]
    return f"{prefix}_{kernel}_{digest}"


def code_text(kernel: str, spec: Spec) -> str:
    """What a kernel's code for `spec` depends on."""
    code = registry.find(kernel).code
    return spec.text() if code is None else code(spec)


class _Weights:
    """Packed constants, aligned; equal bytes are stored once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.known: dict[bytes, int] = {}
        self.placed: dict[str, tuple[int, int]] = {}

    def add(self, step: str, data: bytes) -> int:
        digest = hashlib.sha256(data).digest()
        if digest not in self.known:
            gap = -self.size % WEIGHTS_ALIGN
            self.parts += [bytes(gap), data]
            self.known[digest] = self.size + gap
            self.size += gap + len(data)
        self.placed[step] = (self.known[digest], len(data))
        return self.known[digest]

    def blob(self) -> bytes:
        return b"".join(self.parts)


def _kernel_call(step: Kernel, symbol: str, plan: MemoryPlan, weights: _Weights) -> Call:
    record = registry.find(step.kernel)
    arguments = [_view(view, plan) for view in step.inputs]
    packed = np.ascontiguousarray(record.pack(step.spec, step.constants)).view(np.uint8)
    if packed.size:
        arguments.append(Argument("weights", weights.add(step.name, packed.tobytes())))
    arguments += [_view(view, plan) for view in step.outputs]
    each_bytes = record.scratch_bytes(step.spec)
    if each_bytes or step.scratch_bytes:
        arguments.append(_scratch(step, each_bytes, plan))
    return Call(step.name, symbol, tuple(arguments), record.extent(step.spec), step.threads,
                round(record.cost(step.spec)))


def _scratch(step: Kernel, each_bytes: int, plan: MemoryPlan) -> Argument:
    needed = shared_scratch(each_bytes, step.threads)
    if needed != step.scratch_bytes:
        raise CheckFailed(f"{step.name}: planned {step.scratch_bytes} B of scratch for "
                          f"{step.threads} threads, {step.kernel} needs {needed} B")
    stride = scratch_stride(each_bytes) if step.threads > 1 else 0
    return Argument("arena", plan.offset(f"{step.name}.scratch"), stride)


def _view(view: View, plan: MemoryPlan) -> Argument:
    return Argument("arena", plan.offset(view.buffer) + view.offset_bytes)


def _copy_spec(step: Copy) -> StridedCopy | None:
    """The strided copy that a step is; None when plain bytes do."""
    source, target = ((v.strides or contiguous_strides(v.shape))
                      for v in (step.source, step.target))
    spec = copy.spec_of(ITEM_BYTES[step.source.dtype], step.source.shape, source, target)
    plain = len(spec.shape) == 1 and spec.source_strides == spec.target_strides == (1,)
    return None if plain else spec


def _copy_call(step: Copy, plan: MemoryPlan, compiled: Callable[[str, Spec], str]) -> Call:
    target, source = _view(step.target, plan), _view(step.source, plan)
    spec = _copy_spec(step)
    if spec is None:
        return Call(step.name, "memcpy", (target, source), step.source.size_bytes)
    record = registry.candidates(spec, ())[0]
    return Call(step.name, compiled(record.name, spec), (source, target), record.extent(spec))


def kernel_code(
    kernel: str, spec: Spec, symbol: str, target: Target, context: Context, form: str = "object"
) -> bytes:
    """The code of one kernel, from the cache when nothing it depends on has changed."""
    key = hashlib.sha256("\n".join(
        [source_digest(), kernel, code_text(kernel, spec), symbol, target.triple, target.cpu,
         str(target.abi), str(target.float_abi), str(target.vector_bits),
         *target.attributes, "", *target.llvm_options, str(target.unroll), str(target.llvm_level),
         str(target.contracts), *sorted(target.features)]
    ).encode()).hexdigest()
    return cached(context.cache_dir / "kernels" / f"{key}{SUFFIXES[form]}",
                  lambda: _compile(kernel, spec, symbol, target, form))


def _compile(kernel: str, spec: Spec, symbol: str, target: Target, form: str) -> bytes:
    record = registry.find(kernel)
    # int8 kernels fence what they must; without an FPU there is nothing to fence
    floats = record.dtype != "int8" and "soft-float" not in target.features and form != "c"
    with contraction.off(floats and not target.contracts):
        func = record.build(spec, symbol, target)
    if form == "c":
        from edgecc.lower.portable import c_source

        return c_source(func).encode()
    if form == "assembly":
        from edgecc.lower.assembly import gnu_source

        return gnu_source(func, target).encode()
    from edgecc.lower.compile import object_bytes

    return object_bytes(func, target)


def cached(path: Path, make: Callable[[], bytes]) -> bytes:
    """Bytes of `path`, made and put there (atomically) if absent."""
    if path.is_file():
        return path.read_bytes()
    data = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.replace(path)
    return data


@cache
def source_digest() -> str:
    """A digest of everything that turns a spec into code: our sources and TVM's version."""
    from importlib.metadata import version

    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(version("apache-tvm").encode())
    emitters = [root / "lower" / name for name in ("compile.py", "assembly.py")]
    for path in sorted([*(root / "kernels").rglob("*.py"),
                        *(root / "lower" / "portable").rglob("*.py"), *emitters]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
