"""Everything that goes into a bundle, from the values of the line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgecc.bundle import manifest, sbom, vectors
from edgecc.bundle.bundle import Bundle
from edgecc.bundle.schema import dump
from edgecc.config import CompileConfig
from edgecc.errors import ConfigError
from edgecc.link.chain import chosen
from edgecc.lower.objects import Objects
from edgecc.memory.plan import MemoryPlan
from edgecc.schedule.program import Program
from edgecc.targets import Target


def assemble(
    program: Program, plan: MemoryPlan, objects: Objects, files: Mapping[str, bytes], *,
    target: Target, config: CompileConfig, origin: Any, graph: Any, original: Any,
    report: Any, samples: Sequence[Mapping[str, Any]], seed: int,
    answer: Callable[..., Any],
) -> Bundle:
    """The bundle of linked `files` with weights, model, golden vectors, report and licences.

    `origin` has name, prefix and sha256 of the source model; `original` is the graph before
    quantization; `report` is a QuantReport or None; `samples` are model-shaped inputs for
    the golden vectors, and `answer` is the reference of a step.
    """
    model_path = "model/model.onnx" if report is None else "model/quantized.onnx"
    source = {"name": origin.name, "sha256": origin.sha256, "file": model_path}
    kept = _kept_float(original, config)
    if kept:
        source["float_file"] = next(iter(kept))
    inputs, outputs = ([manifest.port(p, plan) for p in ports]
                       for ports in (program.entry().inputs, program.entry().outputs))
    golden = vectors.make(program, inputs, samples, seed, answer)
    every = {
        **files,
        "weights.bin": objects.weights,
        model_path: _model_bytes(graph),
        **kept,
        "report/report.json": dump({"quantization": quantization_record(report)}),
        **golden.files(inputs, outputs),
        **_licences(origin.prefix, source, objects, target, config),
    }
    fields = manifest.build(program, plan, objects, target, config, prefix=origin.prefix,
                            model=source, files=every, quantization=quantization_summary(report),
                            vectors=golden.summary, seed=seed)
    return Bundle.of(fields, every)


def _kept_float(original: Any, config: CompileConfig) -> dict[str, bytes]:
    """Raises ConfigError for a model that came quantized: there is no float one to keep."""
    from edgecc.quantize import is_qdq

    if not config.keep_float:
        return {}
    if is_qdq(original):
        raise ConfigError("the model came quantized, so there is no float model to keep",
                          where=original.graph.name, advice="leave keep_float out, and give "
                          "`edgecc evaluate` the float model with --float")
    return {"model/float.onnx": _model_bytes(original)}


def _model_bytes(graph: Any) -> bytes:
    from edgecc import model

    return model.to_proto(graph).SerializeToString(deterministic=True)


def quantization_record(report: Any) -> dict[str, Any] | None:
    """The whole QuantReport as JSON; None for a model that was not quantized here."""
    return None if report is None else json.loads(report.to_json())


def quantization_summary(report: Any) -> dict[str, Any] | None:
    """The QuantReport without its rows."""
    record = quantization_record(report)
    if record is None:
        return None
    rows = {name: len(record.pop(name)) for name in ("rows", "weights", "left_in_float")}
    return {**record, "tensors": rows["rows"], "weights": rows["weights"],
            "left_in_float": rows["left_in_float"], "text": report.summary()}


def _licences(prefix: str, source: Mapping[str, Any], objects: Objects, target: Target,
              config: CompileConfig) -> dict[str, bytes]:
    chain = target.toolchain if target.runner == "none" else chosen(target, config)
    parts, argv = sbom.linked_parts(chain.kind, chain.libc), list(chain.argv)
    listed = sbom.sbom(prefix, source, objects.weights, parts, manifest.tool_versions(), argv,
                       dynamic=chain.libc.startswith("glibc"))
    return {"sbom.spdx.json": listed, **sbom.licence_files(parts)}
