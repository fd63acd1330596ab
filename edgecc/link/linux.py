"""Linux forms of a model: runner ELF, static and shared library, header, source, wrapper."""

from __future__ import annotations

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.errors import ToolchainError
from edgecc.link.archive import archive
from edgecc.link.elf import ElfInfo, describe, machine_of
from edgecc.link.stack import RED_ZONE_BYTES, frames
from edgecc.link.toolchain import Driver, driver_for
from edgecc.link.wrapper import wrapper
from edgecc.lower import parallel, run_function
from edgecc.lower.api_facts import Facts, facts_of
from edgecc.lower.objects import Objects
from edgecc.lower.runner_glue import RUNNER_SOURCES, glue, runtime_text
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Program
from edgecc.targets.target import Target

LinkedFiles = dict[str, bytes]  # path in the bundle: content
API = ("init", "input_info", "output_info", "input", "output", "run", "set_profile", "step_name",
       "version", "error")
FROM_LIBC = {"memcpy", "memset"}  # all that a kernel may call
BY_THE_LINKER = {"_GLOBAL_OFFSET_TABLE_"}
RISCV_FLOATS = {"lp64": "soft", "lp64f": "single", "lp64d": "double"}


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
    facts = facts_of(program, plan, objects, prefix=prefix, version=version)
    texts = run_function.generate(program, plan, objects, prefix=prefix, version=version)
    driver = driver_for(target, config, context)
    check_kernels(objects, target)
    model = _model_object(driver, facts, texts, objects, target)
    files = {path: text.encode() for path, text in texts.items()}
    files[f"lib/lib{prefix}.a"] = archive({f"{prefix}.o": model})
    files[f"lib/lib{prefix}.so"] = _library(driver, facts, model)
    files["runner/runner"] = _runner(driver, facts, texts, model, objects, target, name)
    files[f"python/{prefix}.py"] = wrapper(facts, objects.weights).encode()
    return dict(sorted(files.items()))


def stack_bytes(
    program: Program, plan: MemoryPlan, objects: Objects, target: Target, *,
    config: CompileConfig, context: Context, name: str, version: str,
) -> int | None:
    """Upper bound of the stack below the caller of `<p>_run`, or None where it cannot be told.

    The run function, its deepest kernel, and return addresses where the machine pushes them; not
    the libc's memcpy and memset, nor a profile callback. Raises as `link_linux`.
    """
    prefix = run_function.prefix_of(name)
    facts = facts_of(program, plan, objects, prefix=prefix, version=version)
    texts = run_function.generate(program, plan, objects, prefix=prefix, version=version)
    driver = driver_for(target, config, context)
    described = ("-g1", "-fasynchronous-unwind-tables")
    run = frames(_source_object(driver, facts, texts, f"{prefix}.c", *described))
    pool: list[int] | None = []
    if facts.threads > 1:
        pool = frames(_pool_object(driver, facts, texts, target, *described))
    kernels = [frames(code, where) for where, code in sorted(objects.code.items())]
    if run is None or pool is None or None in kernels:
        return None
    # the run function calls nothing of its own file but a leaf; a kernel may call its neighbours;
    # the pool comes between with a function, one of its own and a leaf
    kernel = max((sum(k) for k in kernels if k), default=0)
    calls = sum(sorted(run)[-2:]) + sum(sorted(pool)[-3:])
    return calls + kernel + RED_ZONE_BYTES.get(target.architecture, 0)


def check_kernels(objects: Objects, target: Target) -> None:
    """Kernels are for the target's machine and call nothing but each other, memcpy and memset.

    Raises ToolchainError naming the object and what is wrong with it.
    """
    found = {name: describe(code, where=name) for name, code in objects.code.items()}
    known = FROM_LIBC | BY_THE_LINKER | {s for e in found.values() for s in e.defined_symbols}
    machine = machine_of(target.architecture)
    for name, elf in found.items():
        if (elf.machine, elf.kind) != (machine, "relocatable"):
            raise ToolchainError(
                "the object is not for this target", where=name,
                needed=f"relocatable {machine}", available=f"{elf.kind} {elf.machine}",
            )
        if missing := sorted(set(elf.undefined_symbols) - known):
            raise ToolchainError(
                "the kernel calls what a kernel may not", where=name,
                needed=", ".join(missing), available=", ".join(sorted(FROM_LIBC)),
            )


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


def _model_object(
    driver: Driver, facts: Facts, texts: dict[str, str], objects: Objects, target: Target
) -> bytes:
    """Kernels and run function as one object, stripped of debug information and dead code."""
    # numbered: file names are the model's, and could meet one of ours
    parts = {f"kernel_{i}.o": objects.code[k] for i, k in enumerate(sorted(objects.code))}
    parts["run.o"] = _source_object(driver, facts, texts, f"{facts.prefix}.c")
    if facts.threads > 1:
        parts["pool.o"] = _pool_object(driver, facts, texts, target)
    return driver.relocatable(parts, _api(facts))


def _pool_object(
    driver: Driver, facts: Facts, texts: dict[str, str], target: Target, *flags: str
) -> bytes:
    # gcc would call libgcc for atomic operations, and the library has none
    inline = ("-mno-outline-atomics",) if target.architecture == "aarch64" else ()
    return _source_object(driver, facts, texts, f"{facts.prefix}_pool.c", *inline, *flags)


def _source_object(
    driver: Driver, facts: Facts, texts: dict[str, str], source: str, *flags: str
) -> bytes:
    header = f"{facts.prefix}.h"
    files = {header: texts[f"include/{header}"], source: texts[f"src/{source}"]}
    return driver.compile(source, files, *flags)


def _api(facts: Facts) -> list[str]:
    names = API + (parallel.API if facts.threads > 1 else ())
    return [f"{facts.prefix}_{name}" for name in names]


def _library(driver: Driver, facts: Facts, model: bytes) -> bytes:
    made = driver.shared({"model.o": model}, _api(facts), f"lib{facts.prefix}.so")
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
    runner_h = {"runner.h": runtime_text("runner.h")}
    parts = {f"{n}.o": driver.compile(n, {n: text, **runner_h}) for n, text in shipped.items()}
    own = {"glue.c": glue(facts, objects.weights, model=name, target=target.name),
           f"{facts.prefix}.h": texts[f"include/{facts.prefix}.h"], **runner_h}
    linked = {**parts, "model.o": model, "glue.o": driver.compile("glue.c", own)}
    counted = {f"{facts.prefix}_run", "memcpy", *(call.symbol for call in objects.calls)}
    made = driver.executable(linked, counted, threads=facts.threads > 1)
    elf = describe(made, where="runner")
    check_runner(elf, target, driver)
    return made
