"""How much stack a model needs below the caller of its run function."""

from __future__ import annotations

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.link.footprint import support_stack_bytes
from edgecc.link.model_object import api, model_object, pool_object, source_object
from edgecc.link.stack import RED_ZONE_BYTES, frames
from edgecc.link.toolchain import driver_for
from edgecc.lower import run_function
from edgecc.lower.api_facts import facts_of
from edgecc.lower.objects import Objects
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Program
from edgecc.targets.target import Target


def stack_bytes(
    program: Program, plan: MemoryPlan, objects: Objects, target: Target, *,
    config: CompileConfig, context: Context, name: str, version: str,
) -> int | None:
    """Upper bound of the stack below the caller of `<p>_run`, or None where it cannot be told.

    The run function, its deepest kernel, and return addresses where the machine pushes them; on
    a bare chip also the compiler's support library. Not the memcpy and memset of a Linux libc, nor
    a profile callback. Raises as `link_linux`.
    """
    prefix = run_function.prefix_of(name)
    facts = facts_of(program, plan, objects, prefix=prefix, version=version)
    texts = run_function.texts_of(facts)
    driver = driver_for(target, config, context)
    described = ("-g1", "-fasynchronous-unwind-tables")
    run = frames(source_object(driver, facts, texts, f"{prefix}.c", *described))
    pool: list[int] | None = []
    if facts.threads > 1:
        pool = frames(pool_object(driver, facts, texts, target, *described))
    vector_bytes = target.vector_bits // 8 if target.vector_bits else None
    kernels = [frames(code, where, vector_bytes) for where, code in sorted(objects.code.items())]
    if run is None or pool is None or None in kernels:
        return None
    # a kernel may call its neighbours. Run function and its form of single steps do not call each
    # other; on one thread either calls a kernel or a leaf. The pool comes between with a function,
    # one of its own and a leaf, and a body of the run function's file
    kernel = max((sum(k) for k in kernels if k), default=0)
    own = sorted(run, reverse=True)[:2]
    support = 0
    if driver.bare:
        model = model_object(driver, facts, texts, objects, target)
        support = support_stack_bytes(driver, model, api(facts))
    below = kernel + support
    calls = sum(own) + sum(sorted(pool)[-3:]) + below if facts.threads > 1 else (
        own[0] + max(below, *own[1:]))
    return calls + RED_ZONE_BYTES.get(target.architecture, 0)
