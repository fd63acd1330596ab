"""The manifest's fields from the values of the line. Bundle.of adds the file hashes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

from edgecc import tolerance
from edgecc.bundle.schema import VERSIONS
from edgecc.config import CompileConfig
from edgecc.kernels.tiles import tile_of
from edgecc.levels import LEVELS, shaped
from edgecc.link.chain import chosen
from edgecc.link.elf import loaded_bytes
from edgecc.lower.objects import Call, Objects
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Entry, Kernel, Port, Program, Step
from edgecc.targets import Target
from edgecc.targets.peaks import per_instruction

TOOLS = ("edgecc", "apache-tvm", "onnx", "onnx-ir", "onnxscript", "onnxruntime", "numpy",
         "ziglang")


def build(
    program: Program, plan: MemoryPlan, objects: Objects, target: Target, config: CompileConfig,
    *, prefix: str, model: Mapping[str, Any], files: Mapping[str, bytes],
    quantization: Mapping[str, Any] | None, vectors: Mapping[str, int], seed: int,
) -> dict[str, Any]:
    """Every field but `files`. `files` are the bundle's, for their sizes."""
    entry = program.entry("run")
    code_bytes = code_size(files, prefix)
    return {
        **VERSIONS,
        "name": prefix,
        "model": dict(model),
        "target": target.name,
        "target_info": target_info(target, config),
        "tools": tool_versions(),
        "config": config_record(config),
        "knobs": knobs(config, target),
        **sizes(plan, objects, files, code_bytes),
        "macs": sum(step.macs for step in entry.steps if isinstance(step, Kernel)),
        "threads": threads(config, target),
        "memory": memory(plan, objects, target),
        "inputs": [port(p, plan) for p in entry.inputs],
        "outputs": [port(p, plan) for p in entry.outputs],
        "steps": steps(entry, objects),
        "layout_conversions": program.layout_conversions,
        "quantization": None if quantization is None else dict(quantization),
        "float_tolerance": tolerance.of_program(program),
        "seeds": {"seed": seed},
        "vectors": dict(vectors),
    }


def code_size(files: Mapping[str, bytes], prefix: str) -> int:
    """Bytes of code and constants: counted for firmware, else what the library loads."""
    if "report/size.json" in files:
        flash = json.loads(files["report/size.json"])["flash"]
        return sum(size for part, size in flash.items() if part != "weights")
    library = files.get(f"lib/lib{prefix}.so")
    return 0 if library is None else loaded_bytes(library, where=f"lib{prefix}.so")


def sizes(plan: MemoryPlan, objects: Objects, files: Mapping[str, bytes],
          code_bytes: int) -> dict[str, Any]:
    """RAM and flash. Units: bytes. Flash is what firmware gains: weights, code, constants."""
    return {
        "arena_bytes": plan.arena_bytes,
        "arena_lower_bound_bytes": plan.lower_bound_bytes,
        "stack_bytes": objects.stack_bytes,
        "weights_bytes": len(objects.weights),
        "code_bytes": code_bytes,
        "flash_bytes": len(objects.weights) + code_bytes,
        "runner_bytes": len(files.get("runner/runner", b"")),
    }


def tool_versions() -> dict[str, str]:
    """Installed versions of everything that decides the bundle's bytes."""
    found = {}
    for name in TOOLS:
        try:
            found[name] = installed(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def target_info(target: Target, config: CompileConfig) -> dict[str, Any]:
    chain = target.toolchain if target.runner == "none" else chosen(target, config)
    return {
        "description": target.description,
        "triple": target.triple,
        "cpu": target.cpu,
        "architecture": target.architecture,
        "features": sorted(target.features),
        "runner": target.runner,
        "libc": chain.libc or "of the toolchain",
        "toolchain": list(chain.argv),
        "clock_hz": target.clock_hz,
        "peaks": peaks(target),
    }


def peaks(target: Target) -> dict[str, Any]:
    """By type: the most multiply-accumulates of one instruction, and of one core in a cycle."""
    cycles = {"int8": target.int8_macs_per_cycle, "float32": target.float32_macs_per_cycle}
    best = per_instruction(target)
    return {dtype: {"macs_per_instruction":
                    best[dtype].macs_per_instruction if dtype in best else None,
                    "macs_per_cycle": cycles[dtype]} for dtype in cycles}


def knobs(config: CompileConfig, target: Target) -> dict[str, Any]:
    """What the knobs stood at, whether set or the target's. Tiles are the steps' own."""
    used, level = shaped(target, config), LEVELS[config.optimization]
    return {"optimization": config.optimization, "about": level.about,
            "fusion": config.fusion and not level.plain,
            "fusion_max_operators": config.fusion_max_operators,
            "fusion_min_score": config.fusion_min_score,
            "fusion_min_intensity": config.fusion_min_intensity,
            "contraction": used.contracts,
            "parallel_chunk": used.parallel_chunk if config.threads > 1 else None,
            "unroll": used.unroll if used.llvm_level else None, "llvm_level": used.llvm_level}


def config_record(config: CompileConfig) -> dict[str, Any]:
    """The choices that made the bundle, as plain JSON values. How it was checked is none."""
    record = {**vars(config), "shapes": {k: list(v) for k, v in config.shapes.items()}}
    record |= {key: list(value) for key, value in record.items() if isinstance(value, tuple)}
    how = config.preprocessing
    record["preprocessing"] = None if how is None else how.to_json()
    del record["check"]
    return record


def threads(config: CompileConfig, target: Target) -> dict[str, Any]:
    """How many threads the arena has room for; None or a remark that a reader should see."""
    note = None
    if config.threads > target.cores:
        note = (f"{config.threads} threads take turns on the {target.cores} "
                f"core{'' if target.cores == 1 else 's'} that {target.name} is described with")
    return {"count": config.threads, "cores": target.cores, "note": note}


def memory(plan: MemoryPlan, objects: Objects, target: Target) -> dict[str, Any]:
    return {
        "activation_bytes": plan.activation_bytes,
        "scratch_bytes": plan.scratch_bytes,
        "peak_step": plan.peak_step,
        "method": plan.method,
        "align_bytes": plan.align_bytes,
        "regions": regions(plan, objects, target),
        "placements": [asdict(placement) for placement in plan.placements],
    }


def regions(plan: MemoryPlan, objects: Objects, target: Target) -> list[dict[str, Any]]:
    """What each memory of the target holds. Weights lie in the first region that may hold them."""
    arena = {p.region for p in plan.placements} or {r.name for r in target.memories[:1]}
    weights = next((r.name for r in target.memories if "weights" in r.may_hold), None)
    found = []
    for region in target.memories:
        parts = {"arena": plan.arena_bytes if region.name in arena else 0,
                 "weights": len(objects.weights) if region.name == weights else 0}
        found.append({"name": region.name, "size_bytes": region.size_bytes,
                      "used_bytes": sum(parts.values()),
                      "holds": [name for name, size in parts.items() if size]})
    return found


def port(port: Port, plan: MemoryPlan) -> dict[str, Any]:
    view, quantization = port.view, port.view.quantization
    return {
        "name": port.name,
        "shape": list(view.shape),
        "dtype": view.dtype,
        "layout": view.layout or "flat",
        "bytes": view.size_bytes,
        "scale": None if quantization is None else float(quantization.scale),
        "zero_point": None if quantization is None else int(quantization.zero_point),
        "model_shape": list(port.model_shape),
        "model_dtype": port.model_dtype,
        "permutation": None if port.permutation is None else list(port.permutation),
        "arena_offset_bytes": plan.offset(view.buffer) + view.offset_bytes,
        "preprocessing": None if port.preprocessing is None else port.preprocessing.to_json(),
    }


def steps(entry: Entry, objects: Objects) -> list[dict[str, Any]]:
    calls = {call.step: call for call in objects.calls}
    return [step_record(step, calls[step.name], objects) for step in entry.steps]


def step_record(step: Step, call: Call, objects: Objects) -> dict[str, Any]:
    record = {
        "name": step.name,
        "op": type(step).__name__.lower(),
        "kernel": None,
        "symbol": call.symbol,
        "tile": None,
        "dtype": step.outputs[0].dtype,
        "signature": None,
        "estimated_instructions": None,
        "macs": 0,
        "layout": step.outputs[0].layout or "flat",
        "why_not_fast": None,
        "scratch_bytes": getattr(step, "scratch_bytes", 0),
        "threads": getattr(step, "threads", 1),
        "weights_bytes": objects.weight_offsets.get(step.name, (0, 0))[1],
        "inputs": [view.buffer for view in step.inputs],
        "outputs": [view.buffer for view in step.outputs],
        "nodes": [],
    }
    if isinstance(step, Kernel):
        record |= {"op": step.spec.op, "kernel": step.kernel, "macs": step.macs,
                   "tile": tile_of(step.kernel), "dtype": step.spec.dtype,
                   "signature": step.spec.text(), "estimated_instructions": call.cost,
                   "why_not_fast": step.why_not_fast, "nodes": list(step.nodes)}
    return record
