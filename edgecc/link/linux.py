"""Linux forms of a model: runner ELF, static and shared library, header, source, wrapper."""

from __future__ import annotations

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ToolchainError
from edgecc.link.archive import archive
from edgecc.link.elf import ElfInfo, describe, machine_of
from edgecc.link.model_object import FROM_LIBC, api, check_kernels, model_object
from edgecc.link.toolchain import Driver, driver_for
from edgecc.link.wrapper import wrapper
from edgecc.lower import parallel, run_function
from edgecc.lower.api_facts import Facts, facts_of
from edgecc.lower.objects import Objects
from edgecc.lower.runner_glue import RUNNER_HEADERS, RUNNER_SOURCES, glue, runtime_text
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Program
from edgecc.targets.target import Target

LinkedFiles = dict[str, bytes]  # path in the bundle: content
RISCV_FLOATS = {"lp64": "soft", "lp64f": "single", "lp64d": "double", "ilp32": "soft",
                "ilp32f": "single"}


def link_linux(
    program: Program, plan: MemoryPlan, objects: Objects, target: Target, *,
    config: CompileConfig, context: Context, name: str, version: str,
) -> LinkedFiles:
    """Everything that a bundle for a Linux target holds of machine code and C.

    Paths: runner/runner, lib/lib<p>.a, lib/lib<p>.so, include/<p>.h, src/<p>.c, python/<p>.py,
    and src/<p>_pool.c for several threads, where <p> is `prefix_of(name)`.
    Raises ToolchainError when the compiler is missing or fails, or a kernel is not what it must
    be; UnsupportedModel for what the C API cannot say.
    """
    prefix = run_function.prefix_of(name)
    facts = facts_of(program, plan, objects, prefix=prefix, version=version, target=target.name)
    texts = run_function.texts_of(facts)
    driver = driver_for(target, config, context)
    check_kernels(objects, target)
    model = model_object(driver, facts, texts, objects, target)
    files = {path: text.encode() for path, text in texts.items()}
    files[f"lib/lib{prefix}.a"] = archive({f"{prefix}.o": model})
    files[f"lib/lib{prefix}.so"] = _library(driver, facts, model)
    files["runner/runner"] = _runner(driver, facts, texts, model, objects, target, name)
    files[f"python/{prefix}.py"] = wrapper(facts, objects.weights).encode()
    return dict(sorted(files.items()))


def check_runner(elf: ElfInfo, target: Target, driver: Driver) -> None:
    """Raises ToolchainError for a runner of another machine, float ABI or way of linking."""
    floats = float_abi_of(target)
    wanted = (machine_of(target.architecture), floats, not driver.dynamic)
    if (elf.machine, elf.float_abi if floats else None, elf.static) != wanted:
        raise ToolchainError(
            "the toolchain made a runner of the wrong kind", where=driver.where,
            needed=" ".join(filter(None, (_linkage(not driver.dynamic), wanted[0], floats))),
            available=" ".join(filter(None, (_linkage(elf.static), elf.machine, elf.float_abi))),
            advice="check the compiler's -target, -mfloat-abi, -mabi and -static flags",
        )


def float_abi_of(target: Target) -> str | None:
    """How the target's programs pass floats, as ElfInfo.float_abi spells it."""
    return target.float_abi or RISCV_FLOATS.get(target.abi or "")


def _linkage(static: bool) -> str:
    return "static" if static else "dynamic"


def _library(driver: Driver, facts: Facts, model: bytes) -> bytes:
    made = driver.shared({"model.o": model}, api(facts), f"lib{facts.prefix}.so")
    elf = describe(made, where=f"lib{facts.prefix}.so")
    allowed = FROM_LIBC | (parallel.FROM_LIBC if facts.threads > 1 else set())
    extra = sorted(set(elf.undefined_symbols) - allowed) + list(elf.needed)
    if extra:
        raise ToolchainError(f"the library depends on {', '.join(extra)}", where=driver.where,
                             advice="check the toolchain's flags")
    return made


def _runner(
    driver: Driver, facts: Facts, texts: dict[str, str], model: bytes, objects: Objects,
    target: Target, name: str,
) -> bytes:
    shipped = {n: runtime_text(n) for n in RUNNER_SOURCES}
    runner_h = {n: runtime_text(n) for n in RUNNER_HEADERS}
    parts = {f"{n}.o": driver.compile(n, {n: text, **runner_h}) for n, text in shipped.items()}
    own = {"glue.c": glue(facts, objects.weights, model=name, target=target.name),
           f"{facts.prefix}.h": texts[f"include/{facts.prefix}.h"], **runner_h}
    linked = {**parts, "model.o": model, "glue.o": driver.compile("glue.c", own)}
    counted = {f"{facts.prefix}_run", "memcpy", *(call.symbol for call in objects.calls)}
    made = driver.executable(linked, counted, threads=facts.threads > 1)
    elf = describe(made, where="runner")
    check_runner(elf, target, driver)
    return made
