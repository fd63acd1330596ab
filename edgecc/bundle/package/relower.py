"""A bundle's model once more, as source: the portable C of every target, or the fast kernels of
its own as assembly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from edgecc.config import CompileConfig
from edgecc.context import Context
from edgecc.data.preprocessing import Preprocessing
from edgecc.errors import CheckFailed
from edgecc.lower.objects import Objects
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Program
from edgecc.targets import Target, get_target

WORD_BYTES = 4
PORTABLE_KEEPS = frozenset({"soft-float"})  # a core without FPU wants its integers in C too


@dataclass(frozen=True)
class Source:
    """`texts` are header and run function by path, `objects` the kernels as text and the
    weights that they read, both of `program` and `plan`."""

    texts: Mapping[str, str]
    objects: Objects
    program: Program
    plan: MemoryPlan


def portable_target(target: Target) -> Target:
    """The target without anything that C does not have; memory is the application's affair."""
    return replace(target, name="portable-c", features=target.features & PORTABLE_KEEPS,
                   memories=(), vector_bits=None, description="C99")


def relowered(bundle: Any, form: str, context: Context) -> Source:
    """`form` is c or assembly. Raises every class of errors that compiling does."""
    from edgecc import lower, memory, model, schedule
    from edgecc.lower.api_facts import facts_of
    from edgecc.lower.run_function import texts_of

    manifest = bundle.manifest
    target, config = get_target(manifest["target"]), config_of(manifest)
    if form == "c":  # whose kernels are others than those that tiles name
        target, config = portable_target(target), replace(config, tiles={})
    graph = model.load(_proto(bundle), shapes=config.shapes, context=context)
    program = schedule.schedule(graph, target, config=config, context=context)
    plan = memory.plan((program,), target, config=config, context=context)
    memory.check_plan((program,), plan)
    objects = lower.lower(program, plan, target, config=config, context=context,
                          prefix=manifest["name"], form=form)
    _check_ports(program, manifest)
    facts = facts_of(program, plan, objects, prefix=manifest["name"],
                     version=manifest["model"]["sha256"][:12], target=target.name)
    if form == "c":  # no kernel in C loads more than a word, and C99 cannot ask for more
        facts = replace(facts, weights_align=WORD_BYTES)
    return Source(texts_of(facts), objects, program, plan)


def config_of(manifest: Mapping[str, Any]) -> CompileConfig:
    """The choices that made the bundle, for one thread, from a model that is quantized now."""
    record = manifest["config"]
    known: dict[str, Any] = {f.name: record[f.name] for f in fields(CompileConfig)
                             if f.name in record}
    how = known.get("preprocessing")
    known |= {"quantization": "none", "threads": 1, "parallel_chunk": None,
              "keep_float": False,
              "shapes": {name: tuple(shape) for name, shape in known.get("shapes", {}).items()},
              "preprocessing": None if how is None else Preprocessing.from_json(how)}
    chosen: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value
              for name, value in known.items()}
    return CompileConfig(**chosen)


def _proto(bundle: Any) -> Any:
    import onnx

    return onnx.ModelProto.FromString(bundle.files[bundle.manifest["model"]["file"]])


def _check_ports(program: Any, manifest: Mapping[str, Any]) -> None:
    """The golden vectors are the bundle's: inputs and outputs must be too."""
    entry = program.entry()
    for ports, listed in ((entry.inputs, manifest["inputs"]), (entry.outputs, manifest["outputs"])):
        found = [(port.name, list(port.view.shape), port.view.dtype) for port in ports]
        wanted = [(port["name"], port["shape"], port["dtype"]) for port in listed]
        if found != wanted:
            raise CheckFailed(f"the model in the bundle gives {found}, its manifest says {wanted}")
